// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/solver/repair.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "tessera/memory/solver/obstacles.h"
#include "tessera/memory/solver/work_budget.h"

namespace tessera::memory {
namespace {

using Clock = std::chrono::steady_clock;

/// Lowers a plan by ejection. Blocks that reach above a new, lower ceiling are removed and placed
/// below it, the hardest first, where the blocks in their way cost the least; these are removed in
/// turn. A block that had to push others aside costs more from then on, which ends the cycles in
/// which two blocks would push each other.
///
/// Based on the ejection search of Nagata and Bräysy, A powerful route minimization heuristic for
/// the vehicle routing problem with time windows (2009), with blocks for customers.
class Ejection {
 public:
  Ejection(const Packing& packing, const RepairOptions& options)
      : packing_(packing),
        rounds_(options.rounds),
        deadline_(Clock::now() +
                  std::chrono::duration_cast<Clock::duration>(
                      std::chrono::duration<double>(std::clamp(options.seconds, 0.0, 1e6)))),
        budget_(options.budget) {}

  [[nodiscard]] bool build();
  bool spent() {
    return rounds_ <= 0 || Clock::now() >= deadline_ ||
           (budget_ != nullptr && !budget_->look_at_the_clock());
  }

  /// Tries to bring `plan` below `ceiling`, with `tries_per_block` tries for each block above it.
  /// If not `done`, the plan is incomplete.
  [[nodiscard]] bool lower(std::int64_t ceiling, std::size_t tries_per_block,
                           Array<std::int64_t>& plan, bool& done);

 private:
  /// The sum of all costs stays below this, so that sums of them fit.
  static constexpr double kAllCosts = 1LL << 40;
  static constexpr std::int64_t kMostPenalty = 1 << 20;
  static constexpr std::int64_t kFixed = -1;  // the cost of a block that may not be removed

  struct Taken {
    std::int64_t cost = 0;
    std::int32_t block = 0;
  };
  struct Edge {
    std::int64_t at = 0;
    std::int64_t cost = 0;
  };

  std::int64_t cost(std::int32_t block) const {
    const auto i = static_cast<std::size_t>(block);
    return packing_.blocks[i].fixed >= 0 ? kFixed : worth_[i] * penalty_[i];
  }
  [[nodiscard]] bool take_up(std::int32_t block, Array<std::int64_t>& plan);
  std::int32_t take_hardest();
  [[nodiscard]] bool find_place(std::int32_t b, const Array<std::int64_t>& plan,
                                std::int64_t ceiling);
  [[nodiscard]] bool sort_edges(Array<Edge>& edges);
  void try_places(const Block& block, std::int64_t ceiling, bool resting);

  const Packing& packing_;
  std::int64_t rounds_;
  const Clock::time_point deadline_;
  WorkBudget* const budget_;
  Obstacles obstacles_;
  Array<std::int64_t> worth_;
  Array<std::int64_t> penalty_;
  Array<Taken> up_;     // a heap, the hardest first
  Array<Edge> starts_;  // of what placed blocks put in the way of the current block
  Array<Edge> ends_;
  Array<Edge> sorted_;
  Array<std::uint32_t> bucket_end_;
  std::int64_t place_ = kNowhere;  // the best one so far
  std::int64_t place_cost_ = 0;
};

constexpr auto kEasier = [](const auto& a, const auto& b) {
  return a.cost != b.cost ? a.cost < b.cost : a.block > b.block;
};

bool Ejection::build() {
  const std::size_t count = packing_.blocks.size();
  if (!obstacles_.build(packing_) || !worth_.resize(count) || !penalty_.assign(count, 1)) {
    return false;
  }
  // A long lifetime is harder to place than a large size: it has to clear more other blocks.
  const auto hardness = [](const Block& block) {
    return std::sqrt(static_cast<double>(block.size)) * static_cast<double>(block.to - block.from);
  };
  double all = 0;
  for (const Block& block : packing_.blocks) all = std::max(all, hardness(block));
  all *= static_cast<double>(count);
  for (std::size_t i = 0; i < count; ++i) {
    worth_[i] = 1 + static_cast<std::int64_t>(hardness(packing_.blocks[i]) / all * kAllCosts);
  }
  return true;
}

bool Ejection::take_up(std::int32_t block, Array<std::int64_t>& plan) {
  plan[static_cast<std::size_t>(block)] = kNowhere;
  if (!up_.push({cost(block), block})) return false;
  std::push_heap(up_.begin(), up_.end(), kEasier);
  return true;
}

std::int32_t Ejection::take_hardest() {
  std::pop_heap(up_.begin(), up_.end(), kEasier);
  const std::int32_t block = up_.back().block;
  up_.pop();
  return block;
}

/// Offsets on top of an obstacle (`resting`) or directly below one. The cost of an offset is that
/// of all obstacles that begin below its end, minus that of all that end at or below its start: two
/// sums that only grow on the way up. A block with gaps may count more than once.
void Ejection::try_places(const Block& block, std::int64_t ceiling, bool resting) {
  const std::size_t count = starts_.size();
  std::size_t begun = 0;
  std::size_t ended = 0;
  std::int64_t in_the_way = 0;
  std::int64_t fixed_in_the_way = 0;
  const auto add = [&](std::int64_t its_cost, std::int64_t sign) {
    (its_cost == kFixed ? fixed_in_the_way : in_the_way) +=
        sign * (its_cost == kFixed ? 1 : its_cost);
  };
  const auto try_place = [&](std::int64_t place) {
    for (; begun < count && starts_[begun].at < place + block.size; ++begun) {
      add(starts_[begun].cost, 1);
    }
    for (; ended < count && ends_[ended].at <= place; ++ended) add(ends_[ended].cost, -1);
    if (fixed_in_the_way == 0 && in_the_way < place_cost_) {
      place_ = place;
      place_cost_ = in_the_way;
    }
  };
  if (resting) {
    try_place(0);
    for (const Edge& end : ends_) {
      const std::int64_t place = align_up(end.at, block.alignment);
      if (place > ceiling - block.size || place_cost_ == 0) return;
      try_place(place);
    }
    return;
  }
  for (const Edge& start : starts_) {
    const std::int64_t under = std::min(start.at, ceiling) - block.size;
    if (under >= 0) try_place(under - under % block.alignment);
  }
  const std::int64_t under = ceiling - block.size;
  try_place(under - under % block.alignment);
}

/// Sorts in ascending order, in linear time for evenly spread edges, as in a good plan.
bool Ejection::sort_edges(Array<Edge>& edges) {
  const auto lower = [](const Edge& a, const Edge& b) { return a.at < b.at; };
  constexpr std::size_t kFew = 48;
  const std::size_t count = edges.size();
  if (count <= kFew) {
    std::sort(edges.begin(), edges.end(), lower);
    return true;
  }
  if (!sorted_.resize(count) || !bucket_end_.assign(count + 1, 0)) return false;
  std::int64_t highest = 0;
  for (const Edge& edge : edges) highest = std::max(highest, edge.at);
  const double scale = static_cast<double>(count - 1) / static_cast<double>(highest + 1);
  const auto bucket = [scale](const Edge& edge) {
    return static_cast<std::size_t>(static_cast<double>(edge.at) * scale);
  };
  std::uint32_t* const end = bucket_end_.data();
  for (const Edge& edge : edges) ++end[bucket(edge) + 1];
  for (std::size_t i = 1; i <= count; ++i) end[i] += end[i - 1];
  for (const Edge& edge : edges) sorted_[end[bucket(edge)]++] = edge;
  for (std::size_t i = 0, from = 0; i < count; from = end[i++]) {
    if (end[i] - from > 1) std::sort(sorted_.begin() + from, sorted_.begin() + end[i], lower);
  }
  std::swap(sorted_, edges);
  return true;
}

bool Ejection::find_place(std::int32_t b, const Array<std::int64_t>& plan, std::int64_t ceiling) {
  const Block& block = packing_.blocks[static_cast<std::size_t>(b)];
  if (!obstacles_.find(b) || !starts_.reserve(obstacles_.count()) ||
      !ends_.reserve(obstacles_.count())) {
    return false;
  }
  starts_.clear();
  ends_.clear();
  obstacles_.each(plan, [this](std::int32_t other, std::int64_t from, std::int64_t to) {
    if (to <= 0) return;  // above no offset
    const std::int64_t its_cost = cost(other);
    (void)starts_.push({from, its_cost});  // there is room
    (void)ends_.push({to, its_cost});
  });
  if (!sort_edges(starts_) || !sort_edges(ends_)) return false;
  place_ = kNowhere;
  place_cost_ = INT64_MAX;
  try_places(block, ceiling, true);
  if (place_cost_ > 0) try_places(block, ceiling, false);
  return true;
}

bool Ejection::lower(std::int64_t ceiling, std::size_t tries_per_block, Array<std::int64_t>& plan,
                     bool& done) {
  rounds_ -= 1 + static_cast<std::int64_t>(plan.size() / 1024);
  up_.clear();
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const Block& block = packing_.blocks[i];
    if (plan[i] + block.size <= ceiling) continue;
    if (block.fixed >= 0 || block.size > ceiling) return true;
    if (!take_up(static_cast<std::int32_t>(i), plan)) return false;
  }
  for (std::size_t tries = tries_per_block * (10 + up_.size()); !up_.empty(); --tries) {
    if (tries == 0 || spent()) return true;
    const std::int32_t hardest = take_hardest();
    const auto i = static_cast<std::size_t>(hardest);
    const Block& block = packing_.blocks[i];
    if (!find_place(hardest, plan, ceiling)) return false;
    // Large neighbourhoods count for more, so that rounds measure time.
    rounds_ -= 1 + static_cast<std::int64_t>(obstacles_.count() / 32);
    if (place_ == kNowhere) return true;
    if (place_cost_ > 0) {
      penalty_[i] = std::min(penalty_[i] + 1, kMostPenalty);
      bool has_memory = true;
      obstacles_.each(plan, [&](std::int32_t other, std::int64_t from, std::int64_t to) {
        if (from >= place_ + block.size || to <= place_) return;
        has_memory = has_memory && take_up(other, plan);
      });
      if (!has_memory) return false;
    }
    plan[i] = place_;
  }
  done = true;
  return true;
}

}  // namespace

Result<std::int64_t> repair(const Packing& packing, const RepairOptions& options,
                            Array<std::int64_t>& offsets) {
  std::int64_t peak = peak_of(packing, offsets);
  const std::int64_t goal = std::max(options.good_enough, packing.lower_bound);
  if (peak <= goal || packing.has_too_many_strips()) return peak;
  Ejection ejection(packing, options);
  Array<std::int64_t> plan;
  if (!ejection.build()) return out_of_memory();
  // The fraction of the distance to the goal that is tried at once: less after each failure, and
  // more again at the end, because by then other blocks have higher costs.
  constexpr double kMost = 0.1;
  constexpr double kLeast = 0.02;
  double share = kMost / 2;
  std::size_t tries_per_block = 20;
  constexpr std::size_t kMostTries = 10000;
  while (peak > goal && !ejection.spent()) {
    const auto step = static_cast<std::int64_t>(static_cast<double>(peak - goal) * share);
    const std::int64_t ceiling = std::max(goal, peak - std::max(packing.grain, step));
    bool done = false;
    if (!plan.copy(offsets) || !ejection.lower(ceiling, tries_per_block, plan, done))
      return out_of_memory();
    if (done) {
      std::swap(plan, offsets);
      peak = peak_of(packing, offsets);
      if (options.budget != nullptr) options.budget->peak = peak;
    } else {
      share *= 0.7;
      if (share < kLeast) {
        share = kMost;
        tries_per_block = std::min(tries_per_block * 2, kMostTries);
      }
    }
  }
  return peak;
}

}  // namespace tessera::memory
