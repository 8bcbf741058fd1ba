// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"
#include "tessera/notation/mlir/affine_map.h"

namespace tessera::notation {

/// One line of a metal layout: a value computed from the index, cut into shards over one grid axis;
/// each shard is stored in tiles. Both attributes (metal and metal_today) are lists of such lines.
struct MetalLine {
  AffineResult value;
  std::int64_t grid = 1;   ///< places on this axis
  std::int64_t shard = 0;  ///< elements per place
  std::int64_t tile = 1;   ///< elements per tile along this line
  std::int64_t atoms = 0;  ///< tiles (or elements) allocated per place: ceil(shard / tile)
};

/// The layout's folds: one per line, placed on the grid axis of the same number and row-major over
/// the atoms. `past_the_end` is the cause of slots after the last element of a line.
Result<LayoutSpec> metal_spec(const Shape& shape, DType dtype, const Atom& element,
                              const std::vector<MetalLine>& lines, Cause past_the_end);

/// How many elements a tile of `element` spans along line `line` of `lines`: only the last two are
/// tiled.
std::int64_t tile_extent(const Atom& element, std::size_t line, std::size_t lines);

/// "1 line", "2 lines".
std::string counted(std::size_t count, std::string_view noun);

/// "53x63", and "a scalar" for rank 0.
std::string say_shape(const std::vector<std::int64_t>& extents);

}  // namespace tessera::notation
