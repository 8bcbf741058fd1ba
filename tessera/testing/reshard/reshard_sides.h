// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tessera/layout/placement.h"
#include "tessera/reshard/physical_mesh.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/reshard/reshard_forms.h"

namespace tessera::test {

/// One side of a pair: a layout, a view (a slice, transpose or repetition, or places and copies
/// that overlap), or boxes with separate layouts. Nothing when the random choices give none.
std::optional<Placement> random_side(Dice& dice, const Shape& shape, DType dtype,
                                     const reshard::PhysicalMesh& physical,
                                     const WantedShares& shares);

/// A small change of `other`: axes exchanged, other places, other fills, another order in memory.
std::optional<Placement> related_side(Dice& dice, const Placement& other,
                                      const reshard::PhysicalMesh& physical);

}  // namespace tessera::test
