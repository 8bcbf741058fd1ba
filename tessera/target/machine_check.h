// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "tessera/base/error.h"
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

}  // namespace tessera::target
