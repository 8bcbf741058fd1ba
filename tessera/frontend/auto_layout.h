// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/graph/op.h"
#include "tessera/pyflame/mesh_layout.h"
#include "tessera/target/machine.h"

namespace tessera::frontend {

/// PyFlame's `Layout.auto`: the layout that eval gives a tensor that has none, if it fits, in
/// PyFlame's terms: the last two dims in tiles of at most 4096 elements, halved along the longer
/// side. A small tensor is on a single PE. Errors: kDoesNotFit where the smallest tile is larger
/// than the memory of a PE that is for data; kNotSupported for a machine that is no grid of PEs.
/// Example: f32[1024, 512] on wse2: Grid(16, 8), tiles of 64x64.
Result<pyflame::MeshLayout> auto_layout(const graph::TensorType& type, const Machine& machine);

}  // namespace tessera::frontend
