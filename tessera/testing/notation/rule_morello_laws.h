// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tessera/testing/notation/rule_morello.h"

namespace tessera::test {

/// Checks all laws of a text (rule_check.h), and that physical_sizes are the rule's and the
/// indexing expression gives the slot of every index.
std::string morello_mistake(const MorelloRule& rule, const Numbers& extents);

}  // namespace tessera::test
