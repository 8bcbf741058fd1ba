// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/solver/greedy.h"

#include <algorithm>
#include <chrono>

#include "tessera/memory/solver/first_fit.h"
#include "tessera/memory/solver/heuristics.h"

namespace tessera::memory {
namespace {

// Having no plan is never good enough.
constexpr std::int64_t kNoPlan = INT64_MAX;

/// Fixed blocks at their offsets, all others unplaced.
[[nodiscard]] bool pin_fixed(const Packing& packing, Array<std::int64_t>& pinned) {
  if (!pinned.assign(packing.blocks.size(), kNowhere)) return false;
  for (std::size_t i = 0; i < pinned.size(); ++i) {
    if (packing.blocks[i].fixed >= 0) pinned[i] = packing.blocks[i].fixed;
  }
  return true;
}

bool has_hints(const Packing& packing) {
  return std::any_of(packing.blocks.begin(), packing.blocks.end(),
                     [](const Block& block) { return block.hint >= 0 && block.fixed < 0; });
}

}  // namespace

Result<std::int64_t> greedy(const Packing& packing, const GreedyOptions& options,
                            Array<std::int64_t>& offsets) {
  Heuristics heuristics(packing, options.seconds, options.budget);
  Array<std::int64_t> pinned;
  std::int64_t peak = kNoPlan;
  if (!pin_fixed(packing, pinned) ||
      !heuristics.run(pinned, std::min(options.good_enough, kNoPlan - 1), offsets, peak)) {
    return out_of_memory();
  }
  return peak;
}

Result<std::int64_t> follow_hints(const Packing& packing, double seconds,
                                  Array<std::int64_t>& offsets) {
  const std::int64_t peak = peak_of(packing, offsets);
  if (!has_hints(packing) || packing.has_too_many_strips()) return peak;
  // A third of the time each for finding hints that do not overlap, for planning around them, and
  // for moving blocks one by one.
  const auto third = std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(std::clamp(seconds, 0.0, 1e6) / 3));
  const auto deadline = [third] { return std::chrono::steady_clock::now() + third; };
  FirstFit first_fit;
  Array<std::int64_t> pinned;
  if (!first_fit.build(packing) || !pin_fixed(packing, pinned) ||
      !first_fit.follow_hints(peak, deadline(), pinned)) {
    return out_of_memory();
  }
  Heuristics heuristics(packing, seconds / 3, nullptr);
  std::int64_t hinted_peak = peak + 1;
  if (!heuristics.run(pinned, peak, offsets, hinted_peak) ||
      !first_fit.follow_hints(peak, deadline(), offsets)) {
    return out_of_memory();
  }
  return peak_of(packing, offsets);  // lower when a block that moved to its hint was the highest
}

}  // namespace tessera::memory
