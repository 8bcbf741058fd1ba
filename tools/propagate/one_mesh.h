// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"
#include "tessera/notation/tensor.h"

namespace tessera::tools {

/// The layouts of tensors on one mesh with one device map, where the same place of the machine is
/// the same coordinate. Tensors on equal meshes stay as they are.
///
///   all places are coordinates   coordinates stay, on the smallest mesh that has them all; what is
///                                on one place alone is on the first
///   some are device numbers      every place is its number, as notation/same_places.h says
///
/// Law: the places of an element in the answer are those of same_places.
/// Example: rows over pyflame.RowPartition(4) and columns over pyflame.ColPartition(4) are on a 4x4
/// mesh: rows on [r, 0], columns on [0, c].
///
/// Errors: kNotSupported for a tensor without a single layout (views, pieces); kMeshMismatch for
/// different device maps.
Result<std::vector<Layout>> on_one_mesh(const std::vector<const Tensor*>& tensors);

/// The layouts of tensors, each on its own mesh. kNotSupported as above.
Result<std::vector<Layout>> on_own_meshes(const std::vector<const Tensor*>& tensors);

}  // namespace tessera::tools
