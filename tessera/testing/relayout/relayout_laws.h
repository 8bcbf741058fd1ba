// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tessera/layout/placement.h"
#include "tessera/relayout/program.h"

namespace tessera::test {

/// A case as words, for messages: both placements, the type and the padding rule.
std::string describe_pair(const Placement& from, const Placement& to,
                          relayout::PaddingRule padding);

/// The law of programs: verify() finds nothing in what make_program makes, and what make_program
/// refuses is so: by loops over the definition, partial sums are kept or elements share a slot.
/// Empty when it holds. kTooLarge is no mistake.
std::string program_mistake(const Placement& from, const Placement& to,
                            relayout::PaddingRule padding);

}  // namespace tessera::test
