// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/solver/search.h"

#include <algorithm>

#include "tessera/base/mixing.h"

namespace tessera::memory {

bool Search::prefers(const Corner& corner, const Corner& best) const {
  if (best.section < 0) return true;
  const std::int64_t lower = best.niche.floor - corner.niche.floor;
  const std::int32_t fewer = best.options() - corner.options();
  switch (tactics_.choice) {
    case CornerChoice::kFewest:
      return fewer > 0;
    case CornerChoice::kFewestLowest:
      if (fewer != 0) return fewer > 0;
      if (corner.can_rise != best.can_rise) return best.can_rise;
      return lower > 0;
    case CornerChoice::kLowest:
      return lower != 0 ? lower > 0 : fewer > 0;
    case CornerChoice::kWorst: {
      const std::int64_t ours =
          corner.options() * (1 + dead_ends_[static_cast<std::size_t>(best.section)]);
      const std::int64_t theirs =
          best.options() * (1 + dead_ends_[static_cast<std::size_t>(corner.section)]);
      return ours != theirs ? ours < theirs : lower > 0;
    }
  }
  return false;
}

Search::Step Search::settle_niche(const Niche& niche, std::int32_t low, std::int32_t high,
                                  Corner& best, bool& has_changed) {
  for (const bool is_left : {true, false}) {
    const Corner corner = view_.look(niche, is_left, low, high);
    if (corner.options() == 0) {
      ++dead_ends_[static_cast<std::size_t>(corner.section)];
      return Step::kDead;
    }
    if (corner.options() > 1) {
      if (prefers(corner, best)) best = corner;
      continue;
    }
    has_changed = true;
    if (corner.candidates == 1) {
      return state_.put_down(view_.only(corner), niche.floor) ? Step::kOpen : Step::kNoMemory;
    }
    if (!state_.raise(corner.section, view_.rise(corner, low, high))) return Step::kNoMemory;
    return techniques_.dominance && view_.leaves_room(corner.section) ? Step::kDead : Step::kOpen;
  }
  return Step::kOpen;
}

Search::Step Search::settle(std::int32_t low, std::int32_t high, Corner& best) {
  for (bool has_changed = true; has_changed;) {
    if (!budget_.works_on(high - low)) return Step::kStopped;
    has_changed = false;
    best = Corner{};
    for (std::int32_t from = low; from < high;) {
      if (state_.waiting(from) == 0) {
        ++from;
        continue;
      }
      const std::int64_t floor = state_.floor(from);
      std::int32_t to = from + 1;
      while (to < high && state_.crossing(to) > 0 && state_.floor(to) == floor) ++to;
      const bool is_niche =
          (from == low || state_.crossing(from) == 0 || state_.floor(from - 1) > floor) &&
          (to == high || state_.crossing(to) == 0 || state_.floor(to) > floor);
      if (is_niche) {
        bool has_moved = false;
        const Step step = settle_niche({from, to, floor}, low, high, best, has_moved);
        if (step != Step::kOpen) return step;
        if (has_moved) {
          has_changed = true;
          continue;  // the stretch that begins here has changed
        }
      }
      from = to;
    }
  }
  return best.section < 0 ? Step::kDone : Step::kOpen;
}

StateKey Search::key_of(std::int32_t low, std::int32_t high) const {
  StateKey key{static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high)};
  for (std::int32_t s = low; s < high; ++s) {
    const std::uint64_t word =
        state_.waiting_hash(s) + static_cast<std::uint64_t>(state_.floor(s)) * kGoldenStep;
    key.first = (key.first ^ word) * 0xD6E8FEB86659FD93U;
    key.first ^= key.first >> 32;
    key.second = (key.second + word) * 0xA0761D6478BD642FU;
    key.second ^= key.second >> 29;
  }
  return key;
}

Search::Step Search::split(std::int32_t low, std::int32_t high, std::size_t mark) {
  Frame frame;
  frame.mark = mark;
  frame.pool = pool_.size();
  frame.is_split = true;
  for (std::int32_t from = low; from < high;) {
    if (state_.waiting(from) == 0) {
      ++from;
      continue;
    }
    std::int32_t to = from + 1;
    while (to < high && state_.crossing(to) > 0) ++to;
    if (!pool_.push(from) || !pool_.push(to)) return Step::kNoMemory;
    ++frame.parts;
    from = to;
  }
  return frames_.push(frame) ? Step::kOpen : Step::kNoMemory;
}

/// How well a block fills a corner: its top is level with a neighbour's floor, its width is the
/// niche's.
int Search::flushness(const Corner& corner, std::int32_t b, std::int32_t low,
                      std::int32_t high) const {
  const Niche& niche = corner.niche;
  const Block& block = state_.block(b);
  const std::int64_t top = niche.floor + block.size;
  const bool is_whole = block.from == niche.from && block.to == niche.to;
  const bool left = niche.from > low && state_.floor(niche.from - 1) == top;
  const bool right = niche.to < high && state_.floor(niche.to) == top;
  return (is_whole ? 1 : 0) + ((is_whole || corner.is_left) && left ? 2 : 0) +
         ((is_whole || !corner.is_left) && right ? 2 : 0);
}

Search::Step Search::enter(std::int32_t low, std::int32_t high) {
  Frame frame;
  frame.mark = state_.mark();
  Corner& best = frame.corner;
  const Step step = settle(low, high, best);
  if (step != Step::kOpen) {
    if (step == Step::kDead) state_.undo(frame.mark);
    return step;
  }
  while (state_.waiting(low) == 0) ++low;
  while (state_.waiting(high - 1) == 0) --high;
  if (techniques_.dynamic_decomposition) {
    std::int32_t wall = low + 1;
    while (wall < high && state_.crossing(wall) > 0) ++wall;
    if (wall < high) return split(low, high, frame.mark);
  }
  frame.low = low;
  frame.high = high;
  frame.decided = state_.mark();
  frame.pool = pool_.size();
  if (techniques_.memory_of_failures) {
    frame.key = key_of(low, high);
    frame.is_known = true;
    if (failures_.has(frame.key)) {
      state_.undo(frame.mark);
      return Step::kDead;
    }
  }
  if (!view_.collect(best, pool_)) return Step::kNoMemory;
  std::sort(pool_.begin() + frame.pool, pool_.end(), [&](std::int32_t a, std::int32_t b) {
    if (tactics_.seeks_flush) {
      const int flush_a = flushness(best, a, low, high);
      const int flush_b = flushness(best, b, low, high);
      if (flush_a != flush_b) return flush_a > flush_b;
    }
    const std::int64_t rank_a = ranks_[static_cast<std::size_t>(a)];
    const std::int64_t rank_b = ranks_[static_cast<std::size_t>(b)];
    return rank_a != rank_b ? rank_a < rank_b : a < b;
  });
  return frames_.push(frame) ? Step::kOpen : Step::kNoMemory;
}

/// Takes the next option of a node; kDead when none is left.
Search::Step Search::try_next(Frame& frame) {
  const Corner& corner = frame.corner;
  state_.undo(frame.decided);
  const std::int32_t option = frame.next++;
  if (option < corner.candidates) {
    const std::int32_t b = pool_[frame.pool + static_cast<std::size_t>(option)];
    return state_.put_down(b, corner.niche.floor) ? Step::kOpen : Step::kNoMemory;
  }
  if (option == corner.candidates && corner.can_rise) {
    const std::int64_t rise = view_.rise(corner, frame.low, frame.high);
    if (!state_.raise(corner.section, rise)) return Step::kNoMemory;
    if (!techniques_.dominance || !view_.leaves_room(corner.section)) return Step::kOpen;
  }
  state_.undo(frame.mark);
  if (frame.is_known && !failures_.add(frame.key)) return Step::kNoMemory;
  return Step::kDead;
}

Search::Step Search::next_part(Frame& frame) {
  const std::size_t at = frame.pool + 2 * static_cast<std::size_t>(frame.next++);
  return enter(pool_[at], pool_[at + 1]);
}

void Search::drop_frame() {
  pool_.shrink(frames_.back().pool);
  frames_.pop();
}

SearchEnd Search::run() {
  const std::size_t start = state_.mark();
  frames_.clear();
  pool_.clear();
  for (std::int32_t s = 0; s < state_.sections(); ++s) {
    if (view_.slack(s) < 0) return SearchEnd::kNone;
  }
  SearchEnd end = SearchEnd::kStopped;
  for (Step step = enter(0, state_.sections());;) {
    if (step == Step::kStopped) break;
    if (step == Step::kNoMemory) {
      end = SearchEnd::kNoMemory;
      break;
    }
    if (step == Step::kDone) {
      // A part is solved: the decisions that led to it are final, and the next part of its set
      // follows.
      while (!frames_.empty() && !frames_.back().is_split) drop_frame();
      if (frames_.empty()) return SearchEnd::kFound;
    } else if (frames_.empty()) {
      end = SearchEnd::kNone;
      break;
    }
    Frame& frame = frames_.back();
    if (frame.is_split) {
      if (step == Step::kDead) {
        state_.undo(frame.mark);
        drop_frame();
        continue;
      }
      if (frame.next == frame.parts) {
        drop_frame();
        step = Step::kDone;
      } else {
        step = next_part(frame);
      }
      continue;
    }
    if (!budget_.goes_on(frame.high - frame.low)) break;
    step = try_next(frame);
    if (step == Step::kOpen) {
      step = enter(frame.low, frame.high);
    } else if (step == Step::kDead) {
      drop_frame();
    }
  }
  state_.undo(start);
  return end;
}

}  // namespace tessera::memory
