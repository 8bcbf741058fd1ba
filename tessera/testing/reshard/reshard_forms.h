// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "tessera/layout/layout.h"
#include "tessera/layout/placement.h"
#include "tessera/reshard/reshard.h"
#include "tessera/testing/generate.h"

namespace tessera::test {

/// A layout's own mesh, and the positions of its places on the physical mesh.
struct Arrangement {
  Shape mesh;
  DeviceMap map;
};
/// Any arrangement on this physical mesh; `plain` ones need no device map.
Arrangement random_arrangement(Dice& dice, const Shape& physical, bool plain);

/// The shares that a side should have, where an axis has enough places for them.
struct WantedShares {
  std::int64_t count = 1;
  Reduction reduction = Reduction::kSum;
};

/// A rule for `shape` on `mesh`: dims in blocks or cyclic over axes, over both axes, or kept whole;
/// the remaining axes are replicated, fixed or unused. Memory digits in any order, with gaps and
/// padding. Well-formed, and digits do not overlap.
Form random_mesh_form(Dice& dice, const Shape& shape, const Shape& mesh,
                      const WantedShares& shares);

/// One side of a pair: a layout, a view (a slice, transpose or repetition, or places and copies
/// that overlap), or boxes with separate layouts. Nothing when the random choices give none.
std::optional<Placement> random_side(Dice& dice, const Shape& shape, DType dtype,
                                     const reshard::PhysicalMesh& physical,
                                     const WantedShares& shares);

/// A small change of `other`: axes exchanged, other places, other fills, another order in memory.
std::optional<Placement> related_side(Dice& dice, const Placement& other,
                                      const reshard::PhysicalMesh& physical);

}  // namespace tessera::test
