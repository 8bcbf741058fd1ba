// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/terms.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tessera/layout/placement.h"
#include "tessera/layout/regions.h"
#include "tessera/notation/notation.h"
#include "tessera/testing/notation/text_checks.h"

namespace tessera::notation {
namespace {

Tensor read(const std::string& text) {
  Result<Tensor> tensor = parse_tensor(text);
  EXPECT_TRUE(tensor.ok()) << render(tensor.error(), text);
  return tensor.ok() ? *std::move(tensor) : *parse_tensor("tensor<f32, strided<[]>>");
}

TtnnFacts facts(const Tensor& tensor) {
  const Result<TtnnFacts> told =
      facts_of(std::get<TtnnTerms>(terms_of(tensor)), tensor.layout().shape());
  EXPECT_TRUE(told.ok());
  return told.ok() ? *told : TtnnFacts{};
}

TEST(TtnnTerms, AreCutAtShardShapeAndThenPadded) {
  // 53x63 in shards of 18x32: rows 0-17, 18-35, 36-52, each in one tile of 32 rows.
  const Tensor tensor = read(
      "tensor<53x63xf32, ttnn<stride=[3339, 63, 1], shard_shape=[18, 32], tile_shape=[32, 32]>>");
  EXPECT_EQ(tensor.layout().mesh().to_string(), "3x2");
  Index x(2, 0);
  do {
    const Result<Location> location = tensor.layout().locate(x);
    ASSERT_TRUE(location.ok());
    ASSERT_EQ(location->places, (std::vector<Place>{{x[0] / 18, x[1] / 32}}));
    ASSERT_EQ(location->slot, x[0] % 18 * 32 + x[1] % 32);
  } while (tensor.layout().shape().next(x));
  const auto cause = [&](const Place& place, std::int64_t slot) {
    return std::get<Padding>(*tensor.layout().element_at(place, slot)).cause;
  };
  EXPECT_EQ(cause({0, 0}, std::int64_t{18} * 32), Cause::kTile);
  EXPECT_EQ(cause({2, 0}, std::int64_t{17} * 32), Cause::kGrid);  // row 53
  EXPECT_EQ(cause({2, 0}, std::int64_t{18} * 32), Cause::kTile);
  EXPECT_EQ(cause({0, 1}, 31), Cause::kGrid);  // column 63
}

TEST(TtnnTerms, GridShapeDividesTheSecondExtentByTheSecondShard) {
  // 64x256 in shards of 32x64 is 2x4; the formula of the TTNN layout document would divide 256 by
  // 32.
  const TtnnFacts told = facts(
      read("tensor<64x256xbf16, ttnn<stride=[16384, 256, 1], shard_shape=[32, 64], tile_shape=[32, "
           "32]>>"));
  EXPECT_EQ(told.grid_shape, (std::vector<std::int64_t>{2, 4}));
  EXPECT_EQ(told.physical_shape, (std::vector<std::int64_t>{64, 256}));
  EXPECT_EQ(told.shard_shape, (std::vector<std::int64_t>{32, 64}));
  EXPECT_EQ(told.physical_shard_shape, (std::vector<std::int64_t>{32, 64}));
}

TEST(TtnnTerms, StridesBeginWithTheVolume) {
  const Tensor tensor = read(
      "tensor<2x3x64x128xf32, ttnn<stride=[49152, 24576, 8192, 128, 1], shard_shape=[100, 50], "
      "tile_shape=[32, 32]>>");
  const TtnnFacts told = facts(tensor);
  EXPECT_EQ(told.stride.size(), 5U);
  EXPECT_EQ(told.physical_shape, (std::vector<std::int64_t>{384, 128}));
  EXPECT_EQ(told.grid_shape, (std::vector<std::int64_t>{4, 3}));
  EXPECT_EQ(told.physical_shard_shape, (std::vector<std::int64_t>{128, 64}));
  // [1, 1, 6, 100] is row 262, as in the document; shards of 100 rows and 50 columns.
  const Result<Location> location = tensor.layout().locate({1, 1, 6, 100});
  ASSERT_TRUE(location.ok());
  EXPECT_EQ(location->places, (std::vector<Place>{{2, 2}}));
  EXPECT_EQ(location->slot, (62 / 32 * 2) * 1024 + 62 % 32 * 32);
}

TEST(TtnnTerms, BumpedStridesLeaveGaps) {
  // Batches of 8 rows, 32 apart, in rows of 40 of which 32 hold data.
  const Tensor tensor =
      read("tensor<2x8x32xf32, ttnn<stride=[2560, 1280, 40, 1], shard_shape=[32, 40]>>");
  const Result<Location> location = tensor.layout().locate({1, 3, 5});
  ASSERT_TRUE(location.ok());
  EXPECT_EQ(location->places, (std::vector<Place>{{1, 0}}));
  EXPECT_EQ(location->slot, 3 * 40 + 5);
  const Result<PaddingCount> count = padding(tensor.layout());
  ASSERT_TRUE(count.ok());
  EXPECT_EQ((*count)[Cause::kGap], 2560 - 512);
  EXPECT_EQ(count->total, 2560 - 512);
}

TEST(TtnnTerms, WithoutTilesShardsHoldPlainElements) {
  const Tensor tensor = read("tensor<5x6xi8, ttnn<stride=[30, 6, 1], shard_shape=[2, 4]>>");
  EXPECT_EQ(tensor.layout().slots(), 8);
  EXPECT_EQ(tensor.layout().mesh().to_string(), "3x2");
  EXPECT_FALSE(tensor.layout().atom().is_tile());
  EXPECT_EQ(tensor.layout().locate({3, 5})->slot, 1 * 4 + 1);
}

TEST(TtnnTerms, SmallRanksAndEmptyTensors) {
  const Tensor row = read("tensor<100xf32, ttnn<stride=[100, 1], shard_shape=[1, 30]>>");
  EXPECT_EQ(facts(row).physical_shape, (std::vector<std::int64_t>{1, 100}));
  EXPECT_EQ(row.layout().locate({65})->places, (std::vector<Place>{{0, 2}}));
  const Tensor scalar = read("tensor<f32, ttnn<stride=[1], shard_shape=[1, 1]>>");
  EXPECT_EQ(scalar.layout().locate({})->slot, 0);
  EXPECT_EQ(read("tensor<0x4xf32, ttnn<stride=[0, 4, 1], shard_shape=[2, 4]>>").layout().slots(),
            8);
  EXPECT_EQ(read("tensor<5x0xf32, ttnn<stride=[0, 0, 1], shard_shape=[5, 1]>>").layout().slots(),
            5);
}

TEST(TtnnTerms, ComeBackAsWritten) {
  for (const std::string text :
       {"tensor<53x63xf32, ttnn<stride=[3339, 63, 1], shard_shape=[18, 32], tile_shape=[32, 32], "
        "grid_shape=[3, 2], physical_shard_shape=[32, 32]>>",
        "tensor<5x6xi8, ttnn<stride=[30, 6, 1], shard_shape=[2, 4]>>",
        "tensor<5x6xi8, ttnn<stride=[30, 6, 1], shard_shape=[2, 4], tile_shape=[1, 1]>>"}) {
    EXPECT_EQ(print_tensor(read(text)), text);
  }
  EXPECT_EQ(print_tensor(read("tensor<5x6xi8, ttnn< shard_shape=[2,4], stride=[30,6,1] >>")),
            "tensor<5x6xi8, ttnn<stride=[30, 6, 1], shard_shape=[2, 4]>>");
}

TEST(TtnnTerms, ErrorsPointAtTheItem) {
  for (const Refusal& refusal : std::vector<Refusal>{
           {"tensor<53x63xf32, ttnn<stride=[63, 1], shard_shape=[18, 32]>>",
            "                              ^^^^^^^", ErrorCode::kContradiction,
            "2 strides for a tensor of rank 2"},
           {"tensor<53x63xf32, ttnn<stride=[3340, 63, 1], shard_shape=[18, 32]>>",
            "                              ^^^^^^^^^^^^^", ErrorCode::kContradiction,
            "the volume of 3340 is not a whole number of rows of 63"},
           {"tensor<2x3x4xf32, ttnn<stride=[24, 13, 4, 1], shard_shape=[3, 4]>>",
            "                              ^^^^^^^^^^^^^^", ErrorCode::kContradiction,
            "a stride of 13 is not a whole number of rows of 4"},
           {"tensor<53x63xf32, ttnn<stride=[3276, 63, 1], shard_shape=[18, 32]>>",
            "                              ^^^^^^^^^^^^^", ErrorCode::kContradiction,
            "a physical tensor of 52x63 for 53 rows of 63 elements"},
           {"tensor<53x63xf32, ttnn<stride=[3286, 62, 1], shard_shape=[18, 32]>>",
            "                              ^^^^^^^^^^^^^", ErrorCode::kContradiction,
            "a physical tensor of 53x62 for 53 rows of 63 elements"},
           {"tensor<53x63xf32, ttnn<stride=[6678, 63, 2], shard_shape=[18, 32]>>",
            "                              ^^^^^^^^^^^^^", ErrorCode::kContradiction,
            "the last dim has the stride 2"},
           {"tensor<53x63xf32, ttnn<stride=[3339, 63, 0], shard_shape=[18, 32]>>",
            "                              ^^^^^^^^^^^^^", ErrorCode::kContradiction,
            "a stride of 0"},
           {"tensor<2x3x4xf32, ttnn<stride=[24, 8, 4, 1], shard_shape=[3, 4]>>",
            "                              ^^^^^^^^^^^^^", ErrorCode::kNotInjective,
            "elements [0, 2, 0] and [1, 0, 0] share one slot of one place"},
           {"tensor<4x4xf32, ttnn<stride=[16, 4, 1], shard_shape=[0, 4]>>",
            "                                                    ^^^^^^", ErrorCode::kContradiction,
            "a shard of 0x4"},
           {"tensor<4x4xf32, ttnn<stride=[16, 4, 1], shard_shape=[4]>>",
            "                                                    ^^^", ErrorCode::kContradiction,
            "shard_shape has 1 number"},
           {"tensor<4x4xf32, ttnn<stride=[16, 4, 1], shard_shape=[2, 2], tile_shape=[0, 0]>>",
            "                                                                       ^^^^^^",
            ErrorCode::kContradiction, "a tile of 0x0"},
           {"tensor<4x4xf32, ttnn<stride=[16, 4, 1], shard_shape=[2, 2], tile_shape=[-1, 2]>>",
            "                                                                       ^^^^^^^",
            ErrorCode::kContradiction, "a tile of -1x2"},
           {"tensor<4x4xf32, ttnn<stride=[16, 4, 1], shard_shape=[2, 2], grid_shape=[2, 3]>>",
            "                                                                       ^^^^^^",
            ErrorCode::kContradiction,
            "grid_shape [2, 3] for 4x4 in shards of 2x2: expected [2, 2]"},
           {"tensor<4x4xf32, ttnn<stride=[16, 4, 1], shard_shape=[2, 2], "
            "physical_shard_shape=[4, 2]>>",
            "                                                            "
            "                     ^^^^^^",
            ErrorCode::kContradiction,
            "physical_shard_shape [4, 2] for shards of 2x2 in tiles of 1x1: expected [2, 2]"},
           {"tensor<4x4xf32, ttnn<stride=[16, 4, 1], shard_shap=[2, 2]>>",
            "                                        ^^^^^^^^^^", ErrorCode::kUnknownName,
            "unknown term 'shard_shap'"},
           {"tensor<4x4xf32, ttnn<stride=[16, 4, 1], stride=[16, 4, 1]>>",
            "                                        ^^^^^^", ErrorCode::kContradiction,
            "stride is given twice"},
           {"tensor<4x4xf32, ttnn<stride=[16, 4, 1]>>",  //
            "                ^^^^^^^^^^^^^^^^^^^^^^^", ErrorCode::kSyntax,
            "ttnn<> without shard_shape"},
           {"tensor<4x4xf32, ttnn<stride=[16, 4, 1] shard_shape=[2, 2]>>",
            "                                       ^^^^^^^^^^^", ErrorCode::kSyntax,
            "expected ',' or '>', found 'shard_shape'"},
           {"tensor<4x4xf32, ttnn<>>",  //
            "                     ^", ErrorCode::kSyntax, "expected a term, found '>'"},
           {"tensor<4x4xbfp_bf8, ttnn<stride=[16, 4, 1], shard_shape=[2, 2]>>",
            "                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^", ErrorCode::kBadAtom,
            "bfp_bf8 in an atom of 1x1 elements"},
           {"tensor<4x4xf32, ttnn<stride=[16, 4, 1], shard_shape=[9223372036854775807, 2]>>",
            "                                                    ^^^^^^^^^^^^^^^^^^^^^^^^",
            ErrorCode::kOverflow, "a padded shard does not fit a signed 64-bit integer"},
       }) {
    expect_refused(refusal);
  }
}

}  // namespace
}  // namespace tessera::notation
