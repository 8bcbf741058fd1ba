// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tessera/layout/placement.h"

namespace tessera::notation {

/// The placement, then the same on other meshes whose places have the same numbers: on one axis; on
/// one axis per digit of the place numbers; and on that one axis beside an axis of length 1.
/// Notations have meshes of their own ranks, and what cannot be said on one mesh often can be on
/// another.
/// Law: place p of each is the place of the same number, counted row-major, of the first (through
/// its device map).
/// Example: 4x2 tiles on a mesh of 8 devices are also 4x2 tiles on a mesh of 4x2.
std::vector<Placement> on_other_meshes(const Placement& placement);

}  // namespace tessera::notation
