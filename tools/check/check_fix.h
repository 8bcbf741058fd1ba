// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/check/check.h"
#include "tools/check/check_printer.h"

namespace tessera::tools {

/// A text in which every fixable diagnostic is fixed.
struct FixedText {
  std::string text;
  std::vector<Fixed> fixes;   ///< what was fixed, in that order
  check::CheckReport report;  ///< what remains in `text`
};

/// Fixes and checks again until nothing more can be fixed, because one fix may reveal the next; the
/// number of passes is bounded. `report` is what check_mlir() returns for `text`.
Result<FixedText> fix_mlir(std::string_view text, const check::CheckReport& report,
                           const check::CheckOptions& options);

}  // namespace tessera::tools
