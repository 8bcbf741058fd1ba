// SPDX-License-Identifier: Apache-2.0
// Earliest and latest places of the blocks that wait at a node.
#include <algorithm>

#include "tessera/memory/lock_search.h"

namespace tessera::memory {

/// False when there is no plan from here.
bool LockSearch::tighten(Level level) {
  // Whatever goes down next has its floor ahead.
  std::int64_t next = INT64_MAX;
  for (const std::uint32_t w : waiting_) {
    if (is_ahead(w, level)) next = std::min(next, floor_[w]);
  }
  if (next == INT64_MAX) return false;
  for (const std::uint32_t w : waiting_) {
    const bool is_passed = !is_ahead(w, level);
    is_open_[w] = !is_passed && (!techniques_.dominance || hole_[w] == floor_[w]);
    // A passed one has to rest on something that goes down from here on.
    earliest_[w] = is_passed ? blocks_.lowest(w, next + 1) : floor_[w];
    latest_[w] = blocks_.highest(w, capacity_ - blocks_.blocks[w].size);
    if (earliest_[w] > latest_[w]) return false;
  }
  constexpr int kRounds = 4;  // more gain little
  bool has_changed = true;
  for (int round = 0; round < kRounds && has_changed; ++round) {
    has_changed = false;
    if (!raise_stuck(has_changed) || !order_pairs(has_changed)) return false;
  }
  return true;
}

/// What cannot go down now does so only on top of something that it meets: where it has a hole, of
/// something that takes the hole.
bool LockSearch::raise_stuck(bool& has_changed) {
  for (const std::uint32_t w : waiting_) {
    if (is_open_[w]) continue;
    std::int64_t least = INT64_MAX;
    for (const Meeting& meeting : blocks_.blocks[w].meetings) {
      const std::uint32_t y = meeting.other;
      if (!is_waiting(y)) continue;
      if (techniques_.dominance && earliest_[y] >= hole_[w] + meeting.clear_us) continue;
      least = std::min(least, earliest_[y] + meeting.clear_other);
    }
    if (least == INT64_MAX) return false;
    if (least <= earliest_[w]) continue;
    earliest_[w] = blocks_.lowest(w, least);
    has_changed = true;
    if (earliest_[w] > latest_[w]) return false;
  }
  return true;
}

/// Of two that meet, one is above the other; where only one order has room, it moves both.
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
    return earliest_[above] <= latest_[above] && earliest_[below] <= latest_[below];
  };
  for (const std::uint32_t w : waiting_) {
    for (const Meeting& meeting : blocks_.blocks[w].meetings) {
      const std::uint32_t y = meeting.other;
      if (y < w || !is_waiting(y)) continue;
      const bool can_be_below = earliest_[w] + meeting.clear_us <= latest_[y];
      const bool can_be_above = earliest_[y] + meeting.clear_other <= latest_[w];
      if (can_be_below && can_be_above) continue;
      if (!can_be_below && !can_be_above) return false;
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

/// What a clique's waiting blocks of this node end at, at least: for every place, those of them
/// that cannot be below it.
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
