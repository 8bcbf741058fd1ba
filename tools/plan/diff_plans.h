// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tools/command/command.h"

namespace tessera::tools {

/// Compares the plans of the files "a" and "b": values by their names, ops by their position in the
/// order of A. Layouts are compared as functions. kYes if everything is the same but figures.
Result<Verdict> diff_plans(const Request& request, Console& console);

}  // namespace tessera::tools
