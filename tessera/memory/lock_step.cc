// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/lock_step.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/memory/meetings.h"
#include "tessera/memory/packing.h"

namespace tessera::memory {
namespace {

constexpr std::int64_t kRepairWork = std::int64_t{1} << 22;  ///< pairs looked at by all rounds

/// Puts the blocks of one component down and keeps the lowest plan.
class Search {
 public:
  /// `at` has an entry for every block of the relation.
  Search(const Relation& relation, const std::vector<std::uint32_t>& blocks,
         std::int64_t good_enough, std::vector<std::int64_t>& at)
      : relation_(relation),
        blocks_(blocks),
        good_enough_(good_enough),
        at_(at),
        best_(blocks_.size(), 0) {
    for (const std::uint32_t b : blocks_) {
      work_ += static_cast<std::int64_t>(relation.meetings[b].size()) + 1;
    }
  }

  /// The peak of the best plan, whose offsets go into `offsets`.
  std::int64_t run(bool repairs, Array<std::int64_t>& offsets) {
    for (int rule = 0; rule < 5 && peak_ > good_enough_; ++rule) try_order(order_by(rule));
    if (repairs) repair();
    for (std::size_t i = 0; i < blocks_.size(); ++i) offsets[blocks_[i]] = best_[i];
    return peak_;
  }

 private:
  const Block& block(std::uint32_t b) const { return relation_.packing.blocks[b]; }
  double length(std::uint32_t b) const { return block(b).to - block(b).from; }

  std::vector<std::uint32_t> order_by(int rule) const {
    const auto key = [&](std::uint32_t b) -> std::pair<double, double> {
      const auto size = static_cast<double>(block(b).size);
      switch (rule) {
        case 0:
          return {size, length(b)};
        case 1:
          return {size * length(b), size};
        case 2:
          return {length(b), size};
        case 3:
          return {-block(b).from, size};
        default: {  // what has to be above or below it in all
          double meets = 0;
          for (const Meeting& meeting : relation_.meetings[b]) {
            meets += static_cast<double>(meeting.clear_other);
          }
          return {meets, size};
        }
      }
    };
    std::vector<std::uint32_t> order = blocks_;
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      const auto of_a = key(a);
      const auto of_b = key(b);
      return of_a != of_b ? of_a > of_b : a < b;
    });
    return order;
  }

  /// The lowest offset at which nothing that is put down is met.
  std::int64_t lowest(std::uint32_t b) {
    walls_.clear();
    for (const Meeting& meeting : relation_.meetings[b]) {
      const std::int64_t at = at_[meeting.other];
      if (at >= 0) walls_.emplace_back(at - meeting.clear_us, at + meeting.clear_other);
    }
    std::sort(walls_.begin(), walls_.end());
    const auto fits = [&](std::int64_t offset) {
      return std::none_of(walls_.begin(), walls_.end(), [&](const auto& wall) {
        return offset > wall.first && offset < wall.second;
      });
    };
    const Block& own = block(b);
    if (own.hint >= 0 && own.hint + own.size <= good_enough_ && own.hint % own.alignment == 0 &&
        fits(own.hint)) {
      return own.hint;
    }
    std::int64_t offset = 0;
    for (const auto& [below, above] : walls_) {
      if (offset <= below) break;  // and so for all that follow
      if (offset < above) offset = align_up(above, own.alignment);
    }
    return offset;
  }

  /// First-fit in this order, fixed blocks first. Keeps the plan if it is lower.
  void try_order(const std::vector<std::uint32_t>& order) {
    for (const std::uint32_t b : blocks_) at_[b] = block(b).fixed;
    std::int64_t peak = 0;
    top_ = order[0];
    for (const std::uint32_t b : order) {
      if (block(b).fixed < 0) at_[b] = lowest(b);
      const std::int64_t end = at_[b] + block(b).size;
      if (end > peak) {
        peak = end;
        top_ = b;
      }
    }
    if (peak >= peak_) return;
    peak_ = peak;
    best_top_ = top_;
    best_order_ = order;
    for (std::size_t i = 0; i < blocks_.size(); ++i) best_[i] = at_[blocks_[i]];
  }

  /// Puts what reaches highest, and sometimes something that it meets, down earlier.
  void repair() {
    const std::int64_t rounds = std::clamp<std::int64_t>(kRepairWork / work_, 4, 2000);
    std::mt19937_64 random(blocks_.size());
    for (std::int64_t round = 0; round < rounds && peak_ > good_enough_; ++round) {
      std::vector<std::uint32_t> order = best_order_;
      std::uint32_t moved = best_top_;
      const std::vector<Meeting>& meets = relation_.meetings[moved];
      if (round % 3 == 2 && !meets.empty()) moved = meets[random() % meets.size()].other;
      const auto place = std::find(order.begin(), order.end(), moved);
      const auto position = static_cast<std::size_t>(place - order.begin());
      if (position == 0) {
        std::swap(order[0], order[random() % order.size()]);
      } else {
        const auto to = static_cast<std::ptrdiff_t>(random() % position);
        std::rotate(order.begin() + to, place, place + 1);
      }
      try_order(order);
      if (round % 16 == 15) settle();
    }
  }

  /// First-fit again from the bottom up: no block is higher than before.
  void settle() {
    std::vector<std::size_t> rank(blocks_.size());
    std::iota(rank.begin(), rank.end(), std::size_t{0});
    std::sort(rank.begin(), rank.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(best_[a], a) < std::pair(best_[b], b);
    });
    std::vector<std::uint32_t> order;
    for (const std::size_t i : rank) order.push_back(blocks_[i]);
    try_order(order);
  }

  const Relation& relation_;
  const std::vector<std::uint32_t>& blocks_;
  std::int64_t good_enough_;
  std::vector<std::int64_t>& at_;  ///< -1 for what is not put down
  std::int64_t work_ = 0;
  std::uint32_t top_ = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> walls_;
  std::int64_t peak_ = INT64_MAX;
  std::uint32_t best_top_ = 0;
  std::vector<std::uint32_t> best_order_;
  std::vector<std::int64_t> best_;
};

}  // namespace

Result<LockStep> lock_step(const Problem& lives, const ClassSizes& sizes, std::int64_t lower_bound,
                           const SolveOptions& options) {
  Problem largest = lives;
  for (std::size_t i = 0; i < largest.buffers.size(); ++i) {
    largest.buffers[i].size = 0;
    for (const std::vector<std::int64_t>& vector : sizes) {
      largest.buffers[i].size = std::max(largest.buffers[i].size, vector[i]);
    }
  }
  LockStep out;
  const bool hopeless = options.capacity && lower_bound > *options.capacity;
  out.proven_not_to_fit = hopeless;
  const std::int64_t good_enough =
      options.capacity && !options.minimize && !hopeless ? *options.capacity : lower_bound;
  const bool one_class = sizes.size() <= 1;
  SolveOptions first = options;
  if (hopeless) first.capacity.reset();
  if (hopeless || !one_class) first.techniques.exact = false;
  const auto take = [&](const Solution& solution) {
    out.offsets.assign(solution.offsets.begin(), solution.offsets.end());
    out.peak = solution.peak;
    out.found_by = solution.found_by;
    out.optimal = solution.peak == lower_bound || (one_class && solution.optimal);
  };
  TESSERA_TRY(const Solution quick, solve(largest, first));
  take(quick);
  if (one_class) {
    if (quick.outcome == Outcome::kDoesNotFit) out.proven_not_to_fit = true;
    return out;
  }
  if (out.peak <= good_enough) return out;
  TESSERA_TRY(const Packing packing, pack(largest));
  if (const std::optional<Relation> relation = relate(packing, sizes)) {
    Array<std::int64_t> offsets;
    if (!offsets.resize(packing.blocks.size(), 0)) return out_of_memory();
    std::vector<std::int64_t> at(packing.blocks.size(), -1);
    std::int64_t peak = 0;
    for (const std::vector<std::uint32_t>& component : relation->components) {
      Search search(*relation, component, good_enough, at);
      peak = std::max(peak, search.run(options.techniques.repair, offsets));
    }
    if (peak < out.peak) {
      Array<std::int64_t> spread_out;
      if (!spread(packing, offsets, spread_out)) return out_of_memory();
      out.offsets.assign(spread_out.begin(), spread_out.end());
      out.peak = peak;
      out.optimal = peak == lower_bound;
      out.found_by = "pairs";
    }
  }
  const bool searches = options.techniques.exact && (options.capacity || options.minimize);
  if (out.peak <= std::max(good_enough, quick.lower_bound) || hopeless || !searches) return out;
  TESSERA_TRY(const Solution exact, solve(largest, options));
  if (exact.peak < out.peak) take(exact);
  return out;
}

}  // namespace tessera::memory
