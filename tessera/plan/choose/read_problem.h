// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "tessera/plan/choose/problem.h"

namespace tessera::choose {

/// The problem that a JSON text describes:
///
///     {"problem": {"nodes": {"intervals": [[0, 4], [2, 6]], "costs": [[5, 1], [0, 2]],
///                            "usages": [[4, 8], [5, 1]]},
///                  "edges": {"nodes": [[0, 1]], "costs": [[0, 0, 3, 0]]},
///                  "usage_limit": 10}}
///
/// Every list of `nodes` has one item per node, and every list of `edges` one per edge. Keys come
/// in any order; `edges` and `usage_limit` may be missing, and other keys are ignored. Numbers are
/// integers; those of 10^18 and more, up to any length, are forbidden costs.
///
/// Laws: an accepted problem passes check(); the time is proportional to the text, and lists are
/// read without an intermediate form, so that a text of 100 MB takes a fraction of a second.
/// Errors, with the span in the text: kSyntax where it is not JSON or another kind of value is
/// expected, kBadNumber for a number that is no integer or does not fit, and those of check().
Result<Problem> read_problem(std::string_view text);

}  // namespace tessera::choose
