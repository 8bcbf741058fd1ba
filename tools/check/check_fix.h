// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/check/check.h"
#include "tools/check/check_printer.h"

namespace tessera::tools {

/// A text with everything fixed that can be.
struct FixedText {
  std::string text;
  std::vector<Fixed> fixes;   ///< what was fixed, in the order in which it was
  check::CheckReport report;  ///< what is left in `text`
};

/// Fixes and checks again until nothing more can be fixed, for one fix may show the next, but not
/// forever. `report` is what check_mlir() says of `text`.
Result<FixedText> fix_mlir(std::string_view text, const check::CheckReport& report,
                           const check::CheckOptions& options);

}  // namespace tessera::tools
