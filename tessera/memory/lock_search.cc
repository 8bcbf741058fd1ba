// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/lock_search.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "tessera/base/mixing.h"

namespace tessera::memory {
namespace {

constexpr int kOrders = 4;
constexpr std::int64_t kFirstNodes = 200;  ///< of each run of the first turn

std::int64_t log16(std::int64_t value) {
  const int bits = 63 - std::countl_zero(static_cast<std::uint64_t>(value));
  const std::int64_t rest = bits >= 4 ? (value >> (bits - 4)) & 15 : (value << (4 - bits)) & 15;
  return std::int64_t{16} * bits + rest;
}

}  // namespace

LockSearch::LockSearch(const LockBlocks& blocks, const std::vector<LockClique>& cliques,
                       const Techniques& techniques, Patience& patience)
    : blocks_(blocks),
      cliques_(cliques),
      techniques_(techniques),
      patience_(patience),
      bound_(blocks.fixed_end),
      at_(blocks.count(), -1),
      floor_(blocks.count(), 0),
      hole_(blocks.count(), 0),
      earliest_(blocks.count(), 0),
      latest_(blocks.count(), 0),
      is_open_(blocks.count(), false),
      seen_in_(blocks.count(), 0) {
  for (std::size_t b = 0; b < blocks.count(); ++b) {
    floor_[b] = hole_[b] = earliest_[b] = blocks.lowest(b, 0);
    bound_ = std::max(bound_, earliest_[b] + blocks.blocks[b].size);
  }
  for (const LockClique& clique : cliques) bound_ = std::max(bound_, end_of(clique));
}

SearchEnd LockSearch::within(std::int64_t capacity) {
  if (capacity < bound_) return SearchEnd::kNone;
  for (std::int64_t nodes = kFirstNodes; !patience_.is_spent(); nodes += nodes / 4) {
    const SearchEnd end = turn(capacity, nodes);
    if (end != SearchEnd::kStopped) return end;
  }
  return SearchEnd::kStopped;
}

SearchEnd LockSearch::lowest(std::int64_t target, std::int64_t others, std::int64_t& peak,
                             std::int64_t& proven_bound) {
  const std::int64_t grain = blocks_.grain;
  proven_bound = std::max(proven_bound, bound_);
  for (std::int64_t nodes = kFirstNodes;; nodes += nodes / 4) {
    // As low as may be first, then by halves of what is unknown.
    std::int64_t tried = -1;
    for (;;) {
      const std::int64_t low = std::max(target, proven_bound);
      const std::int64_t high = (peak - 1) / grain * grain;  // the next lower peak that can be
      if (proven_bound > high) proven_bound = std::max(proven_bound, peak);
      if (peak <= target || proven_bound >= peak) return SearchEnd::kFound;
      if (tried >= high) break;
      const std::int64_t half = std::max(grain, (high - tried) / 2 / grain * grain);
      const std::int64_t capacity = tried < 0 ? low : std::max(low, std::min(high, tried + half));
      const SearchEnd end = turn(capacity, nodes);
      if (end == SearchEnd::kFound) {
        peak = blocks_.peak(offsets_);
        patience_.peak = std::max(peak, others);
        continue;
      }
      tried = capacity;
      if (end == SearchEnd::kNone) {
        proven_bound = std::min(peak, blocks_.above(capacity));
        patience_.proven_bound = std::max(patience_.proven_bound, proven_bound);
      } else if (patience_.is_spent()) {
        return end;
      }
    }
  }
}

/// Every order once, each for at most `nodes`; later turns shuffle more and more.
SearchEnd LockSearch::turn(std::int64_t capacity, std::int64_t nodes) {
  if (capacity > capacity_) failures_.clear();
  capacity_ = capacity;
  for (order_ = 0; order_ < kOrders; ++order_) {
    patience_.start_run(techniques_.preordering ? nodes : INT64_MAX);
    const SearchEnd end = run();
    if (end != SearchEnd::kStopped || patience_.is_spent()) return end;
  }
  ++turns_;
  return SearchEnd::kStopped;
}

SearchEnd LockSearch::run() {
  members_.clear();
  choices_.clear();
  frames_.clear();
  for (std::size_t b = 0; b < blocks_.count(); ++b) {
    members_.push_back(static_cast<std::uint32_t>(b));
  }
  Step step = enter(0, members_.size(), {});
  while (step != Step::kStopped) {
    if (step == Step::kDead && !frames_.empty() && frames_.back().is_split) {
      undo(frames_.back().mark);  // one part has no plan, so there is none
      if (techniques_.memory_of_failures) (void)failures_.add(frames_.back().key);
      drop_frame();
      continue;
    }
    if (step == Step::kDone && !frames_.empty() && !frames_.back().is_split) {
      drop_frame();
      continue;
    }
    if (frames_.empty()) break;
    step = go_on(frames_.size() - 1);
  }
  if (step == Step::kDone) offsets_ = at_;
  undo(0);
  return step == Step::kDone   ? SearchEnd::kFound
         : step == Step::kDead ? SearchEnd::kNone
                               : SearchEnd::kStopped;
}

void LockSearch::drop_frame() {
  members_.resize(frames_.back().members);
  choices_.resize(frames_.back().choices);
  frames_.pop_back();
}

/// The next choice or part of a frame.
LockSearch::Step LockSearch::go_on(std::size_t number) {
  Frame& frame = frames_[number];
  const std::size_t at = frame.choices + frame.next;
  if (frame.is_split) {
    if (at == choices_.size()) {
      drop_frame();
      return Step::kDone;
    }
    const std::size_t begin = frame.next == 0 ? frame.members : choices_[at - 1];
    ++frame.next;
    return enter(begin, choices_[at], frame.level);
  }
  undo(frame.mark);
  if (at == choices_.size()) {
    // Without memory for it the state is looked at again, which is only slower.
    if (techniques_.memory_of_failures) (void)failures_.add(frame.key);
    drop_frame();
    return Step::kDead;
  }
  ++frame.next;
  const auto b = static_cast<std::uint32_t>(choices_[at]);
  const Level level{floor_[b], b};
  const auto [begin, end] = std::pair(frame.begin, frame.end);
  put_down(b);
  return enter(begin, end, level);
}

LockSearch::Step LockSearch::enter(std::size_t begin, std::size_t end, Level level) {
  waiting_.clear();
  ++node_;
  std::int64_t work = 1;
  for (std::size_t i = begin; i < end; ++i) {
    const std::uint32_t b = members_[i];
    if (!is_waiting(b)) continue;
    waiting_.push_back(b);
    seen_in_[b] = node_;
    work += static_cast<std::int64_t>(blocks_.blocks[b].meetings.size()) + 4;
  }
  if (waiting_.empty()) return Step::kDone;
  if (!patience_.goes_on(work)) return Step::kStopped;
  Frame frame{begin, end, level, trail_.size(), members_.size(), choices_.size(), 0, false, {}};
  if (techniques_.memory_of_failures) {
    frame.key = key_of(level);
    if (failures_.has(frame.key)) return Step::kDead;
  }
  if (!tighten(level)) return Step::kDead;
  if (techniques_.section_inference && !cliques_fit()) return Step::kDead;
  if (!techniques_.dynamic_decomposition || !split(frame)) choose(frame);
  if (choices_.size() == frame.choices) return Step::kDead;
  frames_.push_back(frame);
  return Step::kOpen;
}

/// The parts of the waiting blocks as a frame's choices; false when they are one.
bool LockSearch::split(Frame& frame) {
  for (const std::uint32_t start : waiting_) {
    if (seen_in_[start] != node_) continue;
    const std::size_t begin = members_.size();
    members_.push_back(start);
    seen_in_[start] = 0;
    for (std::size_t i = begin; i < members_.size(); ++i) {
      for (const Meeting& meeting : blocks_.blocks[members_[i]].meetings) {
        if (seen_in_[meeting.other] != node_) continue;
        seen_in_[meeting.other] = 0;
        members_.push_back(meeting.other);
      }
    }
    if (members_.size() - begin == waiting_.size()) {
      members_.resize(begin);
      return false;
    }
    std::sort(members_.begin() + static_cast<std::ptrdiff_t>(begin), members_.end());
    choices_.push_back(members_.size());
  }
  frame.is_split = true;
  return true;
}

/// The blocks that may go down next, best first.
void LockSearch::choose(const Frame& frame) {
  // Nothing may go down after this: it would pass a place that nobody could take any more.
  auto limit = std::pair<std::int64_t, std::int64_t>(INT64_MAX, 0);
  std::int64_t latest = INT64_MAX;
  for (const std::uint32_t w : waiting_) {
    latest = std::min(latest, latest_[w]);
    if (!techniques_.dominance) continue;
    std::int64_t taken = -1;
    for (const Meeting& meeting : blocks_.blocks[w].meetings) {
      const std::int64_t end = hole_[w] + meeting.clear_us;
      if (is_waiting(meeting.other) && earliest_[meeting.other] < end) {
        taken = std::max(taken, end);
      }
    }
    if (taken < 0 && !is_open_[w]) return;
    limit = std::min(limit, taken < 0 ? std::pair(floor_[w], std::int64_t{w})
                                      : std::pair(taken, std::int64_t{-1}));
  }
  for (const std::uint32_t w : waiting_) {
    const std::int32_t twin = blocks_.blocks[w].twin;
    if (!is_open_[w] || earliest_[w] > floor_[w] || floor_[w] > latest ||
        std::pair(floor_[w], std::int64_t{w}) > limit ||
        (techniques_.symmetry && twin >= 0 && is_waiting(static_cast<std::size_t>(twin)))) {
      continue;
    }
    choices_.push_back(w);
  }
  const auto key = [&](std::size_t b) {
    const auto w = static_cast<std::uint32_t>(b);
    switch (order_) {
      case 0:
        return std::tuple(floor_[w], rank(w), w);
      case 1:
        return std::tuple(latest_[w], rank(w), w);
      case 2:
        return std::tuple(rank(w), floor_[w], w);
      default:
        return std::tuple(latest_[w] - floor_[w], rank(w), w);
    }
  };
  std::sort(choices_.begin() + static_cast<std::ptrdiff_t>(frame.choices), choices_.end(),
            [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
}

/// Large blocks first, with a noise that grows from turn to turn.
std::int64_t LockSearch::rank(std::uint32_t b) const {
  const std::uint64_t noise = 1 + std::min<std::uint64_t>(turns_, 8) * 8;
  const std::uint64_t draw =
      mixed(mixed(turns_ * kOrders + static_cast<std::uint64_t>(order_)) + b);
  return -log16(blocks_.blocks[b].size) - static_cast<std::int64_t>(draw % noise);
}

StateKey LockSearch::key_of(Level level) const {
  StateKey key{1, 1};
  for (const std::uint32_t w : waiting_) {
    const bool is_passed = !is_ahead(w, level);
    const std::uint64_t floor = is_passed ? 0 : static_cast<std::uint64_t>(floor_[w]) + 1;
    const std::uint64_t hole = techniques_.dominance ? static_cast<std::uint64_t>(hole_[w]) : 0;
    const std::uint64_t of_block = mixed(mixed(mixed(w) + floor) + hole);
    key.first += of_block;
    key.second += mixed(of_block ^ kGoldenStep);
  }
  return key;
}

void LockSearch::put_down(std::uint32_t b) {
  trail_.push_back({b, true, 0, 0});
  at_[b] = floor_[b];
  for (const Meeting& meeting : blocks_.blocks[b].meetings) {
    const std::uint32_t w = meeting.other;
    if (!is_waiting(w)) continue;
    trail_.push_back({w, false, floor_[w], hole_[w]});
    floor_[w] = blocks_.lowest(w, std::max(floor_[w], at_[b] + meeting.clear_us));
    if (hole_[w] + meeting.clear_other > at_[b]) hole_[w] = floor_[w];
  }
}

void LockSearch::undo(std::size_t mark) {
  for (; trail_.size() > mark; trail_.pop_back()) {
    const Change& change = trail_.back();
    if (change.went_down) {
      at_[change.block] = -1;
    } else {
      floor_[change.block] = change.floor;
      hole_[change.block] = change.hole;
    }
  }
}

}  // namespace tessera::memory
