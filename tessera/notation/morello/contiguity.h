// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/notation/morello/morello.h"

namespace tessera::notation {

/// How a tile, a box of a tensor, is stored in the tensor's buffer. A reported run is always a real
/// run.
struct TileContiguity {
  /// The tile's slots are one run, with its elements in any order.
  bool contiguous = true;
  /// The number of innermost physical dims that are contiguous: the largest number for which the
  /// slots that agree in all other physical dims are one run. It is the number of all physical dims
  /// ⇔ `contiguous`.
  std::size_t dims = 0;
  /// The greatest common divisor of the lengths of those runs: the tile consists of pieces of this
  /// many consecutive slots. 0 for an empty tile.
  std::int64_t run = 0;
  friend bool operator==(const TileContiguity&, const TileContiguity&) = default;
};

/// The contiguity of the tile of this shape whose first element is `origin`.
/// Example: 6x8 as morello[(1, Dynamic), (0, Dynamic), (1, Packed(4))]: the 6x4 tile at [0, 4] is
/// one run of 24; the 2x3 tile at [0, 0] is two runs of 3, so one dim and a run of 3.
Result<TileContiguity> tile_contiguity(const MorelloLayout& words, const Shape& shape,
                                       const Shape& tile, const Index& origin);

/// The contiguity that all tiles at multiples of the tile's shape have; tiles at the far edges are
/// cut off.
/// Example: columns in packs of 4, tiles of 1x3: the one at column 0 is a run of 3, but the one at
/// column 3 has a slot in one pack and two in the next. So: not contiguous, and a run of 1.
///
/// A tile that neither divides a pack nor is a multiple of it is stored differently at different
/// positions, which are examined one by one: kTooLarge for more than 4096 positions along a dim.
Result<TileContiguity> tile_contiguity(const MorelloLayout& words, const Shape& shape,
                                       const Shape& tile);

}  // namespace tessera::notation
