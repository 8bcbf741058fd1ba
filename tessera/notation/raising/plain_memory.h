// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tessera/layout/layout.h"
#include "tessera/layout/view.h"
#include "tessera/notation/raising/refusal.h"

namespace tessera::notation {

/// What a notation of plain scalars on one place cannot express, if anything: a mesh, a partial
/// result, a tile or another storage type, a padding value, a memory space, a device map.
/// Example: "a mesh of 6 places", with the reason mesh_rank.
std::optional<Obstacle> beyond_plain_memory(const LayoutSpec& spec);
std::optional<Obstacle> beyond_plain_memory(const View& view);

/// Partial results, copies and tiles as obstacles. The fill is the one that repeats.
Obstacle partial_result(const Fill& fill);
Obstacle replicated(const Fill& fill);
Obstacle tiles(const Atom& atom);
Obstacle stored_as(const LayoutSpec& spec, DType expected);
Obstacle padding_value();
Obstacle memory_space(const std::string& space);
Obstacle device_map();
Obstacle mesh_rank(std::string_view words, const Shape& mesh, std::size_t least, std::size_t most);

/// The same without the mesh, for notations that have a mesh. The atoms must be of type `storage`.
std::optional<Obstacle> beyond_plain_storage(const LayoutSpec& spec, DType storage);

}  // namespace tessera::notation
