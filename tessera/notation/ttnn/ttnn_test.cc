// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/ttnn/ttnn.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/layout/regions.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/terms.h"

namespace tessera::notation {
namespace {

Tensor read(const std::string& text) {
  Result<Tensor> tensor = parse_tensor(text);
  EXPECT_TRUE(tensor.ok()) << render(tensor.error(), text);
  return tensor.ok() ? *std::move(tensor) : *parse_tensor("tensor<f32, strided<[]>>");
}

struct Home {
  Place place;
  std::int64_t slot;
};

/// Every element is where the rule of the test puts it.
void expect_homes(const std::string& text, const std::function<Home(const Index&)>& rule) {
  SCOPED_TRACE(text);
  const Tensor tensor = read(text);
  EXPECT_EQ(tensor.notation, "ttnn");
  Index index(tensor.layout().shape().rank(), 0);
  do {
    const Home home = rule(index);
    const Result<Location> location = tensor.layout().locate(index);
    ASSERT_TRUE(location.ok());
    ASSERT_EQ(location->places, std::vector<Place>{home.place}) << bracketed(index);
    ASSERT_EQ(location->slot, home.slot) << bracketed(index);
  } while (tensor.layout().shape().next(index));
}

Cause cause_at(const Tensor& tensor, const Place& place, std::int64_t slot) {
  const Result<Slot> held = tensor.layout().element_at(place, slot);
  EXPECT_TRUE(held.ok() && std::holds_alternative<Padding>(*held));
  return std::get<Padding>(*held).cause;
}

std::string attribute(const std::string& rest) { return "#ttnn.ttnn_layout<" + rest + ">"; }

constexpr std::string_view kMap2 = "(d0, d1) -> (d0, d1)";

const std::string kBlock53x63 =
    "tensor<53x63xf32, " +
    attribute(std::string(kMap2) +
              ", <3x2>, memref<1x1x!ttcore.tile<32x32, f32>, #ttnn.buffer_type<l1>>, "
              "<block_sharded>, core_ranges = <[#ttnn.core_range<(0,0), (1,2)>]>") +
    ">";

TEST(Ttnn, InterleavedTilesRunOverTheWholeTensor) {
  expect_homes(
      "tensor<64x128xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, "
      "memref<2x4x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>>",
      [](const Index& x) {
        return Home{{0, 0}, ((x[0] / 32) * 4 + x[1] / 32) * 1024 + x[0] % 32 * 32 + x[1] % 32};
      });
}

TEST(Ttnn, SystemMemoryIsRowMajorOrTiledLikeAnyOther) {
  expect_homes(
      "tensor<3x5xf32, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<3x5xf32, "
      "#system_memory>>>",
      [](const Index& x) { return Home{{0, 0}, x[0] * 5 + x[1]}; });
}

TEST(Ttnn, BatchesArePaddedToTheTileBeforeTheyCollapse) {
  // 6x15x10: the last two dims become 32x32, six of them are 192 rows: 6x1 tiles.
  const std::string text =
      "tensor<6x15x10xf32, #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), <1x1>, "
      "memref<6x1x!ttcore.tile<32x32, f32>, #dram>, <interleaved>>>";
  expect_homes(text, [](const Index& x) { return Home{{0, 0}, x[0] * 1024 + x[1] * 32 + x[2]}; });
  const Tensor tensor = read(text);
  EXPECT_EQ(cause_at(tensor, {0, 0}, 10), Cause::kTile);                    // row 0, column 10
  EXPECT_EQ(cause_at(tensor, {0, 0}, std::int64_t{15} * 32), Cause::kGap);  // between batches
  EXPECT_EQ(cause_at(tensor, {0, 0}, 15 * 32 + 10), Cause::kGap);           // the first cause tells
  EXPECT_EQ(cause_at(tensor, {0, 0}, 5 * 1024 + 15 * 32), Cause::kTile);    // after the last batch
  const Result<PaddingCount> padding_count = padding(tensor.layout());
  ASSERT_TRUE(padding_count.ok());
  EXPECT_EQ(padding_count->total, 6 * 1024 - 900);
  EXPECT_EQ((*padding_count)[Cause::kGap], 5 * 17 * 32);  // 17 rows after each of five batches
}

TEST(Ttnn, ShardsAreCutAtWholeTiles) {
  // 53x63 pads to 64x64. Rows: ceil(64/3) = 22, one tile of 32 per place: 0-31, 32-52, none.
  expect_homes(kBlock53x63, [](const Index& x) {
    return Home{{x[0] / 32, x[1] / 32}, x[0] % 32 * 32 + x[1] % 32};
  });
  const Tensor tensor = read(kBlock53x63);
  EXPECT_EQ(cause_at(tensor, {1, 0}, std::int64_t{21} * 32), Cause::kTile);  // row 53
  EXPECT_EQ(cause_at(tensor, {0, 1}, 31), Cause::kTile);                     // column 63
  EXPECT_EQ(cause_at(tensor, {2, 0}, 0), Cause::kGrid);                      // rows 64-95
  EXPECT_EQ(cause_at(tensor, {2, 1}, 31 * 32 + 31), Cause::kTile);  // the column's cause is first
  const Result<PaddingCount> padding_count = padding(tensor.layout());
  ASSERT_TRUE(padding_count.ok());
  EXPECT_EQ((*padding_count)[Cause::kGrid], 2 * 1024 - 32);
  // Rows 53-63 of 64 columns, column 63 of rows 0-52, and column 63 of place [2, 1].
  EXPECT_EQ((*padding_count)[Cause::kTile], 11 * 64 + 53 + 32);
  EXPECT_EQ(padding_count->total, 6 * 1024 - 53 * 63);
}

TEST(Ttnn, RowMajorShardsHaveNoTilePadding) {
  // 50 rows on 4 places: 13, 13, 13, 11.
  const std::string text =
      "tensor<50x7xf32, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <4x1>, memref<13x7xf32, #l1>, "
      "<height_sharded>, core_ranges = <[#ttnn.core_range<(0,0), (3,0)>]>>>";
  expect_homes(text, [](const Index& x) { return Home{{x[0] / 13, 0}, x[0] % 13 * 7 + x[1]}; });
  const Tensor tensor = read(text);
  EXPECT_EQ(cause_at(tensor, {3, 0}, std::int64_t{11} * 7), Cause::kGrid);
  const Result<PaddingCount> padding_count = padding(tensor.layout());
  ASSERT_TRUE(padding_count.ok());
  EXPECT_EQ((*padding_count)[Cause::kGrid], 14);
  EXPECT_EQ(padding_count->total, 14);
}

TEST(Ttnn, HeightAndWidthShardsFillTheGridRowByRow) {
  // Of 384 rows each of the 12 places of a 6x2 grid has 32; 64 columns are two tiles of each.
  expect_homes(
      "tensor<384x64xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <6x2>, "
      "memref<1x2x!ttcore.tile<32x32, bf16>, #l1>, <height_sharded>, "
      "core_ranges = <[#ttnn.core_range<(0,0), (1,5)>]>>>",
      [](const Index& x) {
        const std::int64_t shard = x[0] / 32;
        return Home{{shard / 2, shard % 2}, x[1] / 32 * 1024 + x[0] % 32 * 32 + x[1] % 32};
      });
  expect_homes(
      "tensor<128x2048xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <8x8>, "
      "memref<4x1x!ttcore.tile<32x32, bf16>, #l1>, <width_sharded>, "
      "core_ranges = #ttnn.core_range_set<[#ttnn.core_range<(0, 0), (7, 7)>]>>>",
      [](const Index& x) {
        const std::int64_t shard = x[1] / 32;
        return Home{{shard / 8, shard % 8}, x[0] / 32 * 1024 + x[0] % 32 * 32 + x[1] % 32};
      });
}

TEST(Ttnn, CoreRangesAreTheDeviceMap) {
  const Tensor tensor = read(
      "tensor<384x32xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <12x1>, "
      "memref<1x1x!ttcore.tile<32x32, bf16>, #l1>, <height_sharded>, core_ranges = "
      "<[#ttnn.core_range<(0,0), (7,0)>, #ttnn.core_range<(0,1), (3,1)>]>>>");
  const auto core = [&](const Tensor& of, const Place& place) {
    return of.layout().spec().device_map.map(of.layout().mesh(), place).place;
  };
  EXPECT_EQ(core(tensor, {7, 0}), (Place{0, 7}));
  EXPECT_EQ(core(tensor, {9, 0}), (Place{1, 1}));
  // Ranges are (x, y): a block of 2 rows and 3 columns at x = 4, y = 1.
  const Tensor block = read(
      "tensor<64x96xf32, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <2x3>, "
      "memref<1x1x!ttcore.tile<32x32, f32>, #l1>, <block_sharded>, "
      "core_ranges = <[#ttnn.core_range<(4,1), (6,2)>]>>>");
  EXPECT_EQ(core(block, {1, 2}), (Place{2, 6}));
  // The same rectangle in two ranges is the same block.
  const Tensor halves = read(
      "tensor<64x96xf32, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <2x3>, "
      "memref<1x1x!ttcore.tile<32x32, f32>, #l1>, <block_sharded>, "
      "core_ranges = <[#ttnn.core_range<(4,1), (4,2)>, #ttnn.core_range<(5,1), (6,2)>]>>>");
  EXPECT_EQ(core(halves, {1, 2}), (Place{2, 6}));
  EXPECT_EQ(core(halves, {0, 1}), (Place{1, 5}));
}

TEST(Ttnn, InterleavedTensorsIgnoreTheirGrid) {
  const Tensor spread = read(
      "tensor<32x2048xui16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <8x8>, memref<1x1024xui16, "
      "#l1>, <interleaved>>>");
  const Tensor single = read(
      "tensor<32x2048xui16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x65536xui16, "
      "#l1>, <interleaved>>>");
  const Result<Comparison> same = same_function(spread.layout(), single.layout());
  ASSERT_TRUE(same.ok());
  EXPECT_TRUE(same->equal);
  EXPECT_EQ(spread.layout().slots(), 65536);
  EXPECT_EQ(share_bytes(std::get<TtnnLayout>(terms_of(spread))), 2048);
  EXPECT_EQ(share_bytes(std::get<TtnnLayout>(terms_of(single))), 131072);
}

TEST(Ttnn, MapsThatDoNotCollapseAreTheSameInOnePlace) {
  const Tensor apart = read(
      "tensor<4x40x50xbf16, #ttnn.ttnn_layout<(d0, d1, d2) -> (d0, d1, d2), <1x1>, "
      "memref<4x2x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>>");
  const Tensor joined = read(
      "tensor<4x40x50xbf16, #ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 64 + d1, d2), <1x1>, "
      "memref<8x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>>");
  const Result<Comparison> same = same_function(apart.layout(), joined.layout());
  ASSERT_TRUE(same.ok());
  EXPECT_TRUE(same->equal);
  EXPECT_EQ(apart.layout().slots(), joined.layout().slots());
  // Without a collapse, the padding after 40 rows has the cause tile everywhere.
  EXPECT_EQ(cause_at(apart, {0, 0}, 2 * 1024 + 8 * 32), Cause::kTile);
}

TEST(Ttnn, SmallRanks) {
  expect_homes(
      "tensor<100xbf16, #ttnn.ttnn_layout<(d0) -> (0, d0), <1x1>, "
      "memref<1x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>>",
      [](const Index& x) { return Home{{0, 0}, x[0] / 32 * 1024 + x[0] % 32}; });
  expect_homes(
      "tensor<100xbf16, #ttnn.ttnn_layout<(d0) -> (d0, 0), <1x1>, "
      "memref<4x1x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>>",
      [](const Index& x) { return Home{{0, 0}, x[0] / 32 * 1024 + x[0] % 32 * 32}; });
  expect_homes(
      "tensor<7xui32, #ttnn.ttnn_layout<(d0) -> (d0), <1x1>, memref<7xui32, #system_memory>>>",
      [](const Index& x) { return Home{{0, 0}, x[0]}; });
  expect_homes(
      "tensor<f32, #ttnn.ttnn_layout<() -> (0, 0), <1x1>, memref<1x1x!ttcore.tile<32x32, f32>, "
      "#dram>, <interleaved>>>",
      [](const Index&) { return Home{{0, 0}, 0}; });
  const Tensor empty = read(
      "tensor<0x64xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, "
      "memref<0x2x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>>");
  EXPECT_EQ(empty.layout().slots(), 0);
  const Tensor spread = read(
      "tensor<4x0xf32, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <2x1>, memref<2x0xf32, #l1>, "
      "<height_sharded>, core_ranges = <[#ttnn.core_range<(0,0), (1,0)>]>>>");
  EXPECT_EQ(spread.layout().slots(), 0);
}

TEST(Ttnn, TheStorageTypeMayDiffer) {
  const Tensor tensor = read(
      "tensor<32x32xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, "
      "memref<1x1x!ttcore.tile<32x32, bfp_bf8>, #dram>, <interleaved>>>");
  EXPECT_EQ(tensor.layout().shard_bytes(), 1088);
  EXPECT_EQ(share_bytes(std::get<TtnnLayout>(terms_of(tensor))), 1088);
  EXPECT_EQ(tensor.layout().dtype(), DType::kBF16);
}

TEST(Ttnn, TextsComeBackAsWritten) {
  for (const std::string text :
       {"tensor<64x128xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, "
        "memref<2x4x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>>",
        "tensor<64x128xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, mesh = <\"mesh\">, "
        "memref<64x128xbf16, #ttnn.buffer_type<system_memory>>>>",
        "tensor<64x128xf32, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <2x4>, "
        "memref<1x1x!ttcore.tile<32x32, f32>, #l1_>, <block_sharded>, core_ranges = "
        "<[#ttnn.core_range<(0,0), (3,1)>]>>>",
        "tensor<32x384xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x12>, "
        "memref<1x1x!ttcore.tile<32x32, bf16>, #dram>, <width_sharded>, core_ranges = "
        "<[#ttnn.core_range<(0,0), (11,0)>]>>>",
        "tensor<32x32xf32, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<1x1024xf32, "
        "#l1>, <interleaved>, ignorePhysicalLayout = true>>"}) {
    EXPECT_EQ(print_tensor(read(text)), text);
  }
  EXPECT_EQ(print_tensor(read(
                "tensor<64x128xbf16,#ttnn.ttnn_layout< affine_map<(d0,d1) -> (d0,d1)>, <1 x 1>,"
                "mesh = #ttcore.tensor_mesh<\"m_1\">,memref<2x4x!ttcore.tile<32 x 32, bf16>, "
                "<l1>>, #ttnn.tensor_memory_layout<height_sharded>, core_ranges = "
                "#ttnn.core_range_set<[#ttnn.core_range<(3, 4), (3, 4)>]>, "
                "ignorePhysicalLayout = false > >")),
            "tensor<64x128xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, mesh = <\"m_1\">, "
            "memref<2x4x!ttcore.tile<32x32, bf16>, <l1>>, <height_sharded>, core_ranges = "
            "<[#ttnn.core_range<(3,4), (3,4)>]>>>");
}

TEST(Ttnn, FactsOfTheAttribute) {
  const Tensor block = read(kBlock53x63);
  const Result<TtnnFacts> facts =
      facts_of(std::get<TtnnLayout>(terms_of(block)), block.layout().shape());
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ(facts->grid_shape, (std::vector<std::int64_t>{3, 2}));
  EXPECT_EQ(facts->stride, (std::vector<std::int64_t>{4096, 64, 1}));
  EXPECT_EQ(facts->physical_shape, (std::vector<std::int64_t>{64, 64}));
  EXPECT_EQ(facts->shard_shape, (std::vector<std::int64_t>{22, 32}));
  EXPECT_EQ(facts->physical_shard_shape, (std::vector<std::int64_t>{32, 32}));

  // The walkthrough tensor of the tt-mlir layout specification: 2x3x64x128 collapses to 384x128.
  const Tensor walkthrough = read(
      "tensor<2x3x64x128xf32, #ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 192 + d1 * 64 + d2, "
      "d3), <8x8>, memref<1x1x!ttcore.tile<32x32, f32>, #l1>, <interleaved>>>");
  const Result<TtnnFacts> whole =
      facts_of(std::get<TtnnLayout>(terms_of(walkthrough)), walkthrough.layout().shape());
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(whole->grid_shape, (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(whole->stride, (std::vector<std::int64_t>{49152, 24576, 8192, 128, 1}));
  EXPECT_EQ(whole->physical_shape, (std::vector<std::int64_t>{384, 128}));
  EXPECT_EQ(whole->shard_shape, (std::vector<std::int64_t>{384, 128}));
  EXPECT_EQ(whole->physical_shard_shape, (std::vector<std::int64_t>{384, 128}));
  EXPECT_EQ(share_bytes(std::get<TtnnLayout>(terms_of(walkthrough))),
            4096);  // 48 tiles on 64 cores
}

TEST(Ttnn, MakesWhatTheRuleDerives) {
  const Shape shape = *Shape::make({2, 53, 63});
  const Atom tile = Atom::tile(32, 32, DType::kBF16);
  using Memory = TtnnLayout::Memory;
  const auto made = [&](std::string_view space, Memory memory,
                        const std::vector<std::int64_t>& grid) {
    const Result<TtnnLayout> words = make_ttnn(shape, tile, space, memory, grid);
    EXPECT_TRUE(words.ok()) << words.error().message;
    if (!words.ok()) return std::string();
    EXPECT_TRUE(lower(*words, shape, DType::kBF16).ok());
    return write(*words);
  };
  EXPECT_EQ(made("dram", Memory::kInterleaved, {1, 1}),
            "#ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 64 + d1, d2), <1x1>, "
            "memref<4x2x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>");
  EXPECT_EQ(made("system", Memory::kUnsaid, {1, 1}),
            "#ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 64 + d1, d2), <1x1>, "
            "memref<4x2x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<system_memory>>>");
  EXPECT_EQ(made("l1", Memory::kInterleaved, {2, 3}),
            "#ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 64 + d1, d2), <2x3>, "
            "memref<1x2x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<l1>>, <interleaved>>");
  EXPECT_EQ(made("l1", Memory::kBlockSharded, {3, 2}),
            "#ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 64 + d1, d2), <3x2>, "
            "memref<2x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<l1>>, <block_sharded>, "
            "core_ranges = <[#ttnn.core_range<(0,0), (1,2)>]>>");
  EXPECT_EQ(made("l1", Memory::kHeightSharded, {10, 1}),
            "#ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 64 + d1, d2), <10x1>, "
            "memref<1x2x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<l1>>, <height_sharded>, "
            "core_ranges = <[#ttnn.core_range<(0,0), (7,0)>, #ttnn.core_range<(0,1), (1,1)>]>>");
  EXPECT_EQ(made("dram", Memory::kWidthSharded, {1, 12}),
            "#ttnn.ttnn_layout<(d0, d1, d2) -> (d0 * 64 + d1, d2), <1x12>, "
            "memref<4x1x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <width_sharded>, "
            "core_ranges = <[#ttnn.core_range<(0,0), (11,0)>]>>");
}

}  // namespace
}  // namespace tessera::notation
