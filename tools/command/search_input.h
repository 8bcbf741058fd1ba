// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "tessera/base/json.h"
#include "tools/command/command.h"

/// What verbs that read a problem from a file and search for its solution share.
namespace tessera::tools {

/// The number of seconds for --seconds: 0 to 10^6. kBadNumber for anything else.
Result<double> read_seconds(const std::string& text);

/// Prints an error in the text of the file `name`: its line with a caret or, with --json, the error
/// with "file", and "line" and "column" (both from 1) where it has a position. `answer` has fields
/// that stand beside the error.
/// kNo for a problem that does not fit, otherwise kBadInput.
Verdict report_error_in(const std::string& name, std::string_view text, const Error& error,
                        Console& console, Json answer = Json::object());

}  // namespace tessera::tools
