// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tessera/moves/price.h"
#include "tools/json/json.h"

namespace tessera::tools {

/// Adds `space_a`, `space_b`, `steps`, `algorithms`, `missing` and `assumed` to an answer.
void add_steps_json(const moves::Move& move, const Machine& machine, Json& json);

/// The steps as lines of text: each with its time and what dominates it, then the total, the other
/// algorithms, what is missing and what is assumed.
std::vector<std::string> steps_lines(const moves::Move& move, const Machine& machine);

/// An endpoint as printed with --pairs: the coordinates of a place, {"space", "bank"} of a bank, or
/// {"space"} of a shared memory.
Json endpoint_json(const Machine& machine, std::int64_t endpoint);

}  // namespace tessera::tools
