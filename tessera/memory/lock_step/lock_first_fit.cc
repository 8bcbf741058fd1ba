// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/lock_step/lock_first_fit.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

namespace tessera::memory {
namespace {

constexpr std::int64_t kRepairWork = std::int64_t{1} << 22;  ///< pairs visited by all rounds

/// Places the blocks of one component and keeps the lowest plan.
class FirstFit {
 public:
  /// `at` has an entry for every block of the relation; those of the component are read and
  /// written.
  FirstFit(const Relation& relation, const std::vector<std::uint32_t>& blocks,
           std::int64_t good_enough, WorkBudget& budget, std::vector<std::int64_t>& at)
      : relation_(relation),
        blocks_(blocks),
        good_enough_(good_enough),
        budget_(budget),
        at_(at),
        best_(blocks_.size(), 0) {
    for (const std::uint32_t b : blocks_) {
      work_ += static_cast<std::int64_t>(relation.meetings[b].size()) + 1;
    }
  }

  /// The peak of the best plan; its offsets are then in `at`.
  std::int64_t run(bool repairs) {
    try_order(order_by(0));
    for (int rule = 1; rule < 5 && goes_on(); ++rule) try_order(order_by(rule));
    if (repairs) repair();
    for (std::size_t i = 0; i < blocks_.size(); ++i) at_[blocks_[i]] = best_[i];
    return peak_;
  }

 private:
  const Block& block(std::uint32_t b) const { return relation_.packing.blocks[b]; }
  bool goes_on() { return peak_ > good_enough_ && budget_.works_on(work_); }
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
        default: {  // the sum of all blocks that must be above or below it
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

  /// The lowest offset that conflicts with no placed block.
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
      if (offset <= below) break;  // the same holds for all that follow
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

  /// Moves the blocks that reach highest, and sometimes one that conflicts with them, earlier in
  /// the order.
  void repair() {
    const std::int64_t rounds = std::clamp<std::int64_t>(kRepairWork / work_, 4, 2000);
    std::mt19937_64 random(blocks_.size());
    for (std::int64_t round = 0; round < rounds && goes_on(); ++round) {
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
  WorkBudget& budget_;
  std::vector<std::int64_t>& at_;  ///< -1 for blocks that are not placed
  std::int64_t work_ = 0;
  std::uint32_t top_ = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> walls_;
  std::int64_t peak_ = INT64_MAX;
  std::uint32_t best_top_ = 0;
  std::vector<std::uint32_t> best_order_;
  std::vector<std::int64_t> best_;
};

}  // namespace

std::int64_t lock_first_fit(const Relation& relation, const std::vector<std::uint32_t>& component,
                            std::int64_t good_enough, bool repairs, WorkBudget& budget,
                            std::vector<std::int64_t>& offsets) {
  return FirstFit(relation, component, good_enough, budget, offsets).run(repairs);
}

void lock_follow_hints(const Relation& relation, const std::vector<std::uint32_t>& component,
                       std::int64_t peak, std::vector<std::int64_t>& offsets) {
  for (const std::uint32_t b : component) {
    const Block& block = relation.packing.blocks[b];
    if (block.hint < 0 || block.fixed >= 0 || block.hint % block.alignment != 0 ||
        block.hint + block.size > peak) {
      continue;
    }
    const std::vector<Meeting>& meetings = relation.meetings[b];
    const bool is_free = std::all_of(meetings.begin(), meetings.end(), [&](const Meeting& meeting) {
      const std::int64_t other = offsets[meeting.other];
      return block.hint >= other + meeting.clear_other || block.hint + meeting.clear_us <= other;
    });
    if (is_free) offsets[b] = block.hint;
  }
}

}  // namespace tessera::memory
