// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "tessera/layout/placement.h"
#include "tessera/testing/generate.h"

/// Random pairs of placements of one tensor that store it in two types, for moves that cast.
namespace tessera::test {

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
