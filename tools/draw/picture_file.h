// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "tessera/base/result.h"
#include "tools/command/command.h"

namespace tessera::tools {

/// Where the picture of the flag --svg goes: to a file beside the answer; with "-" it is the
/// answer, or with --json its field "svg".
inline constexpr std::string_view kPictureInAnswer = "-";

/// Whether the file of --svg can be written, if the flag is given. Before any work is done.
Status check_picture_file(const Request& request);
/// Writes the file, if the flag names one.
Status write_picture(const Request& request, const std::string& picture);
/// Whether the picture stands in for the text of the answer.
bool is_only_answer(const Request& request, const Console& console);

}  // namespace tessera::tools
