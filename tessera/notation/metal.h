// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"
#include "tessera/notation/affine_map.h"
#include "tessera/notation/memref.h"

namespace tessera {

/// The metal layout attribute of tt-mlir as the seed has it:
///
///     #tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>,
///                      memref<1x1x!tt.tile<32x32, bfp_bf8>, #tt.memory_space<l1>>>
///
/// The rule. Each result of `linear` is a line of length map(N-1)+1; the grid cuts it into
/// ceil(extent / grid) long shards; tiles cut the last two lines of each shard again. The memref is
/// what follows: ceil(shard / tile). One that says otherwise is kContradiction.
struct MetalLayout {
  AffineMap linear;
  PaddingValue oob;
  std::vector<std::int64_t> grid;
  MemRef memref;
  std::string dialect = "tt";  ///< "tt" or "ttcore"
  /// Where the virtual grid is on the device: `device = <8x8, (d0, d1) -> (d1 floordiv 8, d1 mod
  /// 8)>`
  struct Device {
    std::vector<std::int64_t> physical;
    AffineMap map;
    friend bool operator==(const Device&, const Device&) = default;
  };
  std::optional<Device> device;
  friend bool operator==(const MetalLayout&, const MetalLayout&) = default;
};

Result<Layout> lower(const MetalLayout& words, const Shape& shape, DType dtype);
Result<MetalLayout> raise_metal(const Layout& layout);
std::string write(const MetalLayout& words);

/// Half-open ranges of dims that are collapsed into one line each; negative ends count from the
/// rank.
using CollapseIntervals = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// The map that collapses these intervals of a shape and keeps every other dim as its own line.
/// Example: [(0, 3), (-3, -1)] on rank 7 is (d0<>d1<>d2, d3, d4<>d5, d6).
Result<AffineMap> collapse(const Shape& shape, const CollapseIntervals& intervals);

/// The attribute for a tensor: collapse, divide by the grid, tile if `element` is a tile.
Result<MetalLayout> make_metal(const Shape& shape, const CollapseIntervals& intervals,
                               const std::vector<std::int64_t>& grid, const Atom& element,
                               std::string_view space);

/// The same tensor on another grid, tilized, or untilized: the memref is derived again.
Result<MetalLayout> with_grid(const MetalLayout& words, const Shape& shape,
                              const std::vector<std::int64_t>& grid);
Result<MetalLayout> with_element(const MetalLayout& words, const Shape& shape, const Atom& element);

}  // namespace tessera
