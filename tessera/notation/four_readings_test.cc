// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/layout/placement.h"
#include "tessera/notation/notation.h"
#include "tessera/testing/notation/reasons.h"

/// 53x63 on a 3x2 grid in 32x32 tiles, as four notations of one vendor read it. They place the
/// elements differently, so nothing converts one into another silently.
namespace tessera::notation {
namespace {

/// Divide by the grid, then tile: 18, 18 and 17 rows.
const std::string kMetal =
    "tensor<53x63xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>, "
    "memref<1x1x!tt.tile<32x32, f32>, #tt.memory_space<l1>>>>";
/// Pad to the tile, divide, and cut at whole tiles: 32, 21 and no rows.
const std::string kTtnn =
    "tensor<53x63xf32, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <3x2>, "
    "memref<1x1x!ttcore.tile<32x32, f32>, #ttnn.buffer_type<l1>>, <block_sharded>, core_ranges = "
    "<[#ttnn.core_range<(0,0), (1,2)>]>>>";
/// Cut at shard_shape, then pad each shard.
const std::string kTerms =
    "tensor<53x63xf32, ttnn<stride=[3339, 63, 1], shard_shape=[18, 32], tile_shape=[32, 32]>>";
/// Align, then the grid must divide exactly: 96x64, so 32 rows per core.
const std::string kToday =
    "tensor<3x2x1x1x!ttcore.tile<32x32, f32>, #ttcore.metal_layout<logical_shape = 53x63, "
    "dim_alignments = 96x64, collapsed_intervals = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>, l1, "
    "sharded>>";

Layout read(const std::string& text) {
  const Result<Tensor> tensor = parse_tensor(text);
  EXPECT_TRUE(tensor.ok()) << render(tensor.error(), text);
  return tensor.ok() ? tensor->layout() : parse_tensor("tensor<f32, strided<[]>>")->layout();
}

/// How many rows of column 0 each row of places holds.
std::vector<std::int64_t> rows_of(const Layout& layout) {
  std::vector<std::int64_t> rows(3, 0);
  for (std::int64_t row = 0; row < 53; ++row) {
    const Result<Location> location = layout.locate({row, 0});
    EXPECT_TRUE(location.ok());
    ++rows[static_cast<std::size_t>(location->places[0][0])];
  }
  return rows;
}

/// Every element is in the one tile of its place: rows are cut at `height`, columns at 32.
void expect_cut_at(const std::string& text, std::int64_t height) {
  SCOPED_TRACE(text);
  const Layout layout = read(text);
  EXPECT_EQ(layout.slots(), 1024);
  Index x(2, 0);
  do {
    const Result<Location> location = layout.locate(x);
    ASSERT_TRUE(location.ok());
    ASSERT_EQ(location->places, (std::vector<Place>{{x[0] / height, x[1] / 32}}));
    ASSERT_EQ(location->slot, x[0] % height * 32 + x[1] % 32);
  } while (layout.shape().next(x));
}

TEST(FourReadings, RowsOfEachPlace) {
  EXPECT_EQ(rows_of(read(kMetal)), (std::vector<std::int64_t>{18, 18, 17}));
  EXPECT_EQ(rows_of(read(kTtnn)), (std::vector<std::int64_t>{32, 21, 0}));
  EXPECT_EQ(rows_of(read(kTerms)), (std::vector<std::int64_t>{18, 18, 17}));
  EXPECT_EQ(rows_of(read(kToday)), (std::vector<std::int64_t>{32, 21, 0}));
}

TEST(FourReadings, EveryElement) {
  expect_cut_at(kMetal, 18);
  expect_cut_at(kTtnn, 32);
  expect_cut_at(kTerms, 18);
  expect_cut_at(kToday, 32);
}

TEST(FourReadings, TodayRefusesWhatTheGridDoesNotDivide) {
  const Result<Tensor> tensor = parse_tensor(
      "tensor<3x2x1x1x!ttcore.tile<32x32, f32>, #ttcore.metal_layout<logical_shape = 53x63, "
      "dim_alignments = 32x32, collapsed_intervals = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>, "
      "l1, sharded>>");
  ASSERT_FALSE(tensor.ok());
  EXPECT_EQ(tensor.error().code, ErrorCode::kContradiction) << tensor.error().message;
}

TEST(FourReadings, TheyAreTwoFunctions) {
  const auto equal = [](const std::string& a, const std::string& b) {
    const Result<Comparison> same = same_function(read(a), read(b));
    EXPECT_TRUE(same.ok());
    return same.ok() && same->equal;
  };
  EXPECT_TRUE(equal(kMetal, kTerms));
  EXPECT_TRUE(equal(kTtnn, kToday));
  EXPECT_FALSE(equal(kMetal, kTtnn));
  const Result<Comparison> same = same_function(read(kMetal), read(kTtnn));
  ASSERT_TRUE(same.ok() && same->first_difference);
  EXPECT_EQ(*same->first_difference, (Index{18, 0}));
}

TEST(FourReadings, CausesAreTheRulesOwn) {
  const auto cause = [](const std::string& text, const Place& place, std::int64_t slot) {
    const Result<Slot> held = read(text).element_at(place, slot);
    EXPECT_TRUE(held.ok() && std::holds_alternative<Padding>(*held)) << text;
    return std::get<Padding>(*held).cause;
  };
  // Row 18 of the tile of place [0, 0]: after the shard.
  EXPECT_EQ(cause(kMetal, {0, 0}, std::int64_t{18} * 32), Cause::kTile);
  EXPECT_EQ(cause(kTerms, {0, 0}, std::int64_t{18} * 32), Cause::kTile);
  // Row 53: the 18th of place [2, 0], or the 22nd of place [1, 0].
  EXPECT_EQ(cause(kMetal, {2, 0}, std::int64_t{17} * 32), Cause::kGrid);
  EXPECT_EQ(cause(kTerms, {2, 0}, std::int64_t{17} * 32), Cause::kGrid);
  EXPECT_EQ(cause(kTtnn, {1, 0}, std::int64_t{21} * 32), Cause::kTile);
  EXPECT_EQ(cause(kToday, {1, 0}, std::int64_t{21} * 32), Cause::kAlignment);
  // Row 64: a place without data.
  EXPECT_EQ(cause(kTtnn, {2, 0}, 0), Cause::kGrid);
  EXPECT_EQ(cause(kToday, {2, 0}, 0), Cause::kAlignment);
}

TEST(FourReadings, NothingConvertsSilently) {
  const auto as = [](const std::string& text, std::string_view notation) {
    return print_tensor(read(text), **find_notation(notation));
  };
  const Result<std::string> metal_as_ttnn = as(kMetal, "ttnn");
  ASSERT_FALSE(metal_as_ttnn.ok());
  EXPECT_EQ(test::reasons_text(metal_as_ttnn.error()),
            "element_elsewhere index=[18, 0] slot=0 expected_slot=576 place=[1, 0] "
            "expected_place=[0, 0]");
  const Result<std::string> ttnn_as_metal = as(kTtnn, "metal");
  if (ttnn_as_metal.ok()) {
    const Result<Comparison> same = same_function(read(kTtnn), read(*ttnn_as_metal));
    ASSERT_TRUE(same.ok());
    EXPECT_TRUE(same->equal) << *ttnn_as_metal;
  } else {
    EXPECT_EQ(ttnn_as_metal.error().code, ErrorCode::kNotSupported);
  }
  // Aligned to 96x64, metal_today and TTNN agree, and each converts to the other.
  const Result<std::string> today_as_ttnn = as(kToday, "ttnn");
  ASSERT_TRUE(today_as_ttnn.ok()) << today_as_ttnn.error().message;
  EXPECT_EQ(*today_as_ttnn, kTtnn);
}

}  // namespace
}  // namespace tessera::notation
