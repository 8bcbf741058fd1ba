// SPDX-License-Identifier: Apache-2.0
#include "tools/alloc/alloc_search.h"

#include <algorithm>
#include <ostream>

#include "tessera/base/text.h"
#include "tools/terminal/interrupts.h"

namespace tessera::tools {
namespace {

constexpr double kQuietSeconds = 1;
constexpr double kBetweenSeconds = 0.2;

struct Watcher {
  std::ostream* err = nullptr;  ///< null where no progress is shown
  int width = 80;
  double next = kQuietSeconds;
  bool is_drawn = false;
};

bool watch(void* context, const memory::Progress& progress) {
  auto& watcher = *static_cast<Watcher*>(context);
  if (watcher.err != nullptr && progress.seconds >= watcher.next) {
    *watcher.err << "\r\x1b[K" << search_line(progress, watcher.width) << std::flush;
    watcher.is_drawn = true;
    watcher.next = progress.seconds + kBetweenSeconds;
  }
  return !Interrupts::seen();
}

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
  Watcher watcher;
  watcher.err = console.terminal.shows_progress ? &console.err : nullptr;
  watcher.width = console.terminal.width;
  options.progress = watch;
  options.progress_context = &watcher;
  const Interrupts interrupts;
  SearchOutcome found{memory::solve(problem, options), false};
  found.interrupted = Interrupts::seen();
  if (watcher.is_drawn) console.err << "\r\x1b[K" << std::flush;
  return found;
}

}  // namespace tessera::tools
