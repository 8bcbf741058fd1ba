// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/lock_step/lock_search.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "tessera/base/mixing.h"

namespace tessera::memory {
namespace {

constexpr int kOrders = 4;
constexpr std::int64_t kFirstNodes = 400;  ///< of each run of the first turn
constexpr std::int64_t kNearShare = 8;     ///< share of a turn's nodes for a search near the bound

}  // namespace

LockSearch::LockSearch(const LockBlocks& blocks, const std::vector<LockClique>& cliques,
                       const Techniques& techniques, WorkBudget& budget)
    : blocks_(blocks),
      cliques_(cliques),
      techniques_(techniques),
      budget_(budget),
      bound_(blocks.fixed_end),
      at_(blocks.count(), -1),
      floor_(blocks.count(), 0),
      hole_(blocks.count(), 0),
      is_stuck_(blocks.count(), false),
      dead_ends_(blocks.count(), 1),
      earliest_(blocks.count(), 0),
      latest_(blocks.count(), 0),
      seen_in_(blocks.count(), 0) {
  for (std::size_t b = 0; b < blocks.count(); ++b) {
    floor_[b] = hole_[b] = earliest_[b] = blocks.lowest(b, 0);
    bound_ = std::max(bound_, earliest_[b] + blocks.blocks[b].size);
  }
  for (const LockClique& clique : cliques) {
    bound_ = std::max(bound_, end_of(clique));
    clique_work_ += static_cast<std::int64_t>(clique.members.size());
  }
}

SearchEnd LockSearch::within(std::int64_t capacity) {
  if (capacity < bound_) return SearchEnd::kNone;
  for (std::int64_t nodes = kFirstNodes; !budget_.is_spent(); nodes += nodes / 2) {
    const SearchEnd end = turn(capacity, nodes, far_);
    if (end != SearchEnd::kStopped) return end;
  }
  return SearchEnd::kStopped;
}

SearchEnd LockSearch::lowest(std::int64_t target, std::int64_t others, std::int64_t& peak,
                             std::int64_t& proven_bound) {
  const std::int64_t grain = blocks_.grain;
  proven_bound = std::max(proven_bound, bound_);
  bool is_near = true;  // alternates between near the bound and just below the plan
  int proofs = 0;       // consecutive proofs of the near ones
  for (std::int64_t nodes = kFirstNodes;;) {
    const std::int64_t low = std::max(target, proven_bound);
    const std::int64_t high = (peak - 1) / grain * grain;  // the next lower possible peak
    if (proven_bound > high) proven_bound = std::max(proven_bound, peak);
    if (peak <= target || proven_bound >= peak) return SearchEnd::kFound;
    // What fails just below the plan also fails just below every lower plan, so the final proof is
    // made there; but the bound is very often the optimum. A bound that rises easily rises in
    // longer and longer steps, however far the plan is.
    const std::int64_t room = std::max<std::int64_t>(0, high - low) / grain;
    const std::int64_t climb =
        std::min(room, (std::int64_t{1} << std::clamp(proofs - 1, 0, 61)) - 1);
    const std::int64_t capacity = is_near ? low + climb * grain : std::max(low, high);
    const SearchEnd end =
        turn(capacity, is_near ? nodes / kNearShare : nodes, is_near ? near_ : far_);
    if (end == SearchEnd::kFound) {
      peak = blocks_.peak(offsets_);
      budget_.peak = std::max(peak, others);
      proofs = 0;
    } else if (end == SearchEnd::kNone) {
      proven_bound = std::min(peak, blocks_.above(capacity));
      budget_.proven_bound = std::max(budget_.proven_bound, proven_bound);
      ++proofs;
    } else if (budget_.is_spent()) {
      return end;
    } else {
      is_near = !is_near;
      proofs = 0;
      if (is_near) nodes += nodes / 2;
    }
  }
}

/// Every order once, each for at most `nodes`; later turns add increasing noise.
SearchEnd LockSearch::turn(std::int64_t capacity, std::int64_t nodes, Known& known) {
  if (capacity > known.capacity) known.failures.clear();
  known.capacity = capacity;
  known_ = &known;
  capacity_ = capacity;
  for (order_ = 0; order_ < kOrders; ++order_) {
    budget_.start_run(techniques_.preordering ? nodes : INT64_MAX);
    const SearchEnd end = run();
    if (end != SearchEnd::kStopped || budget_.is_spent()) return end;
  }
  ++turns_;
  return SearchEnd::kStopped;
}

bool LockSearch::is_known(const StateKey& key) const {
  return known_->failures.has(key) || (far_.capacity >= capacity_ && far_.failures.has(key));
}

SearchEnd LockSearch::run() {
  members_.clear();
  ends_.clear();
  frames_.clear();
  for (std::size_t b = 0; b < blocks_.count(); ++b) {
    members_.push_back(static_cast<std::uint32_t>(b));
  }
  Step step = enter(0, members_.size());
  while (step != Step::kStopped && !frames_.empty()) {
    Frame& frame = frames_.back();
    if (step == Step::kDead && frame.is_split) {  // one part has no plan, so there is none
      remember(frame.key);
      drop_frame();
    } else if (step == Step::kDone && !frame.is_split) {
      drop_frame();
    } else {
      step = go_on(frame);
    }
  }
  if (step == Step::kDone) offsets_ = at_;
  undo(0);
  return step == Step::kDone   ? SearchEnd::kFound
         : step == Step::kDead ? SearchEnd::kNone
                               : SearchEnd::kStopped;
}

void LockSearch::drop_frame() {
  members_.resize(frames_.back().members);
  ends_.resize(frames_.back().ends);
  frames_.pop_back();
}

void LockSearch::remember(const StateKey& key) {
  // Without memory for it the state is visited again, which is only slower.
  if (techniques_.memory_of_failures) (void)known_->failures.add(key);
}

/// The next option or part of a frame.
LockSearch::Step LockSearch::go_on(Frame& frame) {
  const int option = frame.next++;
  if (frame.is_split) {
    const std::size_t at = frame.ends + static_cast<std::size_t>(option);
    if (at == ends_.size()) {
      drop_frame();
      return Step::kDone;
    }
    return enter(option == 0 ? frame.members : ends_[at - 1], ends_[at]);
  }
  undo(frame.mark);
  if (option == frame.options) {
    remember(frame.key);
    drop_frame();
    return Step::kDead;
  }
  if (option == 0) {
    put_down(frame.block);
  } else {
    make_stuck(frame.block);
  }
  return enter(frame.begin, frame.end);
}

LockSearch::Step LockSearch::enter(std::size_t begin, std::size_t end) {
  waiting_.clear();
  ++node_;
  std::int64_t work = 1 + clique_work_;
  for (std::size_t i = begin; i < end; ++i) {
    const std::uint32_t b = members_[i];
    if (!is_waiting(b)) continue;
    waiting_.push_back(b);
    seen_in_[b] = node_;
    work += static_cast<std::int64_t>(blocks_.blocks[b].meetings.size()) + 4;
  }
  if (waiting_.empty()) return Step::kDone;
  if (!budget_.goes_on(work)) return Step::kStopped;
  Frame frame;
  frame.begin = begin;
  frame.end = end;
  frame.members = members_.size();
  frame.ends = ends_.size();
  if (techniques_.memory_of_failures) {
    frame.key = key_of();
    if (is_known(frame.key)) return Step::kDead;
  }
  // Changes from here on follow from the state, and are undone by the previous frame.
  if (!tighten()) return Step::kDead;
  if (techniques_.section_inference && !cliques_fit()) return Step::kDead;
  frame.mark = trail_.size();
  if (!techniques_.dynamic_decomposition || !split(frame)) choose(frame);
  frames_.push_back(frame);
  return Step::kOpen;
}

/// The parts of the waiting blocks; false when they are one.
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
    ends_.push_back(members_.size());
  }
  frame.is_split = true;
  return true;
}

/// Chooses a block that is at its floor or stuck, and whether it can be either.
void LockSearch::choose(Frame& frame) {
  double best = -1;
  for (const std::uint32_t w : waiting_) {
    const std::int32_t twin = blocks_.blocks[w].twin;
    if (is_stuck_[w] ||
        (techniques_.symmetry && twin >= 0 && is_waiting(static_cast<std::size_t>(twin)))) {
      continue;
    }
    bool is_lowest = true;
    bool can_be_taken = false;
    for (const Meeting& meeting : blocks_.blocks[w].meetings) {
      if (!is_waiting(meeting.other)) continue;
      const std::int64_t earliest = earliest_[meeting.other];
      is_lowest = is_lowest && earliest >= floor_[w];
      can_be_taken = can_be_taken || earliest < floor_[w] + meeting.clear_us;
    }
    if (!is_lowest) continue;
    frame.options = can_be_taken || !techniques_.dominance ? 2 : 1;
    const double urgent = frame.options == 1 ? HUGE_VAL : urgency(w);
    if (urgent <= best) continue;
    best = urgent;
    frame.block = w;
    if (frame.options == 1) return;
  }
  frame.options = 2;
  assert(best >= 0);
}

/// The priority of a block, at least 0: blocks with dead ends, little room, a large size or a low
/// offset come first, with a noise that grows from turn to turn.
double LockSearch::urgency(std::uint32_t b) const {
  const std::uint64_t noise = std::min<std::uint64_t>(turns_, 8) * 8;
  const std::uint64_t draw =
      mixed(mixed(turns_ * kOrders + static_cast<std::uint64_t>(order_)) + b) % 256 * noise;
  const double factor = 1 + static_cast<double>(draw) / 16384;
  const auto size = static_cast<double>(blocks_.blocks[b].size);
  const auto room = static_cast<double>(latest_[b] - earliest_[b] + 1);
  const auto dead_ends = static_cast<double>(dead_ends_[b]);
  switch (order_) {
    case 0:
      return factor * dead_ends / room;
    case 1:
      return factor * dead_ends;
    case 2:
      return factor * size;
    default:
      return factor / static_cast<double>(floor_[b] + 1);
  }
}

StateKey LockSearch::key_of() const {
  StateKey key{1, 1};
  for (const std::uint32_t w : waiting_) {
    const auto floor = static_cast<std::uint64_t>(floor_[w]) * 2 + (is_stuck_[w] ? 1 : 0);
    const std::uint64_t of_block =
        mixed(mixed(mixed(w) + floor) + static_cast<std::uint64_t>(hole_[w]));
    key.first += of_block;
    key.second += mixed(of_block ^ kGoldenStep);
  }
  return key;
}

}  // namespace tessera::memory
