// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tessera/layout/placement.h"
#include "tessera/relayout/program.h"

/// testing/relayout/: what the tests of relayout/ share. Random placements come in; what broke, as
/// text, goes out. The expected bytes come from plain loops, never from the kernels under test.
namespace tessera::test {

/// A case as text, for messages: both placements, the type and the padding rule.
std::string describe_pair(const Placement& from, const Placement& to,
                          relayout::PaddingRule padding);

/// The law of programs: verify() finds nothing wrong in what make_program makes, and every refusal
/// of make_program is justified: by loops over the definition, partial sums are kept or elements
/// share a slot. Empty when it holds. kTooLarge is not a mistake.
std::string program_mistake(const Placement& from, const Placement& to,
                            relayout::PaddingRule padding);

}  // namespace tessera::test
