// SPDX-License-Identifier: Apache-2.0
// The metal_today attribute: alignments, intervals, planes of rank 0 and 1, and printing either
// form.
#include "tessera/notation/metal_today/metal_today.h"

#include <gtest/gtest.h>

#include "tessera/notation/terms.h"
#include "tessera/testing/notation/metal_checks.h"
#include "tessera/testing/notation/reasons.h"

namespace tessera::notation {
namespace {

using Numbers = std::vector<std::int64_t>;

std::string today(std::string_view device, std::string_view logical, std::string_view alignments,
                  std::string_view intervals, std::string_view rest = ", l1, sharded") {
  return cat("tensor<", device, ", #ttcore.metal_layout<logical_shape = ", logical,
             ", dim_alignments = ", alignments, ", collapsed_intervals = ", intervals, rest, ">>");
}

constexpr std::string_view kEach = "dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>";
constexpr std::string_view kNone = "dense<> : tensor<0x2xi64>";

/// A line of `length` after alignment, which the grid divides exactly.
NaiveLine line(std::function<std::int64_t(const Index&)> value, std::int64_t length,
               std::int64_t grid, std::int64_t tile = 1) {
  return {std::move(value), grid, length / grid, tile};
}

void check(std::string_view text, const std::vector<NaiveLine>& lines) {
  SCOPED_TRACE(text);
  const Tensor tensor = parsed(text);
  EXPECT_EQ(tensor.notation, "metal-today");
  EXPECT_EQ(print_tensor(tensor), text);
  check_places(tensor.layout(), lines);
  check_round_trip(tensor);
  check_raises(tensor.layout(), "metal-today");
}

const auto kRow = [](const Index& x) { return x[0]; };
const auto kCol = [](const Index& x) { return x[1]; };

TEST(MetalToday, GridTimesShardIsTheAlignedShape) {
  check(today("1x2x8x150xf32", "8x300", "1x1", kEach), {line(kRow, 8, 1), line(kCol, 300, 2)});
  check(today("2x2x2x2x!ttcore.tile<32x32, f32>", "128x128", "32x32", kEach),
        {line(kRow, 128, 2, 32), line(kCol, 128, 2, 32)});
  const Layout large =
      parsed(today("2x2x16x16x!ttcore.tile<32x32, f32>", "1024x1024", "32x32", kEach)).layout();
  EXPECT_EQ(large.locate({600, 40})->places, (std::vector<Place>{{1, 0}}));
  EXPECT_EQ(large.locate({600, 40})->slot, (2 * 16 + 1) * 1024 + 24 * 32 + 8);
  check(today("1x1x1x1x!ttcore.tile<32x32, f32>", "32x32", "32x32", kEach),
        {line(kRow, 32, 1, 32), line(kCol, 32, 1, 32)});
}

// 53x63 on 3x2 needs alignment to 96x64; every empty slot is alignment padding.
TEST(MetalToday, AlignmentPads) {
  const std::string text = today("3x2x32x32xf32", "53x63", "96x64", kEach);
  const std::vector<NaiveLine> lines = {line(kRow, 96, 3), line(kCol, 64, 2)};
  check(text, lines);
  check_causes(parsed(text).layout(), lines, Cause::kTile, Cause::kAlignment);
  const std::string tiled = today("3x2x1x1x!ttcore.tile<32x32, bf16>", "53x63", "96x64", kEach);
  const std::vector<NaiveLine> tiled_lines = {line(kRow, 96, 3, 32), line(kCol, 64, 2, 32)};
  check(tiled, tiled_lines);
  check_causes(parsed(tiled).layout(), tiled_lines, Cause::kTile, Cause::kAlignment);
  // Rows 0 to 31, 32 to 52, none.
  const Layout layout = parsed(tiled).layout();
  EXPECT_EQ(layout.locate({31, 0})->places, (std::vector<Place>{{0, 0}}));
  EXPECT_EQ(layout.locate({32, 0})->places, (std::vector<Place>{{1, 0}}));
  EXPECT_EQ(layout.locate({52, 62})->places, (std::vector<Place>{{1, 1}}));
  EXPECT_EQ(std::get<Padding>(*layout.element_at({2, 0}, 0)).cause, Cause::kAlignment);
}

// 9x43x7 aligned to 256x32x32: 43 rows become 64, 9 of these are 576, which finally become 768.
TEST(MetalToday, AlignmentOfEveryStage) {
  const std::string text =
      today("8x1x96x32xf32", "9x43x7", "256x32x32", "dense<[[0, 2], [2, 3]]> : tensor<2x2xi64>");
  const std::vector<NaiveLine> lines = {
      line([](const Index& x) { return x[0] * 64 + x[1]; }, 768, 8),
      line([](const Index& x) { return x[2]; }, 32, 1)};
  check(text, lines);
  check_causes(parsed(text).layout(), lines, Cause::kTile, Cause::kAlignment);
  const Layout layout = parsed(text).layout();
  // Row 43 of the first batch is between batches; row 576 is past the last one.
  EXPECT_EQ(std::get<Padding>(*layout.element_at({0, 0}, std::int64_t{43} * 32)).cause,
            Cause::kGap);
  EXPECT_EQ(std::get<Padding>(*layout.element_at({6, 0}, 0)).cause, Cause::kAlignment);
}

TEST(MetalToday, IntervalsMayBeNegativeAndLeaveDimsOut) {
  const auto batch = [](const Index& x) { return x[0]; };
  const auto last = [](const Index& x) { return x[3]; };
  const auto middle = [](const Index& x) { return x[1] * 5 + x[2]; };
  for (const std::string_view said :
       {"dense<[[1, -1]]> : tensor<1x2xi64>", "dense<[[1, 3]]> : tensor<1x2xi64>",
        "dense<[[0, 1], [-3, -1], [3, 4]]> : tensor<3x2xi64>"}) {
    check(today("2x3x1x1x5x7xf32", "2x3x5x7", "1x1x1x1", said),
          {line(batch, 2, 2), line(middle, 15, 3), line(last, 7, 1)});
  }
  check(today("1x1x1x1x2x3x5x7xf32", "2x3x5x7", "1x1x1x1", kNone),
        {line(batch, 2, 1), line(kCol, 3, 1), line([](const Index& x) { return x[2]; }, 5, 1),
         line(last, 7, 1)});
}

TEST(MetalToday, NoIntervalsKeepEveryDim) {
  check(today("1x1x1x33x32x32xf32", "33x2x8", "1x32x32", kNone),
        {line(kRow, 33, 1), line(kCol, 32, 1), line([](const Index& x) { return x[2]; }, 32, 1)});
}

TEST(MetalToday, SplatsAndEmptyIntervals) {
  // One pair [0, 0] collapses nothing.
  const Tensor splat = parsed(today("1x2x8x150xf32", "8x300", "1x1", "dense<0> : tensor<1x2xi64>"));
  EXPECT_EQ(print_tensor(splat),
            today("1x2x8x150xf32", "8x300", "1x1", "dense<[[0, 0]]> : tensor<1x2xi64>"));
  check_places(splat.layout(), {line(kRow, 8, 1), line(kCol, 300, 2)});
  EXPECT_EQ(
      print_tensor(parsed(today("1x2x8x150xf32", "8x300", "1x1", "dense<[]> : tensor<0x2xi64>"))),
      today("1x2x8x150xf32", "8x300", "1x1", kNone));
}

// A tiled rank 1 has a leading line of 32, of which row 0 is data; rank 0 is one element of a tile.
TEST(MetalToday, PlanesOfRankZeroAndOne) {
  const auto zero = [](const Index&) -> std::int64_t { return 0; };
  const std::string_view one = "dense<[[0, 1]]> : tensor<1x2xi64>";
  const std::string vector = today("1x1x1x1x!ttcore.tile<32x32, f32>", "32", "32", one);
  check(vector, {line(zero, 32, 1, 32), line(kRow, 32, 1, 32)});
  check_causes(parsed(vector).layout(), {line(zero, 32, 1, 32), line(kRow, 32, 1, 32)},
               Cause::kTile, Cause::kAlignment);
  EXPECT_EQ(parsed(vector).layout().locate({31})->slot, 31);
  check(today("1x2x1x2x!ttcore.tile<32x32, f32>", "100", "64", one),
        {line(zero, 32, 1, 32), line(kRow, 128, 2, 32)});
  check(today("1x2x32x64xf32", "100", "64", one), {line(zero, 32, 1), line(kRow, 128, 2)});
  check(today("2x64xf32", "100", "64", one), {line(kRow, 128, 2)});
  check(today("1x1x1x1x!ttcore.tile<32x32, f32>", "[]", "[]", kNone),
        {line(zero, 32, 1, 32), line(zero, 32, 1, 32)});
  check(today("1x1x32x32xf32", "[]", "[]", kNone), {line(zero, 32, 1), line(zero, 32, 1)});
  check(today("f32", "[]", "[]", kNone), {});
}

TEST(MetalToday, SpacesPaddingAndMemoryLayout) {
  for (const std::string_view space : {"system", "mmio", "dram", "l1"}) {
    const Tensor tensor =
        parsed(today("1x2x8x150xf32", "8x300", "1x1", kEach, cat(", ", space, ", interleaved")));
    EXPECT_EQ(tensor.layout().spec().space, space);
    check_round_trip(tensor);
    check_raises(tensor.layout(), "metal-today");
  }
  const Tensor old = parsed(today("1x2x8x150xf32", "8x300", "1x1", kEach, ", zero, l1, sharded"));
  EXPECT_EQ(old.layout().spec().padding, PaddingValue::of(0));
  EXPECT_EQ(print_tensor(old),
            today("1x2x8x150xf32", "8x300", "1x1", kEach, ", zero, l1, sharded"));
  check_raises(old.layout(), "metal-today");
  const Tensor bare = parsed(today("1x2x8x150xf32", "8x300", "1x1", kEach, ""));
  EXPECT_EQ(bare.layout().spec().space, "");
  check_raises(bare.layout(), "metal-today");
}

TEST(MetalToday, Facts) {
  const Tensor tensor = parsed(today("8x1x3x1x!ttcore.tile<32x32, f32>", "9x43x7", "256x32x32",
                                     "dense<[[0, -1]]> : tensor<1x2xi64>"));
  const MetalFacts facts = facts_of(std::get<MetalTodayLayout>(terms_of(tensor))).value();
  EXPECT_EQ(facts.linear, "(d0, d1, d2) -> (d0 * 64 + d1, d2)");
  EXPECT_EQ(facts.collapsed_intervals, (CollapseIntervals{{0, -1}}));
  EXPECT_EQ(facts.grid, (Numbers{8, 1}));
  EXPECT_EQ(facts.memref, "memref<3x1x!ttcore.tile<32x32, f32>, #ttcore.memory_space<l1>>");
  EXPECT_EQ(facts.shard_shape, (Numbers{96, 32}));
}

std::string raised(std::string_view text, std::string_view notation) {
  const Result<std::string> other = print_tensor(parsed(text).layout(), **find_notation(notation));
  if (other) check_raises(parsed(text).layout(), notation);
  return other ? *other : test::reasons_text(other.error());
}

TEST(MetalToday, EitherFormPrintsTheOther) {
  const std::string metal =
      "tensor<2x3x64x128xf32, #tt.metal_layout<(d0, d1, d2, d3) -> (d0 * 192 + d1 * 64 + d2, d3), "
      "undef, <2x4>, memref<192x32xf32, #tt.memory_space<l1>>>>";
  const std::string now =
      today("2x4x192x32xf32", "2x3x64x128", "1x1x1x1", "dense<[[0, 3], [3, 4]]> : tensor<2x2xi64>");
  EXPECT_EQ(raised(metal, "metal-today"), now);
  EXPECT_EQ(raised(now, "metal"), metal);
  const std::string bumped =
      "tensor<2x8x32xf32, #tt.metal_layout<(d0, d1, d2) -> (d0 * 32 + d1, d2), undef, <1x1>, "
      "memref<2x1x!tt.tile<32x32, f32>, #tt.memory_space<dram>>>>";
  EXPECT_EQ(raised(bumped, "metal-today"),
            today("1x1x2x1x!ttcore.tile<32x32, f32>", "2x8x32", "1x32x32",
                  "dense<[[0, 2], [2, 3]]> : tensor<2x2xi64>", ", dram, sharded"));
}

TEST(MetalToday, WhatTheOtherCannotSayIsToldApart) {
  const std::string tiled =
      "tensor<53x63xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>, "
      "memref<1x1x!tt.tile<32x32, f32>, #tt.memory_space<l1>>>>";
  EXPECT_EQ(raised(tiled, "metal-today"), "no_text code=not_supported");
  EXPECT_EQ(raised(today("3x2x32x32xf32", "53x63", "96x64", kEach), "metal"),
            "shard_extent axis=0 shard=32 places=3 expected=18");
  EXPECT_EQ(raised(today("1x1x64x64xf32", "40x40", "64x64", kEach), "metal"),
            "shard_shape shape=[64, 64] expected_shape=[40, 40]");
  EXPECT_EQ(raised("tensor<4x6xf32, #tt.metal_layout<(d0, d1) -> (d1, d0), undef, <1x1>, "
                   "memref<6x4xf32, #tt.memory_space<l1>>>>",
                   "metal-today"),
            "line_order dim=0 line=1 expected_line=0");
  EXPECT_EQ(raised("tensor<8x6xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <1x1>, "
                   "memref<1x1x!tt.tile<32x32, bf16>, #tt.memory_space<l1>>>>",
                   "metal-today"),
            "stored_as dtype=f32 storage=bf16 expected_storage=f32");
  EXPECT_EQ(raised("tensor<8x8xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <2x2>, "
                   "memref<4x4xf32, #tt.memory_space<l1>>, device = <2x2, (d0, d1) -> (d1, d0)>>>",
                   "metal-today"),
            "device_map");
}

}  // namespace
}  // namespace tessera::notation
