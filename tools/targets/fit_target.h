// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "tools/command/command.h"

namespace tessera::tools {

// The flags of `tessera targets` for fitting.
inline constexpr std::string_view kFitFlag = "fit";
inline constexpr std::string_view kOutFlag = "out";

/// Answers `tessera targets --fit TABLE.csv [TARGET] [--out FILE.json]`: reads the measurements,
/// fits the machine to them, writes the fitted machine, and prints figures and errors. Without
/// TARGET the machine is the built-in one that the table's file is named after.
Result<Verdict> fit_target(const Request& request, Console& console);

}  // namespace tessera::tools
