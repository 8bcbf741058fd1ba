// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "tools/reshard_answer.h"
#include "tools/terminal.h"

namespace tessera::tools {

/// The answer as one JSON object on one line. What needs routes is null where they are not known,
/// and `simulated_cycles` where nothing was simulated.
void print_reshard_json(const ReshardAnswer& answer, std::ostream& out);

/// The answer in words, with the heat map where there is one; pairs beyond the first 32 are only
/// counted.
void print_reshard_words(const ReshardAnswer& answer, std::ostream& out, const Terminal& terminal);

}  // namespace tessera::tools
