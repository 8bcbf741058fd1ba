// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "tessera/layout/layout.h"
#include "tessera/layout/view.h"

namespace tessera::notation {

/// What a notation of plain scalars on one place cannot express, if anything: a mesh, a partial
/// result, a tile or another storage type, a padding value, a memory space, a device map.
/// Example: "a mesh of 6 places".
std::optional<std::string> beyond_plain_memory(const LayoutSpec& spec);
std::optional<std::string> beyond_plain_memory(const View& view);

/// The same without the mesh, for notations that have a mesh. The atoms must be of type `storage`.
std::optional<std::string> beyond_plain_storage(const LayoutSpec& spec, DType storage);

}  // namespace tessera::notation
