// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/base/result.h"
#include "tools/command/command.h"

namespace tessera::tools {

/// Answers `tessera diff A B --from I,J --counts N,M [--steps S,T]`: for each element of the
/// window, what becomes of it between A and B, and the row-major numbers of a place that holds it
/// in A and of one that holds it in B, on the smallest mesh that has the places of both.
///
///   stays       the same slot of the same places
///   reordered   every place that holds it in B holds it in A, but the slot or the places differ
///   moves       some place of B lacks it in A; of a partial sum, has another share in A
///
/// Law: no element of the whole tensor is other than `stays` ⇔ diff answers equal.
/// Errors: those of the window; kTooLarge for elements with more than 64 replicas.
Result<Verdict> diff_window(const Request& request, Console& console);

}  // namespace tessera::tools
