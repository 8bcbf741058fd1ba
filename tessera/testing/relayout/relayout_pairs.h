// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "tessera/layout/placement.h"
#include "tessera/testing/generate.h"

/// Random placements of one tensor, of the kinds that users move between: dims in any order, tiles,
/// sticks, interleaves, block-cyclic distributions, shards, flips, slices and broadcasts. More
/// irregular layouts come from generate.h; these are larger, so that kernels process whole blocks
/// and edges.

/// Random pairs of placements of one tensor that store it in two types, for moves that cast.
namespace tessera::test {

/// A shape of rank 0 to 6 with at most `most` elements (a few more for rank 0 and 1): long and
/// short dims, odd and even ones, occasionally an empty one.
Shape relayout_shape(Dice& dice, std::int64_t most);

/// Every dim cut into digits, the digits in some order in memory or distributed over places; counts
/// round up, so there is padding; sometimes gaps between rows, replicas, a promised padding value.
/// Slots of all places together stay below 6 times the elements, plus a few hundred.
Layout blocked_layout(Dice& dice, const Shape& shape, DType dtype);

/// A layout as above; or a view: a slice of a larger tensor by any step, a transpose; or boxes with
/// separate layouts. Sources may repeat elements (stride 0), destinations may not.
Placement random_source(Dice& dice, const Shape& shape, DType dtype);
Placement random_destination(Dice& dice, const Shape& shape, DType dtype);

/// A move that has a special kernel, with sizes from one element to blocks and their edges, at most
/// `most` elements: 2-D and batched transposes, permutations of up to 6 dims, tiles and sticks and
/// back, channels last and first, few channels, block-cyclic distributions with different blocks.
/// Rows are sometimes longer than necessary.
std::pair<Placement, Placement> kernel_pair(Dice& dice, std::int64_t most, DType dtype);

/// A type of 1, 2, 4 or 8 bytes, or 4 or 2 bits.
DType relayout_dtype(Dice& dice);

/// Any type, with a preference for the common ones and those whose elements have no separate
/// address.
DType random_storage(Dice& dice);

/// 32x32 tiles as machines store block floats: tiles by rows or columns, elements in a tile
/// likewise, shards of several tiles on places, replicas, a padding value. Shapes of any rank.
Layout tiled_layout(Dice& dice, const Shape& shape, DType storage);

/// Tiles, blocks and irregular layouts of at most about `most` elements, views of them, boxes; any
/// type on either side. Nothing when the random choices give no pair.
std::optional<std::pair<Placement, Placement>> typed_pair(Dice& dice, std::int64_t most);

/// A destination of block floats that is written in whole tiles, from any other placement.
std::pair<Placement, Placement> whole_tiles_pair(Dice& dice);

}  // namespace tessera::test
