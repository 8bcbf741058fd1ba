// SPDX-License-Identifier: Apache-2.0
#include "tools/choose/choose_search.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "tessera/base/text.h"
#include "tools/terminal/search_line.h"

namespace tessera::tools {

std::string choose_line(const choose::Progress& progress, int width) {
  std::string words = "no choice so far";
  if (progress.cost) {
    const double gap = *progress.cost == 0
                           ? 0
                           : 100 * static_cast<double>(*progress.cost - progress.lower_bound) /
                                 static_cast<double>(*progress.cost);
    std::array<char, 32> percent{};
    std::snprintf(percent.data(), percent.size(), "%.2f", gap);
    words = cat("cost ", *progress.cost, " so far, at least ", progress.lower_bound, " (gap ",
                percent.data(), " %)");
  }
  words += cat(", ", static_cast<std::int64_t>(progress.seconds), " s");
  return words.substr(0, static_cast<std::size_t>(std::max(0, width - 1)));
}

ChooseOutcome search_for_choice(const choose::Problem& problem, choose::SolveOptions options,
                                Console& console) {
  SearchLine line(console.err, console.terminal.shows_progress, console.terminal.width);
  options.progress_context = &line;
  options.progress = [](void* context, const choose::Progress& progress) {
    return static_cast<SearchLine*>(context)->update(
        progress.seconds, [&](int width) { return choose_line(progress, width); });
  };
  ChooseOutcome found{choose::solve(problem, options), false};
  found.interrupted = line.interrupted();
  return found;
}

}  // namespace tessera::tools
