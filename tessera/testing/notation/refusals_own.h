// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/testing/notation/refusals.h"

namespace tessera::test {

/// What is wrong with a claim; empty when it holds.
using Mistake = std::string;

/// A sentence with holes, and how to check its claim about a tensor.
struct Reason {
  std::string_view notation;  ///< empty for all notations
  std::string_view pattern;
  Mistake (*check)(const Refused& refused, const Holes& holes);
};

/// The reasons that a notation's own `raise` gives.
const std::vector<Reason>& own_reasons(std::string_view notation);
/// The same for the notations beyond those of the original documents; none for others.
const std::vector<Reason>& beyond_reasons(std::string_view notation);

}  // namespace tessera::test
