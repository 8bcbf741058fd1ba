// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tessera/plan/choose/solve.h"
#include "tools/command/command.h"

namespace tessera::tools {

/// "cost 2144412137 so far, at least 2041071016 (gap 4.82 %), 12 s" in fewer than `width` columns.
std::string choose_line(const choose::Progress& progress, int width);

struct ChooseOutcome {
  Result<choose::Solution> solution;
  bool interrupted = false;  ///< Ctrl-C ended the search
};
/// choose::solve, with a line on the terminal's error stream once the search takes longer than a
/// second. An interrupt (Ctrl-C) ends the search, which then returns the best choice so far;
/// `interrupted` is set. A second interrupt ends the process as usual.
ChooseOutcome search_for_choice(const choose::Problem& problem, choose::SolveOptions options,
                                Console& console);

}  // namespace tessera::tools
