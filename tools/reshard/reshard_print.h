// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "tools/json/json.h"
#include "tools/reshard/reshard_answer.h"
#include "tools/terminal/terminal.h"

namespace tessera::tools {

/// The answer as one JSON object on one line. Fields that need routes are null where routes are
/// unknown, and `simulated_cycles` is null where nothing was simulated.
void print_reshard_json(const ReshardAnswer& answer, std::ostream& out);

/// The answer as text, with the heat map where there is one; pairs beyond the first 32 are only
/// counted.
void print_reshard_text(const ReshardAnswer& answer, std::ostream& out, const Terminal& terminal);

/// "53 bytes", "4 MB (4194304 bytes)".
std::string bytes_text(std::int64_t bytes);

/// The new places of B: the traffic before and after, and the tensor.
Json relabel_json(const reshard::Relabelled& relabelled);
void print_relabelled(const reshard::Relabelled& relabelled, std::ostream& out,
                      const Terminal& terminal);

}  // namespace tessera::tools
