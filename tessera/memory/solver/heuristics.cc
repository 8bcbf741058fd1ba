// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/solver/heuristics.h"

#include <algorithm>
#include <iterator>

#include "tessera/memory/solver/ring.h"

namespace tessera::memory {

Heuristics::Heuristics(const Packing& packing, double seconds, WorkBudget* budget)
    : packing_(packing),
      deadline_(std::chrono::steady_clock::now() +
                std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                    std::chrono::duration<double>(std::clamp(seconds, 0.0, 1e6)))),
      budget_(budget) {}

bool Heuristics::sort_members(int sharpness, bool by_area) {
  const auto sections = static_cast<std::size_t>(packing_.sections);
  if (!weight_sum_.resize(sections + 1) || !keys_.resize(members_.size())) return false;
  const auto highest = static_cast<double>(*std::max_element(profile_.begin(), profile_.end()));
  for (std::size_t s = 0; s < sections; ++s) {
    auto weight = std::int64_t{1} << kOne;
    if (sharpness != kBlunt && highest > 0) {
      weight = static_cast<std::int64_t>(static_cast<double>(profile_[s]) / highest *
                                         static_cast<double>(weight));
      for (int i = 0; i < sharpness; ++i) weight = (weight * weight) >> kOne;
    }
    weight_sum_[s + 1] = weight_sum_[s] + weight + 1;
  }
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Block& block = packing_.blocks[static_cast<std::size_t>(members_[i])];
    auto weight = static_cast<double>(weight_sum_[static_cast<std::size_t>(block.to)] -
                                      weight_sum_[static_cast<std::size_t>(block.from)]);
    if (by_area) weight *= static_cast<double>(block.size);
    keys_[i] = {weight, block.size, members_[i]};
  }
  std::sort(keys_.begin(), keys_.end(), [](const Key& a, const Key& b) {
    if (a.weight != b.weight) return a.weight > b.weight;
    return a.size != b.size ? a.size > b.size : a.block < b.block;
  });
  if (!order_.resize(keys_.size())) return false;
  for (std::size_t i = 0; i < keys_.size(); ++i) order_[i] = keys_[i].block;
  return true;
}

/// Averages the profile with the heights of the last plan.
bool Heuristics::learn() {
  if (!reached(packing_, plan_, heights_)) return false;
  for (std::size_t s = 0; s < heights_.size(); ++s) {
    profile_[s] = profile_[s] / 2 + heights_[s] / 2;
  }
  return true;
}

/// Removes the members that overlap pinned blocks, or all of them when they are few or some have
/// gaps, and places them again from the lowest up, around the pinned blocks and into gaps. Not
/// `done` when time runs out.
bool Heuristics::go_around(const Array<std::int64_t>& pinned, bool& done) {
  lifted_.clear();
  const auto lift = [this](std::int32_t member) {
    std::int64_t& offset = plan_[static_cast<std::size_t>(member)];
    const Lifted lifted{offset, member};
    offset = kNowhere;
    return lifted_.push(lifted);
  };
  if (members_.size() <= kSmall || packing_.has_gaps()) {
    for (const std::int32_t member : members_) {
      if (!lift(member)) return false;
    }
  } else {
    for (std::size_t i = 0; i < pinned.size(); ++i) {
      if (pinned[i] == kNowhere) continue;
      if (late()) return true;
      if (!first_fit_.in_the_way(static_cast<std::int32_t>(i), plan_, order_)) return false;
      for (const std::int32_t other : order_) {
        if (pinned[static_cast<std::size_t>(other)] == kNowhere && !lift(other)) return false;
      }
    }
  }
  std::sort(lifted_.begin(), lifted_.end(), [](const Lifted& a, const Lifted& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.block < b.block;
  });
  for (const Lifted& each : lifted_) {
    if (late()) return true;
    if (!first_fit_.lowest(each.block, plan_, plan_[static_cast<std::size_t>(each.block)])) {
      return false;
    }
  }
  done = true;
  return true;
}

bool Heuristics::run_on(const Array<std::int64_t>& floor, const Array<std::int64_t>& pinned,
                        Range range, std::int64_t good_enough, Array<std::int64_t>& best,
                        std::int64_t& peak) {
  struct Heuristic {
    int sharpness;
    bool by_area;
    bool learned;
  };
  constexpr Heuristic kHeuristics[] = {{5, false, false},
                                       {6, false, false},
                                       {kBlunt, false, false},
                                       {5, false, true},
                                       {5, false, true}};
  // Worth trying where a heuristic takes microseconds.
  constexpr Heuristic kMore[] = {{kBlunt, true, false}, {5, false, true}, {5, false, true},
                                 {5, false, true},      {5, false, true}, {5, false, true},
                                 {5, false, true}};
  const std::size_t heuristics =
      std::size(kHeuristics) + (members_.size() <= kSmall ? std::size(kMore) : 0);
  const bool around = &floor != &pinned;
  if (peak <= good_enough) return true;
  if (!skyline_.build(packing_, members_, floor) || !profile_.copy(packing_.live)) return false;
  for (std::size_t i = range.from; i < std::min(range.to, heuristics); ++i) {
    if (peak <= good_enough || ((around || i > 0) && late())) return true;
    const Heuristic heuristic =
        i < std::size(kHeuristics) ? kHeuristics[i] : kMore[i - std::size(kHeuristics)];
    if ((heuristic.learned && !learn()) || !sort_members(heuristic.sharpness, heuristic.by_area) ||
        !plan_.copy(pinned) || !skyline_.run(order_, plan_)) {
      return false;
    }
    bool done = !around;
    if (around && !go_around(pinned, done)) return false;
    if (!done) return true;
    if (!keep(best, peak)) return false;
  }
  return true;
}

/// Keeps the plan if it is the best.
bool Heuristics::keep(Array<std::int64_t>& best, std::int64_t& peak) {
  const std::int64_t reaches = peak_of(packing_, plan_);
  if (reaches >= peak) return true;
  peak = reaches;
  if (budget_ != nullptr) budget_->peak = peak;
  return best.copy(plan_);
}

/// The lowest ceiling that a ring stays below, by bisection; none if it is no better than the other
/// heuristics.
bool Heuristics::run_ring(std::int64_t good_enough, Array<std::int64_t>& best, std::int64_t& peak) {
  constexpr int kTries = 8;
  if (peak <= good_enough) return true;
  Ring ring;
  if (!ring.build(packing_)) return false;
  std::int64_t low = std::max(good_enough, packing_.lower_bound);
  std::int64_t ceiling = peak - 1;
  for (int i = 0; i < kTries && low <= ceiling && !late(); ++i) {
    bool fits = false;
    if (!ring.run(ceiling, plan_, fits) || (fits && !keep(best, peak))) return false;
    if (!fits && i == 0) return true;
    if (!fits) low = ceiling + 1;
    ceiling = low + (peak - 1 - low) / 2;
  }
  return true;
}

bool Heuristics::run(const Array<std::int64_t>& pinned, std::int64_t good_enough,
                     Array<std::int64_t>& best, std::int64_t& peak) {
  members_.clear();
  for (std::size_t i = 0; i < pinned.size(); ++i) {
    if (pinned[i] == kNowhere && !members_.push(static_cast<std::int32_t>(i))) return false;
  }
  if (members_.empty()) {
    peak = std::min(peak, peak_of(packing_, pinned));
    return best.copy(pinned);
  }
  constexpr Range kAll{0, SIZE_MAX};
  constexpr Range kFirst{0, 1};
  constexpr Range kRest{1, SIZE_MAX};
  if (members_.size() == pinned.size() && !packing_.has_gaps()) {
    return run_on(pinned, pinned, kAll, good_enough, best, peak) &&
           (members_.size() <= kSmall || run_ring(good_enough, best, peak));
  }
  // On top of pinned blocks and without regard to gaps, or around them and into gaps: the first
  // heuristic shows which is better.
  Array<std::int64_t> nothing;
  if (!first_fit_.build(packing_) || !nothing.assign(pinned.size(), kNowhere) ||
      !run_on(pinned, pinned, kFirst, good_enough, best, peak)) {
    return false;
  }
  if (packing_.has_too_many_strips()) {
    return run_on(pinned, pinned, kRest, good_enough, best, peak);
  }
  const std::int64_t on_top = peak;
  if (!run_on(nothing, pinned, kFirst, good_enough, best, peak)) return false;
  return run_on(peak < on_top ? nothing : pinned, pinned, kRest, good_enough, best, peak);
}

}  // namespace tessera::memory
