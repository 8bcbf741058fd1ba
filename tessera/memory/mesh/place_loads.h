// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/layout/placement.h"
#include "tessera/layout/regions.h"

namespace tessera::memory {

/// Bytes on each place of a box of mesh coordinates.
struct PlaceLoad {
  Box places;
  std::int64_t bytes = 0;  ///< at least 0
};

struct FullestPlace {
  std::int64_t bytes = 0;  ///< saturated
  Place place;             ///< the first that has so much; empty without loads
};

/// The most bytes that these loads put on one place. All boxes are on meshes of one rank.
/// Law: for every place, the sum of the loads whose boxes contain it is at most `bytes`; on `place`
/// it is `bytes`. Empty boxes and loads of 0 bytes do not count.
/// Example: 5 bytes on [0, 4) x [0, 2) and 3 on [2, 6) x [1, 9): 8, on place [2, 1].
FullestPlace fullest_place(std::span<const PlaceLoad> loads);

/// The same among the places of a box.
FullestPlace fullest_place_in(const Box& within, std::span<const PlaceLoad> loads);

}  // namespace tessera::memory
