// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tessera/reshard/collectives/collective.h"
#include "tessera/reshard/collectives/place_facts.h"

namespace tessera::reshard {

/// Grids that may describe the places of both sides. Each covers the range of coordinates that the
/// sides use along each mesh axis, and divides it where the moves of a factor, copies or shares
/// suggest it: moves {0, 4} and {0, 1, 2, 3} divide an axis of 8 into 2 x 4. The last places of a
/// grid may lie beyond the mesh; who uses them must check it.
///
/// Divisions that do not nest (12 places as 3 x 4 and as 4 x 3) give several grids, as do ranges
/// that may begin at several coordinates; at most 256.
std::vector<PlaceGrid> grids_of(const PlaceFacts& facts);

}  // namespace tessera::reshard
