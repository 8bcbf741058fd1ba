// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tessera/memory/solve.h"
#include "tools/command/command.h"

namespace tessera::tools {

/// "peak 1048576 so far, at least 1043456, 12 M nodes, 3 s" in fewer than `width` columns.
std::string search_line(const memory::Progress& progress, int width);

struct SearchOutcome {
  Result<memory::Solution> solution;
  bool interrupted = false;  ///< Ctrl-C ended the search
};
/// memory::solve, with a line on the terminal's error stream once the search takes longer than a
/// second. An interrupt (Ctrl-C) ends the search, which then returns the best plan so far;
/// `interrupted` is set. A second interrupt ends the process as usual.
SearchOutcome search_for_plan(const memory::Problem& problem, memory::SolveOptions options,
                              Console& console);

}  // namespace tessera::tools
