// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"
#include "tessera/layout/regions.h"
#include "tessera/ops/halo_exchange.h"
#include "tessera/ops/supply.h"

namespace tessera::run {

/// Elements that a place holds at plain strides: element x is in slot first + Σ (x -
/// box.from)·step.
struct LocalBox {
  Box box;
  std::int64_t first = 0;
  std::vector<std::int64_t> steps;  ///< per dim, in slots
};

/// What a place holds, as disjoint boxes.
/// Law: x is in a box with slot s ⇔ the place is one of those of locate(x), and s is its slot.
/// Errors: those of tile_of.
Result<std::vector<LocalBox>> local_boxes(const Layout& layout, const Place& place);

/// A buffer of blocks with the halos around them, as ops::halo_exchange fills it.
struct Extended {
  Layout operand;                ///< the blocks without halos
  std::vector<ops::Halo> halos;  ///< per dim
  std::vector<ops::HaloPart> parts;
};
/// What a place has there: its block with its halos, which is one box; none on places without
/// either.
Result<std::vector<LocalBox>> local_boxes(const Extended& extended, const Place& place);

}  // namespace tessera::run
