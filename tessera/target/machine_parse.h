// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "tessera/target/json_fields.h"
#include "tessera/target/machine.h"

/// Parts of parse_machine. Each reads one object of a JSON tree; whether its figures make sense is
/// for machine_check.h.
namespace tessera::target {

/// The keys of an object.
template <std::size_t kCount>
using Keys = std::array<std::string_view, kCount>;

Status read_level(const JsonNode& node, const std::string& path, MeshLevel& out);
Status read_space(const JsonNode& node, const std::string& path, MemorySpace& out);

}  // namespace tessera::target
