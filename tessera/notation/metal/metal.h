// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"
#include "tessera/notation/mlir/affine_map.h"
#include "tessera/notation/mlir/memref.h"

namespace tessera::notation {

/// The metal layout attribute of the tt-mlir layout specification. Text comes in; a layout on the
/// grid goes out.
///
///     #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>,
///                      memref<1x1x!tt.tile<32x32, bfp_bf8>, #tt.memory_space<l1>>>
///
/// The rule. Each result of `linear` is a line of length map(N-1)+1. The grid cuts it into shards
/// of length ceil(extent / grid). Tiles cut the last two lines of each shard again. The memref's
/// shape follows from this: ceil(shard / tile). Another shape is kContradiction.
///
/// A memory layout may follow the memref (`, block_sharded`), and then the position of the grid on
/// a device, which tt-mlir keeps elsewhere: `, device = <8x8, (d0, d1) -> (d1, d0)>`.
///
/// Slots run row-major over the memref, and row-major inside a tile. Example: 53x63 on 3x2 in 32x32
/// tiles puts element (40, 33) on place (2, 1), in row 4, column 1 of its only tile: slot 129.
struct MetalLayout {
  AffineMap linear;
  PaddingValue oob;  ///< undef, zero, one, inf or neginf
  std::vector<std::int64_t> grid;
  MemRef memref;               ///< its space may be absent
  std::string dialect = "tt";  ///< "tt" or "ttcore"
  /// Where the virtual grid is on the device: one-to-one, one result per device axis.
  struct Device {
    std::vector<std::int64_t> physical;
    AffineMap map;
    friend bool operator==(const Device&, const Device&) = default;
  };
  std::optional<Device> device;
  std::string memory_layout;  ///< "block_sharded", ..: kept, has no effect; empty if absent
  friend bool operator==(const MetalLayout&, const MetalLayout&) = default;
};

Result<Layout> lower(const MetalLayout& words, const Shape& shape, DType dtype);
/// Law: lower(*raise_metal(l), l.shape(), l.dtype()) is the same function as l, with the same
/// slots, atom, device places, padding value and space. Otherwise kNotSupported with the reason.
Result<MetalLayout> raise_metal(const Layout& layout);
std::string write(const MetalLayout& words);

/// Half-open ranges of dims that are collapsed into one line each; negative ends count from the
/// rank.
using CollapseIntervals = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// The intervals in increasing order. Every dim that is in no interval becomes an interval of its
/// own; empty intervals are dropped. kOutOfRange for an end outside the rank, and for two intervals
/// that share a dim.
/// Example: [(1, -1)] on rank 4 is [(0, 1), (1, 3), (3, 4)].
Result<CollapseIntervals> every_interval(const CollapseIntervals& intervals, std::size_t rank);

/// The map that collapses these intervals of a shape and keeps every other dim as a separate line.
/// Example: [(0, 3), (-3, -1)] on rank 7 is (d0<>d1<>d2, d3, d4<>d5, d6).
Result<AffineMap> collapse(const Shape& shape, const CollapseIntervals& intervals);

/// The map with the stride of `dim` rounded up to a multiple, so that each step of `dim` begins a
/// new tile. The strides of the dims that are collapsed outside of `dim` grow accordingly.
/// Example: (d0 * 8 + d1, d2) with d0 bumped to 32 is (d0 * 32 + d1, d2).
Result<AffineMap> bump_stride(const AffineMap& linear, int dim, std::int64_t multiple);

/// ceil(extent / grid) of every line, in elements.
Result<std::vector<std::int64_t>> metal_shard(const AffineMap& linear, const Shape& shape,
                                              const std::vector<std::int64_t>& grid);
/// The resulting shape of the memref: ceil(shard / tile) in the last two lines.
Result<std::vector<std::int64_t>> metal_memref(const AffineMap& linear, const Shape& shape,
                                               const std::vector<std::int64_t>& grid,
                                               const Atom& element);

/// The attribute for a tensor: collapse, divide by the grid, tile if `element` is a tile.
Result<MetalLayout> make_metal(const Shape& shape, const CollapseIntervals& intervals,
                               const std::vector<std::int64_t>& grid, const Atom& element,
                               std::string_view space);

/// The same tensor on another grid, tilized or untilized, or with another map. The memref is
/// recomputed.
Result<MetalLayout> with_grid(const MetalLayout& words, const Shape& shape,
                              const std::vector<std::int64_t>& grid);
Result<MetalLayout> with_element(const MetalLayout& words, const Shape& shape, const Atom& element);
Result<MetalLayout> with_linear(const MetalLayout& words, const Shape& shape,
                                const AffineMap& linear);

/// What `show` prints under "metal".
struct MetalFacts {
  std::string linear;                                    ///< the map, "(d0, d1) -> (d0, d1)"
  std::optional<CollapseIntervals> collapsed_intervals;  ///< nullopt when the map is not a collapse
  std::vector<std::int64_t> grid;
  std::string memref;
  std::vector<std::int64_t> shard_shape;  ///< elements per place, before tiling
};
Result<MetalFacts> facts_of(const MetalLayout& words, const Shape& shape);

}  // namespace tessera::notation
