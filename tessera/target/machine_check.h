// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "tessera/base/result.h"
#include "tessera/target/machine.h"

namespace tessera::target {

/// What is wrong with one field of a machine. The path is that of the field in the JSON of
/// `to_json`, so that a JSON reader can point at it.
struct Problem {
  ErrorCode code = ErrorCode::kBadTarget;
  std::string path;     ///< "/memory/0/bytes"
  std::string message;  ///< "expected a number of at least 1, found 0"
  std::string help = {};
};

/// The first field, in description order, that violates a rule of `Machine::check`.
std::optional<Problem> first_problem(const Machine& machine);

// Parts of it. Those of memory and of what follows take a mesh without a problem.
std::optional<Problem> check_mesh(const Machine& machine);
std::optional<Problem> check_gateways(const Machine& machine);  ///< part of check_mesh
std::optional<Problem> check_memory(const Machine& machine);

/// Whether the JSON of a level has `links` instead of `networks`: its only network has no name.
inline bool has_links(const MeshLevel& level) {
  return level.networks.size() == 1 && level.networks[0].name.empty();
}

}  // namespace tessera::target
