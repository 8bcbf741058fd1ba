// SPDX-License-Identifier: Apache-2.0
#include "tools/alloc/alloc_search.h"

#include <algorithm>

#include "tessera/base/text.h"
#include "tools/terminal/search_line.h"

namespace tessera::tools {
namespace {

std::string count_text(std::int64_t count) {
  if (count >= 10'000'000) return cat(count / 1'000'000, " M");
  if (count >= 10'000) return cat(count / 1'000, " k");
  return std::to_string(count);
}

}  // namespace

std::string search_line(const memory::Progress& progress, int width) {
  const std::string words = cat("peak ", progress.peak, " so far, at least ", progress.lower_bound,
                                ", ", count_text(progress.nodes), " nodes, ",
                                static_cast<std::int64_t>(progress.seconds), " s");
  return words.substr(0, static_cast<std::size_t>(std::max(0, width - 1)));
}

SearchOutcome search_for_plan(const memory::Problem& problem, memory::SolveOptions options,
                              Console& console) {
  SearchLine line(console.err, console.terminal.shows_progress, console.terminal.width);
  options.progress_context = &line;
  options.progress = [](void* context, const memory::Progress& progress) {
    return static_cast<SearchLine*>(context)->update(
        progress.seconds, [&](int width) { return search_line(progress, width); });
  };
  SearchOutcome found{memory::solve(problem, options), false};
  found.interrupted = line.interrupted();
  return found;
}

}  // namespace tessera::tools
