// SPDX-License-Identifier: Apache-2.0
// The test plan of the tt-mlir layout specification as sweeps: grids, tilize and untilize, padding,
// devices. Every element of every layout is compared with a naive loop over the attribute's rule.
#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <vector>

#include "tessera/notation/metal/metal.h"
#include "tessera/notation/terms.h"
#include "tessera/testing/notation/metal_checks.h"

namespace tessera::notation {
namespace {

using Numbers = std::vector<std::int64_t>;

Shape shape_of(Numbers extents) { return Shape::make(std::move(extents)).value(); }

std::int64_t ceil_of(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The default collapse by the rule: rows are all dims except the last, `stride` apart per batch.
std::vector<NaiveLine> rows_and_columns(const Numbers& shape, const Numbers& grid,
                                        const Atom& element, const Numbers& row_strides) {
  std::int64_t rows = 1;
  bool empty = false;
  for (std::size_t dim = 0; dim + 1 < shape.size(); ++dim) {
    rows += row_strides[dim] * (shape[dim] - 1);
    empty = empty || shape[dim] == 0;
  }
  if (empty) rows = 0;
  const auto row = [=](const Index& x) {
    std::int64_t sum = 0;
    for (std::size_t dim = 0; dim + 1 < x.size(); ++dim) sum += row_strides[dim] * x[dim];
    return sum;
  };
  return {{row, grid[0], ceil_of(rows, grid[0]), element.rows},
          {[](const Index& x) { return x.back(); }, grid[1], ceil_of(shape.back(), grid[1]),
           element.cols}};
}

Numbers packed_strides(const Numbers& shape) {
  Numbers strides(shape.size() - 1, 1);
  for (std::size_t dim = strides.size() - 1; dim-- > 0;) {
    strides[dim] = strides[dim + 1] * shape[dim + 1];
  }
  return strides;
}

/// One layout of a sweep, checked from every side.
void check(const MetalLayout& words, const Shape& shape, const std::vector<NaiveLine>& lines) {
  const std::string text = cat("tensor<", shape.to_string(), "xf32, ", write(words), ">");
  SCOPED_TRACE(text);
  const Tensor tensor = parsed(text);
  ASSERT_EQ(tensor.notation, "metal");
  EXPECT_TRUE(std::get<MetalLayout>(terms_of(tensor)).memref.shape == words.memref.shape);
  EXPECT_EQ(print_tensor(tensor), text);
  for (std::size_t line = 0; line < lines.size(); ++line) {
    EXPECT_EQ(words.memref.shape[line], lines[line].room());
  }
  check_places(tensor.layout(), lines);
  check_causes(tensor.layout(), lines, Cause::kTile, Cause::kGrid);
  check_raises(tensor.layout(), "metal");
}

void tried(std::string_view what, int count) {
  std::cout << "[    tried ] " << count << " " << what << "\n";
}

TEST(MetalSweep, Grids) {
  int count = 0;
  const std::vector<Numbers> shapes = {{5, 7}, {1, 9}, {12, 8}, {2, 3, 5}, {3, 1, 4}, {2, 2, 3, 2}};
  for (const Numbers& extents : shapes) {
    const Shape shape = shape_of(extents);
    for (std::int64_t rows = 1; rows <= 7; ++rows) {
      for (std::int64_t cols = 1; cols <= 5; ++cols) {
        const Atom element = Atom::scalar(DType::kF32);
        const MetalLayout words = make_metal(shape, {{0, -1}}, {rows, cols}, element, "l1").value();
        check(words, shape,
              rows_and_columns(extents, {rows, cols}, element, packed_strides(extents)));
        ++count;
      }
    }
  }
  tried("grids", count);
}

TEST(MetalSweep, RegriddingIsMakingAnew) {
  const Shape shape = shape_of({6, 5, 9});
  const Atom element = Atom::tile(4, 2, DType::kF32);
  const MetalLayout one = make_metal(shape, {{0, -1}}, {1, 1}, element, "dram").value();
  for (std::int64_t rows = 1; rows <= 31; ++rows) {
    for (std::int64_t cols = 1; cols <= 10; ++cols) {
      EXPECT_EQ(with_grid(one, shape, {rows, cols}).value(),
                make_metal(shape, {{0, -1}}, {rows, cols}, element, "dram").value());
    }
  }
}

TEST(MetalSweep, TilizeAndUntilize) {
  int count = 0;
  for (const Numbers& extents : {Numbers{6, 9}, Numbers{2, 3, 5}, Numbers{1, 1}}) {
    const Shape shape = shape_of(extents);
    for (const Numbers& grid : {Numbers{1, 1}, Numbers{3, 2}, Numbers{2, 4}}) {
      const Atom scalar = Atom::scalar(DType::kF32);
      const MetalLayout plain = make_metal(shape, {{0, -1}}, grid, scalar, "l1").value();
      for (std::int64_t rows = 1; rows <= 4; ++rows) {
        for (std::int64_t cols = 1; cols <= 5; ++cols) {
          const Atom tile = Atom::tile(rows, cols, DType::kF32);
          const MetalLayout tiled = with_element(plain, shape, tile).value();
          check(tiled, shape, rows_and_columns(extents, grid, tile, packed_strides(extents)));
          EXPECT_EQ(with_element(tiled, shape, scalar).value(), plain);
          ++count;
        }
      }
    }
  }
  tried("tiles", count);
}

// The tile of the hardware, with each element type: the tensor stays f32, the bytes are the tile's.
TEST(MetalSweep, TileTypes) {
  const std::vector<std::pair<DType, std::int64_t>> bytes = {
      {DType::kF32, 4096},   {DType::kBF16, 2048},   {DType::kF16, 2048},   {DType::kU16, 2048},
      {DType::kU8, 1024},    {DType::kBfpBf8, 1088}, {DType::kBfpBf4, 576}, {DType::kBfpBf2, 320},
      {DType::kBfpF8, 1088}, {DType::kBfpF4, 576},   {DType::kBfpF2, 320}};
  const Shape shape = shape_of({53, 63});
  for (const auto& [dtype, tile_bytes] : bytes) {
    const Atom tile = Atom::tile(32, 32, dtype);
    const MetalLayout words = make_metal(shape, {{0, -1}}, {3, 2}, tile, "l1").value();
    const Layout layout = lower(words, shape, DType::kF32).value();
    EXPECT_EQ(layout.shard_bytes(), tile_bytes);
    check_places(layout, rows_and_columns({53, 63}, {3, 2}, tile, {1}));
    check_raises(layout, "metal");
  }
}

// Every way in which a grid and a tile can fail to divide, and every bump of the batch stride.
TEST(MetalSweep, Padding) {
  int count = 0;
  for (std::int64_t extent = 0; extent <= 9; ++extent) {
    for (std::int64_t grid = 1; grid <= 4; ++grid) {
      for (std::int64_t tile = 1; tile <= 4; ++tile) {
        const Shape shape = shape_of({extent, 3});
        const Atom element = Atom::tile(tile, 2, DType::kF32);
        const MetalLayout words = make_metal(shape, {{0, -1}}, {grid, 1}, element, "l1").value();
        check(words, shape, rows_and_columns({extent, 3}, {grid, 1}, element, {1}));
        ++count;
      }
    }
  }
  for (std::int64_t multiple = 1; multiple <= 5; ++multiple) {
    for (std::int64_t grid = 1; grid <= 3; ++grid) {
      for (std::int64_t tile = 1; tile <= 4; ++tile) {
        const Numbers extents = {3, 3, 3};
        const Shape shape = shape_of(extents);
        const Atom element = Atom::tile(tile, tile, DType::kF32);
        MetalLayout words = make_metal(shape, {{0, -1}}, {grid, 1}, element, "l1").value();
        words = with_linear(words, shape, bump_stride(words.linear, 0, multiple).value()).value();
        const std::int64_t stride = ceil_of(3, multiple) * multiple;
        check(words, shape, rows_and_columns(extents, {grid, 1}, element, {stride, 1}));
        ++count;
      }
    }
  }
  tried("paddings", count);
}

/// The physical place of every virtual one, by the map's rule.
void check_device(std::string_view text, const std::function<Place(const Place&)>& physical) {
  SCOPED_TRACE(text);
  const Tensor tensor = parsed(text);
  ASSERT_EQ(tensor.notation, "metal");
  EXPECT_EQ(print_tensor(tensor), text);
  const Layout& layout = tensor.layout();
  for (std::int64_t number = 0; number < layout.places(); ++number) {
    const Place place = layout.mesh().delinear(number);
    const PhysicalPlace there = layout.spec().device_map.map(layout.mesh(), place);
    ASSERT_EQ(there.place, physical(place)) << bracketed(place);
    ASSERT_EQ(there.layer, 0);
  }
  check_round_trip(tensor);
  check_raises(layout, "metal");
}

std::string on_device(std::string_view grid, std::string_view memref, std::string_view device) {
  return cat("tensor<64x64xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <", grid,
             ">, memref<", memref, ", #tt.memory_space<l1>>, device = <", device, ">>>");
}

TEST(MetalSweep, VirtualGridsOnADevice) {
  check_device(on_device("1x64", "64x1xf32", "8x8, (d0, d1) -> (d1 floordiv 8, d1 mod 8)"),
               [](const Place& v) { return Place{v[1] / 8, v[1] % 8}; });
  check_device(on_device("64x1", "1x64xf32", "8x8, (d0, d1) -> (d0 mod 8, d0 floordiv 8)"),
               [](const Place& v) { return Place{v[0] % 8, v[0] / 8}; });
  check_device(on_device("8x8", "8x8xf32", "8x8, (d0, d1) -> (d1, d0)"),
               [](const Place& v) { return Place{v[1], v[0]}; });
  check_device(on_device("8x8", "8x8xf32", "8x8, (d0, d1) -> (d0, (d0 + d1) mod 8)"),
               [](const Place& v) { return Place{v[0], (v[0] + v[1]) % 8}; });
  check_device(on_device("4x4", "16x16xf32", "8x8, (d0, d1) -> (d0 + 2, d1 * 2)"),
               [](const Place& v) { return Place{v[0] + 2, v[1] * 2}; });
  check_device(on_device("4x4", "16x16xf32", "8x8, (d0, d1) -> (-d0 + 7, d1)"),
               [](const Place& v) { return Place{7 - v[0], v[1]}; });
  check_device(
      on_device("2x32", "32x2xf32", "8x8, (d0, d1) -> ((d0 * 32 + d1) floordiv 8, d1 mod 8)"),
      [](const Place& v) { return Place{(v[0] * 32 + v[1]) / 8, v[1] % 8}; });
  check_device(on_device("2x2", "32x32xf32", "3x4x4, (d0, d1) -> (1, d0, d1)"),
               [](const Place& v) { return Place{1, v[0], v[1]}; });
}

// Two devices of 2x4 cores: the batch is divided between them.
TEST(MetalSweep, SeveralDevices) {
  const std::string layout =
      "tensor<2x3x64x128xf32, #tt.metal_layout<(d0, d1, d2, d3) -> (d0, d1 * 64 + d2, d3), undef, "
      "<2x2x4>, memref<1x3x1x!tt.tile<32x32, bfp_bf8>, #tt.memory_space<l1>>, device = <";
  check_device(layout + "2x2x4, (d0, d1, d2) -> (d0, d1, d2)>>>", [](const Place& v) { return v; });
  check_device(layout + "4x4, (d0, d1, d2) -> (d0 * 2 + d1, d2)>>>",
               [](const Place& v) { return Place{v[0] * 2 + v[1], v[2]}; });
  check_device(layout + "2x8, (d0, d1, d2) -> (d1, d0 * 4 + d2)>>>",
               [](const Place& v) { return Place{v[1], v[0] * 4 + v[2]}; });
  const Layout devices = parsed(layout + "2x2x4, (d0, d1, d2) -> (d0, d1, d2)>>>").layout();
  Index index = {0, 0, 0, 0};
  do {
    ASSERT_EQ(devices.locate(index)->places[0][0], index[0]);  // one batch per device
  } while (devices.shape().next(index));
}

TEST(MetalSweep, GridsOfRankThree) {
  int count = 0;
  const Numbers extents = {2, 3, 4, 5};
  const Shape shape = shape_of(extents);
  for (std::int64_t a = 1; a <= 3; ++a) {
    for (std::int64_t b = 1; b <= 4; ++b) {
      for (std::int64_t c = 1; c <= 3; ++c) {
        for (const Atom& element : {Atom::scalar(DType::kF32), Atom::tile(4, 2, DType::kF32)}) {
          const MetalLayout words = make_metal(shape, {{1, -1}}, {a, b, c}, element, "l1").value();
          check(words, shape,
                {{[](const Index& x) { return x[0]; }, a, ceil_of(2, a), 1},
                 {[](const Index& x) { return x[1] * 4 + x[2]; }, b, ceil_of(12, b), element.rows},
                 {[](const Index& x) { return x[3]; }, c, ceil_of(5, c), element.cols}});
          ++count;
        }
      }
    }
  }
  tried("grids of rank 3", count);
}

}  // namespace
}  // namespace tessera::notation
