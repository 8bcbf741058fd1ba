// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "tessera/base/result.h"
#include "tessera/target/machine.h"

/// tools/targets/: the verb `targets` and the flag --target. A machine's name or file comes in, a
/// checked machine description or its text goes out. The rules of descriptions are those of
/// tessera/target: nothing here relaxes them.
namespace tessera::tools {

/// The machine that `--target` names: one that Tessera knows, or, when the text has a '/' or ends
/// in ".json", a file. Errors in a file carry the file's name, line and column in the message,
/// because spans refer to the text of a tensor.
Result<Machine> read_target(const std::string& name_or_path);

/// The error with the place of its span in the message instead: "'my.json':3:15: message"; lines
/// and columns count from 1. `text` is that of the file.
Error located(Error error, const std::string& path, std::string_view text);

}  // namespace tessera::tools
