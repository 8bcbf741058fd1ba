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

/// The metal layout attribute of tt-mlir as the seed has it:
///
///     #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>,
///                      memref<1x1x!tt.tile<32x32, bfp_bf8>, #tt.memory_space<l1>>>
///
/// The rule. Each result of `linear` is a line of length map(N-1)+1; the grid cuts it into
/// ceil(extent / grid) long shards; tiles cut the last two lines of each shard again. The memref is
/// what follows: ceil(shard / tile). One that says otherwise is kContradiction.
///
/// Behind the memref may stand a memory layout (`, block_sharded`), and where the grid is on a
/// device, which tt-mlir keeps elsewhere: `, device = <8x8, (d0, d1) -> (d1, d0)>`.
///
/// Slots run row-major over the memref, and row-major inside a tile. Example: 53x63 on 3x2 in 32x32
/// tiles puts element (40, 33) on place (2, 1), in row 4, column 1 of its only tile: slot 129.
struct MetalLayout {
  AffineMap linear;
  PaddingValue oob;  ///< undef, zero, one, inf or neginf
  std::vector<std::int64_t> grid;
  MemRef memref;               ///< its space may be unsaid
  std::string dialect = "tt";  ///< "tt" or "ttcore"
  /// Where the virtual grid is: one-to-one, one result a device axis.
  struct Device {
    std::vector<std::int64_t> physical;
    AffineMap map;
    friend bool operator==(const Device&, const Device&) = default;
  };
  std::optional<Device> device;
  std::string memory_layout;  ///< "block_sharded", ..: kept, decides nothing; empty when unsaid
  friend bool operator==(const MetalLayout&, const MetalLayout&) = default;
};

Result<Layout> lower(const MetalLayout& words, const Shape& shape, DType dtype);
/// Law: lower(*raise_metal(l), l.shape(), l.dtype()) is the same function as l, with the same
/// slots, atom, device places, padding value and space. Else kNotSupported with the reason.
Result<MetalLayout> raise_metal(const Layout& layout);
std::string write(const MetalLayout& words);

/// Half-open ranges of dims that are collapsed into one line each; negative ends count from the
/// rank.
using CollapseIntervals = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// The intervals in rising order, with every dim that none names as an interval of its own; empty
/// ones vanish. kOutOfRange for an end outside the rank, and for two that share a dim.
/// Example: [(1, -1)] on rank 4 is [(0, 1), (1, 3), (3, 4)].
Result<CollapseIntervals> every_interval(const CollapseIntervals& intervals, std::size_t rank);

/// The map that collapses these intervals of a shape and keeps every other dim as its own line.
/// Example: [(0, 3), (-3, -1)] on rank 7 is (d0<>d1<>d2, d3, d4<>d5, d6).
Result<AffineMap> collapse(const Shape& shape, const CollapseIntervals& intervals);

/// The map with the stride of `dim` rounded up to a multiple, and the strides of the dims that are
/// collapsed outside of it stretched alike, so that each step of `dim` begins a new tile.
/// Example: (d0 * 8 + d1, d2) with d0 bumped to 32 is (d0 * 32 + d1, d2).
Result<AffineMap> bump_stride(const AffineMap& linear, int dim, std::int64_t multiple);

/// ceil(extent / grid) of every line, in elements.
Result<std::vector<std::int64_t>> metal_shard(const AffineMap& linear, const Shape& shape,
                                              const std::vector<std::int64_t>& grid);
/// The memref's shape that follows: ceil(shard / tile) in the last two lines.
Result<std::vector<std::int64_t>> metal_memref(const AffineMap& linear, const Shape& shape,
                                               const std::vector<std::int64_t>& grid,
                                               const Atom& element);

/// The attribute for a tensor: collapse, divide by the grid, tile if `element` is a tile.
Result<MetalLayout> make_metal(const Shape& shape, const CollapseIntervals& intervals,
                               const std::vector<std::int64_t>& grid, const Atom& element,
                               std::string_view space);

/// The same tensor on another grid, tilized or untilized, or with another map: the memref is
/// derived again.
Result<MetalLayout> with_grid(const MetalLayout& words, const Shape& shape,
                              const std::vector<std::int64_t>& grid);
Result<MetalLayout> with_element(const MetalLayout& words, const Shape& shape, const Atom& element);
Result<MetalLayout> with_linear(const MetalLayout& words, const Shape& shape,
                                const AffineMap& linear);

/// What `show` tells under "metal".
struct MetalFacts {
  std::string linear;                                    ///< the map, "(d0, d1) -> (d0, d1)"
  std::optional<CollapseIntervals> collapsed_intervals;  ///< nothing when the map is no collapse
  std::vector<std::int64_t> grid;
  std::string memref;
  std::vector<std::int64_t> shard_shape;  ///< elements a place before tiling
};
Result<MetalFacts> facts_of(const MetalLayout& words, const Shape& shape);

}  // namespace tessera::notation
