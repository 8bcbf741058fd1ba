// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"

namespace tessera::test {

/// A description that is rejected; «» enclose the span of the error.
struct RefusedMachine {
  std::string marked;
  ErrorCode code;
  std::string_view figures;       ///< test::figures of the message
  std::string_view help_figures;  ///< of the help
};

/// Expects that each is rejected with this code, these figures and this span.
void expect_refused(const std::vector<RefusedMachine>& refusals);

}  // namespace tessera::test
