// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/base/result.h"
#include "tools/command/command.h"

namespace tessera::tools {

/// Answers `tessera diff A B --from I,J --counts N,M [--steps S,T]`: for each element of the
/// window, what becomes of it between A and B, and the places that hold it (changes.h).
/// Errors: those of the window; kTooLarge for elements with more than 64 replicas.
Result<Verdict> diff_window(const Request& request, Console& console);

}  // namespace tessera::tools
