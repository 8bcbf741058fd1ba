// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tessera/base/result.h"
#include "tessera/target/machine.h"

namespace tessera::tools {

/// The machine that `--target` names: one that Tessera knows, or, when the text has a '/' or ends
/// in ".json", a file. What is wrong in a file is told with the file's name, line and column, for
/// spans count in the text of a tensor.
Result<Machine> read_target(const std::string& name_or_path);

}  // namespace tessera::tools
