// SPDX-License-Identifier: Apache-2.0
// The offsets of the blocks of a search, and the possible offsets of waiting blocks.
#include <algorithm>

#include "tessera/memory/lock_step/lock_search.h"

namespace tessera::memory {

void LockSearch::put_down(std::uint32_t b) {
  trail_.push_back({b, true, false, 0, 0});
  at_[b] = floor_[b];
  for (const Meeting& meeting : blocks_.blocks[b].meetings) {
    const std::uint32_t w = meeting.other;
    if (!is_waiting(w)) continue;
    trail_.push_back({w, false, is_stuck_[w], floor_[w], hole_[w]});
    floor_[w] = blocks_.lowest(w, std::max(floor_[w], at_[b] + meeting.clear_us));
    if (!techniques_.dominance || hole_[w] + meeting.clear_other > at_[b]) {
      hole_[w] = floor_[w];
      is_stuck_[w] = false;
    }
  }
}

void LockSearch::make_stuck(std::uint32_t b) {
  trail_.push_back({b, false, false, floor_[b], hole_[b]});
  is_stuck_[b] = true;
}

void LockSearch::undo(std::size_t mark) {
  for (; trail_.size() > mark; trail_.pop_back()) {
    const Change& change = trail_.back();
    if (change.went_down) {
      at_[change.block] = -1;
    } else {
      floor_[change.block] = change.floor;
      hole_[change.block] = change.hole;
      is_stuck_[change.block] = change.was_stuck;
    }
  }
}

/// False when there is no plan from here.
bool LockSearch::tighten() {
  for (const std::uint32_t w : waiting_) {
    earliest_[w] = floor_[w];
    latest_[w] = blocks_.highest(w, capacity_ - blocks_.blocks[w].size);
    if (earliest_[w] > latest_[w]) return is_dead_at(w);
  }
  constexpr int kRounds = 4;  // more gain little
  bool has_changed = true;
  for (int round = 0; round < kRounds && has_changed; ++round) {
    has_changed = false;
    if (!settle_stuck(has_changed) || !order_pairs(has_changed)) return false;
  }
  return settle_stuck(has_changed);
}

/// A block that cannot be at its floor is stuck, and so is every later block that is like a stuck
/// one. A stuck block is placed on top of a block that conflicts with it; if it has a hole, on top
/// of one that takes the hole. The lowest of all waiting blocks is not stuck.
bool LockSearch::settle_stuck(bool& has_changed) {
  std::int64_t lowest = INT64_MAX;
  for (const std::uint32_t w : waiting_) {
    if (is_stuck_[w]) continue;
    const std::int32_t twin = blocks_.blocks[w].twin;
    const auto before = static_cast<std::size_t>(twin);
    if (earliest_[w] > floor_[w] ||
        (techniques_.symmetry && twin >= 0 && is_waiting(before) && is_stuck_[before])) {
      make_stuck(w);
      has_changed = true;
    } else {
      lowest = std::min(lowest, floor_[w]);
    }
  }
  if (lowest == INT64_MAX) return is_dead_at(waiting_[0]);
  for (const std::uint32_t w : waiting_) {
    if (!is_stuck_[w]) continue;
    std::int64_t least = INT64_MAX;
    for (const Meeting& meeting : blocks_.blocks[w].meetings) {
      const std::uint32_t y = meeting.other;
      if (!is_waiting(y)) continue;
      const std::int64_t from = std::max(earliest_[y], lowest);
      if (techniques_.dominance && from >= hole_[w] + meeting.clear_us) continue;
      least = std::min(least, from + meeting.clear_other);
    }
    if (least == INT64_MAX) return is_dead_at(w);
    if (least <= earliest_[w]) continue;
    earliest_[w] = blocks_.lowest(w, least);
    has_changed = true;
    if (earliest_[w] > latest_[w]) return is_dead_at(w);
  }
  return true;
}

/// Of two conflicting blocks, one is above the other. If only one order has room, it moves both
/// bounds.
bool LockSearch::order_pairs(bool& has_changed) {
  const auto put_above = [&](std::uint32_t below, std::uint32_t above, std::int64_t clear) {
    if (earliest_[below] + clear > earliest_[above]) {
      earliest_[above] = blocks_.lowest(above, earliest_[below] + clear);
      has_changed = true;
    }
    if (latest_[above] - clear < latest_[below]) {
      latest_[below] = blocks_.highest(below, latest_[above] - clear);
      has_changed = true;
    }
    if (earliest_[above] > latest_[above]) return is_dead_at(above);
    return earliest_[below] <= latest_[below] || is_dead_at(below);
  };
  for (const std::uint32_t w : waiting_) {
    for (const Meeting& meeting : blocks_.blocks[w].meetings) {
      const std::uint32_t y = meeting.other;
      if (y < w || !is_waiting(y)) continue;
      const bool can_be_below = earliest_[w] + meeting.clear_us <= latest_[y];
      const bool can_be_above = earliest_[y] + meeting.clear_other <= latest_[w];
      if (can_be_below && can_be_above) continue;
      if (!can_be_below && !can_be_above) return is_dead_at(w) || is_dead_at(y);
      if (can_be_below ? !put_above(w, y, meeting.clear_us)
                       : !put_above(y, w, meeting.clear_other)) {
        return false;
      }
    }
  }
  return true;
}

bool LockSearch::cliques_fit() {
  return std::all_of(cliques_.begin(), cliques_.end(),
                     [&](const LockClique& clique) { return end_of(clique) <= capacity_; });
}

/// A lower bound for the end of a clique's waiting blocks at this node: for every offset, the
/// blocks that cannot be below it.
std::int64_t LockSearch::end_of(const LockClique& clique) {
  stack_.clear();
  for (const LockClique::Member& member : clique.members) {
    if (is_waiting(member.block) && seen_in_[member.block] == node_) stack_.push_back(member);
  }
  std::sort(stack_.begin(), stack_.end(),
            [&](const LockClique::Member& a, const LockClique::Member& b) {
              return earliest_[a.block] > earliest_[b.block];
            });
  std::int64_t end = 0;
  std::int64_t sum = 0;
  std::int64_t more = INT64_MAX;
  for (const LockClique::Member& member : stack_) {
    sum += member.clears;
    more = std::min(more, member.more);
    end = std::max(end, earliest_[member.block] + sum + more);
  }
  return end;
}

}  // namespace tessera::memory
