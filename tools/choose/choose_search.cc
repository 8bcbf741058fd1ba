// SPDX-License-Identifier: Apache-2.0
#include "tools/choose/choose_search.h"

#include <algorithm>
#include <array>
#include <cstdio>
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

bool watch(void* context, const choose::Progress& progress) {
  auto& watcher = *static_cast<Watcher*>(context);
  if (watcher.err != nullptr && progress.seconds >= watcher.next) {
    *watcher.err << "\r\x1b[K" << choose_line(progress, watcher.width) << std::flush;
    watcher.is_drawn = true;
    watcher.next = progress.seconds + kBetweenSeconds;
  }
  return !Interrupts::seen();
}

}  // namespace

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
  Watcher watcher;
  watcher.err = console.terminal.shows_progress ? &console.err : nullptr;
  watcher.width = console.terminal.width;
  options.progress = watch;
  options.progress_context = &watcher;
  const Interrupts interrupts;
  ChooseOutcome found{choose::solve(problem, options), false};
  found.interrupted = Interrupts::seen();
  if (watcher.is_drawn) console.err << "\r\x1b[K" << std::flush;
  return found;
}

}  // namespace tessera::tools
