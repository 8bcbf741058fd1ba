// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"
#include "tessera/layout/padding.h"
#include "tessera/layout/regions.h"

namespace tessera {

/// Places whose memory holds data in exactly the same slots: interior, last row, last column,
/// corner, empty.
struct PlaceClass {
  std::vector<PlaceSet> sets;  ///< disjoint; rectangles if the class consists of rectangles
  std::int64_t places = 0;
  std::int64_t elements = 0;      ///< held on each place of the class
  std::int64_t needed_slots = 0;  ///< one past the last slot that holds data
};

/// Law: every place of the mesh is in exactly one set; two places are in one class ⇔ the same slots
/// hold data (and the rest is padding). Classes with data come first, the empty class last. The
/// cost grows with the number of classes, not of places. Entangled folds (unplaced digits, dims in
/// two folds) are visited element by element, up to 2^22 elements; kTooLarge beyond.
Result<std::vector<PlaceClass>> place_classes(const Layout& layout);

/// What one place holds.
struct Tile {
  std::int64_t elements = 0;
  std::int64_t needed_slots = 0;     ///< one past the last slot that holds data
  std::int64_t allocated_slots = 0;  ///< the same on every place
  std::vector<Box> boxes;            ///< disjoint, in no particular order; their union is the tile
};

/// Law: x is in a box of tile_of(q)  ⇔  q is one of the places of locate(x).
/// Error kTooLarge for a tile of more than 2^20 boxes.
Result<Tile> tile_of(const Layout& layout, const Place& place);

}  // namespace tessera
