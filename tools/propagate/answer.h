// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/ops/propagate.h"
#include "tessera/ops/scratch.h"
#include "tessera/ops/shares.h"
#include "tools/json/json.h"
#include "tools/propagate/ask.h"
#include "tools/terminal/terminal.h"

namespace tessera::tools {

/// What the verb answers.
struct Propagated {
  ops::Answer answer;
  std::vector<ops::Share> shares;     ///< if legal
  std::string no_shares;              ///< why there are none although it is legal
  std::vector<ops::Scratch> scratch;  ///< if legal
  /// With a machine whose kernels are known: the predicate that allows or refuses the call, what
  /// its kernels bring of each input, and what they are called.
  std::string rule;
  std::vector<std::string> brought;
  std::string family;
};

/// The fields are those of docs/propagate.md.
Json propagated_json(const Asked& asked, const Propagated& propagated);
std::string propagated_text(const Asked& asked, const Propagated& propagated,
                            const Terminal& terminal);

/// A layout in the notation of the operand that was given first, or in native notation where that
/// cannot express it. Layouts that were given print as they were written.
std::string tensor_text(const Asked& asked, const Layout& layout);

}  // namespace tessera::tools
