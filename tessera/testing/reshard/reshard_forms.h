// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "tessera/layout/layout.h"
#include "tessera/reshard/physical_mesh.h"
#include "tessera/testing/generate.h"

namespace tessera::test {

/// A mesh of a layout's own, and where its places are on the physical mesh.
struct Arrangement {
  Shape mesh;
  DeviceMap map;
};
/// Any arrangement on this physical mesh; `plain` ones need no device map.
Arrangement random_arrangement(Dice& dice, const Shape& physical, bool plain);

/// The shares that a side should keep, where an axis has room for them.
struct WantedShares {
  std::int64_t count = 1;
  Reduction reduction = Reduction::kSum;
};

/// A rule for `shape` on `mesh`: dims in blocks or dealt out over axes, over both axes, or kept
/// whole; what is left of the axes is replicated, fixed or unused. Memory digits in any order, with
/// gaps and padding. Well-formed, and digits do not meet.
Form random_mesh_form(Dice& dice, const Shape& shape, const Shape& mesh,
                      const WantedShares& shares);

}  // namespace tessera::test
