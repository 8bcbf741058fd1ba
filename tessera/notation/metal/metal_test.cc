// SPDX-License-Identifier: Apache-2.0
// The attribute of the tt-mlir layout specification: every example of the document, the
// constructors, device maps.
#include "tessera/notation/metal/metal.h"

#include <gtest/gtest.h>

#include "tessera/notation/terms.h"
#include "tessera/testing/notation/metal_checks.h"

namespace tessera::notation {
namespace {

using Numbers = std::vector<std::int64_t>;

constexpr std::int64_t kRow = 32;  // slots between rows of a tile, and of 32 columns

Shape shape_of(Numbers extents) { return Shape::make(std::move(extents)).value(); }

std::string metal(std::string_view type, std::string_view map, std::string_view grid,
                  std::string_view memref, std::string_view oob = "undef") {
  return cat("tensor<", type, ", #tt.metal_layout<", map, ", ", oob, ", <", grid, ">, memref<",
             memref, ", #tt.memory_space<l1>>>>");
}

/// A line whose value the test computes, divided and tiled as in the tt-mlir layout specification:
/// the shard is ceil(extent / grid).
NaiveLine line(std::function<std::int64_t(const Index&)> value, std::int64_t extent,
               std::int64_t grid, std::int64_t tile = 1) {
  return {std::move(value), grid, (extent + grid - 1) / grid, tile};
}

void check(std::string_view text, const std::vector<NaiveLine>& lines) {
  SCOPED_TRACE(text);
  const Tensor tensor = parsed(text);
  EXPECT_EQ(tensor.notation, "metal");
  EXPECT_EQ(print_tensor(tensor), text);
  check_places(tensor.layout(), lines);
  check_round_trip(tensor);
  check_raises(tensor.layout(), "metal");
}

// The walkthrough: 2x3x64x128 collapsed to 384x128. Element [1, 1, 6, 100] is at (262, 100).
TEST(Metal, Walkthrough) {
  const std::string text = metal(
      "2x3x64x128xf32", "(d0, d1, d2, d3) -> (d0 * 192 + d1 * 64 + d2, d3)", "1x1", "384x128xf32");
  check(text, {line([](const Index& x) { return x[0] * 192 + x[1] * 64 + x[2]; }, 384, 1),
               line([](const Index& x) { return x[3]; }, 128, 1)});
  const Location location = parsed(text).layout().locate({1, 1, 6, 100}).value();
  EXPECT_EQ(location.slot, 262 * 128 + 100);
  EXPECT_EQ(location.places, (std::vector<Place>{{0, 0}}));
  const Tensor tensor = parsed(text);
  const auto& words = std::get<MetalLayout>(terms_of(tensor));
  EXPECT_EQ(words.linear.results[0].at({1, 1, 6, 100}), 262);
  EXPECT_EQ(words.linear.results[1].at({1, 1, 6, 100}), 100);
  EXPECT_EQ(parsed(text).layout().spec().space, "l1");
}

TEST(Metal, MultiCore) {
  check(metal("2x3x64x128xf32", "(d0, d1, d2, d3) -> (d0 * 192 + d1 * 64 + d2, d3)", "2x4",
              "192x32xf32"),
        {line([](const Index& x) { return x[0] * 192 + x[1] * 64 + x[2]; }, 384, 2),
         line([](const Index& x) { return x[3]; }, 128, 4)});
  check(metal("8x300xf32", "(d0, d1) -> (d0, d1)", "1x2", "8x150xf32"),
        {line([](const Index& x) { return x[0]; }, 8, 1),
         line([](const Index& x) { return x[1]; }, 300, 2)});
  check(metal("8x96x32xf32", "(d0, d1, d2) -> (d0 * 96 + d1, d2)", "2x1", "384x32xf32"),
        {line([](const Index& x) { return x[0] * 96 + x[1]; }, 768, 2),
         line([](const Index& x) { return x[2]; }, 32, 1)});
}

// Legal, but d1 is in two results: 96 times the data are allocated.
TEST(Metal, ADimInTwoResultsAllocatesAllCombinations) {
  const std::string text =
      metal("8x96x32xf32", "(d0, d1, d2) -> (d0 * 96 + d1, d1, d2)", "2x1x2", "384x96x16xf32");
  check(text, {line([](const Index& x) { return x[0] * 96 + x[1]; }, 768, 2),
               line([](const Index& x) { return x[1]; }, 96, 1),
               line([](const Index& x) { return x[2]; }, 32, 2)});
  const Layout layout = parsed(text).layout();
  EXPECT_EQ(layout.slots() * layout.places(), layout.shape().elements() * 96);
}

// The 7-D example: 256 times the data.
TEST(Metal, SevenDims) {
  const std::string text = metal(
      "5x3x2x2x7x32x32xf32",
      "(d0, d1, d2, d3, d4, d5, d6) -> (d0 * 2688 + d1 * 896 + d2 * 448 + d3 * 224 + d4 * 32 + "
      "d5, d4, d5, d6)",
      "3x2x2x2", "4480x4x16x16xf32");
  const Tensor tensor = parsed(text);
  EXPECT_EQ(print_tensor(tensor), text);
  const Layout& layout = tensor.layout();
  // Lines of 13440, 7, 32 and 32 are kept on 3x2x2x2 places as 13440·8·32·32 slots; the elements
  // are 60·7·32·32, and 13440 is 60·7·32.
  EXPECT_EQ(layout.slots() * layout.places(), layout.shape().elements() * 256);
  const auto collapsed = [](const Index& x) {
    return x[0] * 2688 + x[1] * 896 + x[2] * 448 + x[3] * 224 + x[4] * 32 + x[5];
  };
  const std::vector<NaiveLine> lines = {line(collapsed, 13440, 3),
                                        line([](const Index& x) { return x[4]; }, 7, 2),
                                        line([](const Index& x) { return x[5]; }, 32, 2),
                                        line([](const Index& x) { return x[6]; }, 32, 2)};
  Index index(7, 0);
  do {
    const auto position = naive_position(lines, index);
    const Location location = layout.locate(index).value();
    ASSERT_EQ(location.places[0], position.first);
    ASSERT_EQ(location.slot, position.second);
    // Every 31st index is enough of 430,080, and covers every residue of each dim.
    for (int skip = 0; skip < 30; ++skip) layout.shape().next(index);
  } while (layout.shape().next(index));
  check_raises(layout, "metal");
}

TEST(Metal, Tilized) {
  const std::string scalar =
      metal("3x64x128xf32", "(d0, d1, d2) -> (d0 * 64 + d1, d2)", "3x2", "64x64xf32");
  const std::string tiled = metal("3x64x128xf32", "(d0, d1, d2) -> (d0 * 64 + d1, d2)", "3x2",
                                  "2x2x!tt.tile<32x32, bfp_bf8>");
  const auto rows = [](const Index& x) { return x[0] * 64 + x[1]; };
  const auto cols = [](const Index& x) { return x[2]; };
  check(scalar, {line(rows, 192, 3), line(cols, 128, 2)});
  check(tiled, {line(rows, 192, 3, 32), line(cols, 128, 2, 32)});
  // Four tiles of 1088 bytes per place; the tensor stays f32.
  const Layout layout = parsed(tiled).layout();
  EXPECT_EQ(layout.shard_bytes(), 4 * 1088);
  EXPECT_EQ(layout.dtype(), DType::kF32);
  EXPECT_EQ(layout.atom(), Atom::tile(32, 32, DType::kBfpBf8));
  EXPECT_FALSE(layout.locate({0, 0, 0})->byte.has_value());
}

// 53x63 on 3x2: 18x32 shards; one row of padding on the last row of cores, one column on the last.
TEST(Metal, PaddingOfAGrid) {
  const std::string text = metal("53x63xf32", "(d0, d1) -> (d0, d1)", "3x2", "18x32xf32");
  check(text, {line([](const Index& x) { return x[0]; }, 53, 3),
               line([](const Index& x) { return x[1]; }, 63, 2)});
  const Layout layout = parsed(text).layout();
  const auto cause = [&](const Place& place, std::int64_t slot) {
    return std::get<Padding>(*layout.element_at(place, slot)).cause;
  };
  EXPECT_EQ(cause({2, 0}, kRow * 17), Cause::kGrid);
  EXPECT_EQ(cause({0, 1}, 31), Cause::kGrid);
  EXPECT_TRUE(std::holds_alternative<Index>(*layout.element_at({1, 0}, kRow * 17 + 31)));
  // 54·64 slots for 53·63 elements.
  EXPECT_EQ(layout.slots() * layout.places() - layout.shape().elements(), 54 * 64 - 53 * 63);
}

// Tilized, every core has 14 rows of tile padding; the last row of cores has one more, of the grid.
TEST(Metal, PaddingOfAGridThenTiles) {
  const std::string text =
      metal("53x63xf32", "(d0, d1) -> (d0, d1)", "3x2", "1x1x!tt.tile<32x32, bfp_bf8>");
  check(text, {line([](const Index& x) { return x[0]; }, 53, 3, 32),
               line([](const Index& x) { return x[1]; }, 63, 2, 32)});
  const Layout layout = parsed(text).layout();
  for (std::int64_t row = 0; row < 3; ++row) {
    for (std::int64_t r = 0; r < 32; ++r) {
      const Slot slot = *layout.element_at({row, 0}, r * 32);
      const std::int64_t data_rows = row == 2 ? 17 : 18;
      ASSERT_EQ(std::holds_alternative<Index>(slot), r < data_rows);
      if (r >= data_rows) {
        EXPECT_EQ(std::get<Padding>(slot).cause, r < 18 ? Cause::kGrid : Cause::kTile) << r;
      }
    }
  }
  EXPECT_EQ(layout.locate({40, 33})->slot, 4 * 32 + 1);
  EXPECT_EQ(layout.locate({40, 33})->places, (std::vector<Place>{{2, 1}}));
}

// A bumped stride puts each batch in separate tiles; the rows between are a gap.
TEST(Metal, BumpedStride) {
  const auto cols = [](const Index& x) { return x[2]; };
  check(metal("2x8x32xf32", "(d0, d1, d2) -> (d0 * 8 + d1, d2)", "1x2", "16x16xf32"),
        {line([](const Index& x) { return x[0] * 8 + x[1]; }, 16, 1), line(cols, 32, 2)});
  check(metal("2x8x32xf32", "(d0, d1, d2) -> (d0 * 8 + d1, d2)", "1x2", "1x1x!tt.tile<32x32, f32>"),
        {line([](const Index& x) { return x[0] * 8 + x[1]; }, 16, 1, 32), line(cols, 32, 2, 32)});
  const std::string bumped =
      metal("2x8x32xf32", "(d0, d1, d2) -> (d0 * 32 + d1, d2)", "1x2", "2x1x!tt.tile<32x32, f32>");
  check(bumped,
        {line([](const Index& x) { return x[0] * 32 + x[1]; }, 40, 1, 32), line(cols, 32, 2, 32)});
  const Layout layout = parsed(bumped).layout();
  EXPECT_EQ(layout.locate({1, 0, 0})->slot, 1024);  // the second tile begins the second batch
  EXPECT_EQ(std::get<Padding>(*layout.element_at({0, 0}, kRow * 8)).cause, Cause::kGap);
  EXPECT_EQ(std::get<Padding>(*layout.element_at({0, 0}, 1024 + kRow * 8)).cause, Cause::kTile);
  EXPECT_EQ(std::get<Padding>(*layout.element_at({0, 0}, 16)).cause, Cause::kTile);
}

TEST(Metal, MultiDevice) {
  const std::string text = metal("2x3x64x128xf32", "(d0, d1, d2, d3) -> (d0, d1 * 64 + d2, d3)",
                                 "2x2x4", "1x3x1x!tt.tile<32x32, bfp_bf8>");
  check(text, {line([](const Index& x) { return x[0]; }, 2, 2),
               line([](const Index& x) { return x[1] * 64 + x[2]; }, 192, 2, 32),
               line([](const Index& x) { return x[3]; }, 128, 4, 32)});
}

TEST(Metal, CollapseIntervals) {
  const auto collapsed = [](Numbers extents, const CollapseIntervals& intervals) -> std::string {
    const Result<AffineMap> map = collapse(shape_of(std::move(extents)), intervals);
    return map ? write_affine_map(*map) : std::string(code_name(map.error().code));
  };
  EXPECT_EQ(collapsed({2, 3, 5}, {{0, -1}}), "(d0, d1, d2) -> (d0 * 3 + d1, d2)");
  EXPECT_EQ(collapsed({2, 3, 5, 7}, {{1, -1}}), "(d0, d1, d2, d3) -> (d0, d1 * 5 + d2, d3)");
  EXPECT_EQ(collapsed({2, 3, 5, 7}, {{0, 2}}), "(d0, d1, d2, d3) -> (d0 * 3 + d1, d2, d3)");
  EXPECT_EQ(collapsed({2, 3, 5, 7, 11, 13, 17}, {{0, 3}, {-3, -1}}),
            "(d0, d1, d2, d3, d4, d5, d6) -> (d0 * 15 + d1 * 5 + d2, d3, d4 * 13 + d5, d6)");
  EXPECT_EQ(collapsed({2, 3, 5, 7, 11, 13, 17}, {{-3, -1}, {0, 3}}),
            "(d0, d1, d2, d3, d4, d5, d6) -> (d0 * 15 + d1 * 5 + d2, d3, d4 * 13 + d5, d6)");
  EXPECT_EQ(collapsed({2, 3, 5}, {}), "(d0, d1, d2) -> (d0, d1, d2)");
  EXPECT_EQ(collapsed({2, 3, 5}, {{0, 3}}), "(d0, d1, d2) -> (d0 * 15 + d1 * 5 + d2)");
  EXPECT_EQ(collapsed({2, 3, 5}, {{1, 1}}), "(d0, d1, d2) -> (d0, d1, d2)");
  EXPECT_EQ(collapsed({2, 3, 5}, {{0, -2}}), "(d0, d1, d2) -> (d0, d1, d2)");
  EXPECT_EQ(collapsed({}, {}), "() -> ()");
  EXPECT_EQ(collapsed({2, 3, 5}, {{0, 4}}), "out_of_range");
  EXPECT_EQ(collapsed({2, 3, 5}, {{-4, 2}}), "out_of_range");
  EXPECT_EQ(collapsed({2, 3, 5}, {{2, 1}}), "out_of_range");
  EXPECT_EQ(collapsed({2, 3, 5}, {{0, 2}, {1, 3}}), "out_of_range");
}

TEST(Metal, MadeFromIntervals) {
  const Shape shape = shape_of({2, 3, 64, 128});
  const MetalLayout scalar =
      make_metal(shape, {{0, -1}}, {2, 4}, Atom::scalar(DType::kF32), "l1").value();
  EXPECT_EQ(write(scalar),
            "#tt.metal_layout<(d0, d1, d2, d3) -> (d0 * 192 + d1 * 64 + d2, d3), undef, <2x4>, "
            "memref<192x32xf32, #tt.memory_space<l1>>>");
  const MetalLayout regridded = with_grid(scalar, shape, {1, 1}).value();
  EXPECT_EQ(regridded.memref.shape, (Numbers{384, 128}));
  const MetalLayout tiled = with_element(scalar, shape, Atom::tile(32, 32, DType::kBfpBf8)).value();
  EXPECT_EQ(tiled.memref.shape, (Numbers{6, 1}));
  EXPECT_EQ(with_element(tiled, shape, Atom::scalar(DType::kF32)).value(), scalar);
  const MetalLayout devices =
      make_metal(shape, {{1, -1}}, {2, 2, 4}, Atom::tile(32, 32, DType::kBfpBf8), "l1").value();
  EXPECT_EQ(devices.memref.shape, (Numbers{1, 3, 1}));
  EXPECT_EQ(make_metal(shape, {{0, -1}}, {2}, Atom::scalar(DType::kF32), "l1").error().code,
            ErrorCode::kContradiction);
  EXPECT_EQ(make_metal(shape, {{0, -1}}, {2, 4}, Atom::scalar(DType::kF32), "l2").error().help,
            "did you mean 'l1'?");
}

TEST(Metal, StridesAreBumped) {
  const Shape shape = shape_of({2, 8, 32});
  const MetalLayout packed =
      make_metal(shape, {{0, -1}}, {1, 2}, Atom::tile(32, 32, DType::kF32), "l1").value();
  EXPECT_EQ(packed.memref.shape, (Numbers{1, 1}));
  const AffineMap linear = bump_stride(packed.linear, 0, 32).value();
  EXPECT_EQ(write_affine_map(linear), "(d0, d1, d2) -> (d0 * 32 + d1, d2)");
  EXPECT_EQ(with_linear(packed, shape, linear)->memref.shape, (Numbers{2, 1}));
  const AffineMap three = collapse(shape_of({4, 2, 8, 32}), {{0, -1}}).value();
  EXPECT_EQ(write_affine_map(bump_stride(three, 1, 32).value()),
            "(d0, d1, d2, d3) -> (d0 * 64 + d1 * 32 + d2, d3)");
  EXPECT_EQ(write_affine_map(bump_stride(three, 0, 32).value()),
            "(d0, d1, d2, d3) -> (d0 * 32 + d1 * 8 + d2, d3)");
  EXPECT_EQ(bump_stride(three, 7, 32).error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(bump_stride(three, 0, 0).error().code, ErrorCode::kOutOfRange);
}

TEST(Metal, Facts) {
  const auto facts = [](std::string_view text) {
    const Tensor tensor = parsed(text);
    return facts_of(std::get<MetalLayout>(terms_of(tensor)), tensor.layout().shape()).value();
  };
  const MetalFacts collapsed = facts(metal(
      "2x3x64x128xf32", "(d0, d1, d2, d3) -> (d0 * 192 + d1 * 64 + d2, d3)", "2x4", "192x32xf32"));
  EXPECT_EQ(collapsed.collapsed_intervals, (CollapseIntervals{{0, 3}, {3, 4}}));
  EXPECT_EQ(collapsed.linear, "(d0, d1, d2, d3) -> (d0 * 192 + d1 * 64 + d2, d3)");
  EXPECT_EQ(collapsed.grid, (Numbers{2, 4}));
  EXPECT_EQ(collapsed.memref, "memref<192x32xf32, #tt.memory_space<l1>>");
  const MetalFacts tiled =
      facts(metal("53x63xf32", "(d0, d1) -> (d0, d1)", "3x2", "1x1x!tt.tile<32x32, f32>"));
  EXPECT_EQ(tiled.shard_shape, (Numbers{18, 32}));
  const MetalFacts bumped =
      facts(metal("2x8x32xf32", "(d0, d1, d2) -> (d0 * 32 + d1, d2)", "1x1", "40x32xf32"));
  EXPECT_EQ(bumped.collapsed_intervals, std::nullopt);
  const MetalFacts permuted = facts(metal("4x6xf32", "(d0, d1) -> (d1, d0)", "1x1", "6x4xf32"));
  EXPECT_EQ(permuted.collapsed_intervals, std::nullopt);
}

}  // namespace
}  // namespace tessera::notation
