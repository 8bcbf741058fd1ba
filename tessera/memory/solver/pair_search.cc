// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/solver/pair_search.h"

#include <algorithm>
#include <bit>

#include "tessera/base/checked.h"
#include "tessera/base/mixing.h"

namespace tessera::memory {
namespace {

constexpr std::size_t kMostBlocks = 1024;
constexpr std::size_t kMostStrips = 2048;
constexpr std::int64_t kMostSpans = std::int64_t{1} << 20;
/// Deductions that go on and on count as nodes, so that a limit on nodes ends them.
constexpr std::uint64_t kRoundsPerNode = 64;
/// The raises of a node that are kept to find circles.
constexpr std::size_t kMostRaises = 1 << 20;

}  // namespace

bool PairSearch::can_search(const Packing& packing) {
  std::int64_t spans = 0;
  for (const Strip& strip : packing.strips) spans += strip.to - strip.from;
  return packing.blocks.size() <= kMostBlocks && packing.strips.size() <= kMostStrips &&
         spans <= kMostSpans;
}

bool PairSearch::build() {
  for (const Block& block : packing_.blocks) period_ = saturating_lcm(period_, block.alignment);
  const std::size_t blocks = packing_.blocks.size();
  return stacked_.reserve(packing_.strips.size()) && table_.build(packing_) &&
         earliest_.resize(blocks) && latest_.resize(blocks) && last_raise_.resize(blocks) &&
         first_.resize(table_.pairs.size()) && last_.resize(table_.pairs.size()) &&
         dead_ends_.assign(table_.pairs.size(), 1) && list_sections();
}

bool PairSearch::list_sections() {
  const auto sections = static_cast<std::size_t>(packing_.sections);
  if (!first_held_.assign(sections + 1, 0)) return false;
  for (const Strip& strip : packing_.strips) {
    for (std::int32_t s = strip.from; s < strip.to; ++s) {
      ++first_held_[static_cast<std::size_t>(s) + 1];
    }
  }
  for (std::size_t s = 0; s < sections; ++s) first_held_[s + 1] += first_held_[s];
  Array<std::int32_t> next;
  if (!next.copy(first_held_) || !held_.resize(static_cast<std::size_t>(first_held_.back()))) {
    return false;
  }
  for (std::size_t b = 0; b < packing_.blocks.size(); ++b) {
    for (const Strip& strip : packing_.strips_of(b)) {
      for (std::int32_t s = strip.from; s < strip.to; ++s) {
        const std::int32_t at = next[static_cast<std::size_t>(s)]++;
        held_[static_cast<std::size_t>(at)] = {static_cast<std::int32_t>(b), strip.low, strip.high};
      }
    }
  }
  return true;
}

/// False when a block alone does not fit.
bool PairSearch::reset(std::int64_t capacity) {
  trail_.clear();
  frames_.clear();
  has_memory_ = true;
  for (std::size_t b = 0; b < packing_.blocks.size(); ++b) {
    const Block& block = packing_.blocks[b];
    const std::int64_t room = capacity - block.size;
    if (room < std::max<std::int64_t>(block.fixed, 0)) return false;
    earliest_[b] = std::max<std::int64_t>(block.fixed, 0);
    latest_[b] = block.fixed >= 0 ? block.fixed : room - room % block.alignment;
  }
  for (std::size_t p = 0; p < table_.pairs.size(); ++p) {
    const BlockPair& pair = table_.pairs[p];
    first_[p] = 0;
    last_[p] = pair.sides - 1;
    if (!techniques_.symmetry || !pair.is_alike) continue;
    // Their sides are the same in both directions, and 0 is on none.
    const std::span<const Side> sides = table_.sides_of(pair);
    while (sides[static_cast<std::size_t>(first_[p])].least <= 0) ++first_[p];
  }
  return true;
}

SearchEnd PairSearch::run(std::int64_t capacity, std::uint64_t turn, Array<std::int64_t>& offsets) {
  turn_ = turn;
  if (!reset(capacity)) return SearchEnd::kNone;
  for (;;) {
    Step step = enter();
    bool is_plan = false;
    if (step == Step::kOpen) step = choose(is_plan);
    if (is_plan) return offsets.copy(earliest_) ? SearchEnd::kFound : SearchEnd::kNoMemory;
    if (step == Step::kDead) step = backtrack();
    if (step == Step::kDead) return SearchEnd::kNone;
    if (step == Step::kStopped) return SearchEnd::kStopped;
    if (step == Step::kNoMemory) return SearchEnd::kNoMemory;
  }
}

bool PairSearch::note(What what, std::int32_t of, std::int64_t before) {
  has_changed_ = true;
  has_memory_ = has_memory_ && trail_.push({what, of, before});
  return has_memory_;
}

void PairSearch::undo(std::size_t mark) {
  for (; trail_.size() > mark; trail_.pop()) {
    const Change& change = trail_.back();
    const auto of = static_cast<std::size_t>(change.of);
    switch (change.what) {
      case What::kEarliest:
        earliest_[of] = change.before;
        break;
      case What::kLatest:
        latest_[of] = change.before;
        break;
      case What::kFirst:
        first_[of] = static_cast<std::int32_t>(change.before);
        break;
      case What::kLast:
        last_[of] = static_cast<std::int32_t>(change.before);
        break;
    }
  }
}

PairSearch::Step PairSearch::enter() {
  const auto pairs = static_cast<std::int64_t>(table_.pairs.size());
  if (!budget_.goes_on(1 + 4 * pairs + static_cast<std::int64_t>(held_.size()))) {
    return Step::kStopped;
  }
  const Step step = tighten();
  if (step != Step::kOpen) return step;
  return techniques_.section_inference && !sections_fit() ? Step::kDead : Step::kOpen;
}

/// False when the block then has no offset, or memory is refused.
bool PairSearch::raise(std::int32_t block, std::int64_t offset, std::int32_t from) {
  const auto b = static_cast<std::size_t>(block);
  if (offset <= earliest_[b]) return true;
  if (!note(What::kEarliest, block, earliest_[b])) return false;
  earliest_[b] = align_up(offset, packing_.blocks[b].alignment);
  const std::int32_t cause = last_raise_[static_cast<std::size_t>(from)];
  last_raise_[b] = static_cast<std::int32_t>(raises_.size());
  has_memory_ = raises_.push({block, cause, earliest_[b]});
  return has_memory_ && earliest_[b] <= latest_[b];
}

bool PairSearch::lower(std::int32_t block, std::int64_t offset) {
  const auto b = static_cast<std::size_t>(block);
  if (offset >= latest_[b]) return true;
  if (offset < earliest_[b] || !note(What::kLatest, block, latest_[b])) return false;
  latest_[b] = offset - offset % packing_.blocks[b].alignment;
  return latest_[b] >= earliest_[b];
}

/// What follows for one pair and its blocks; false when nothing is left of them.
bool PairSearch::tighten_pair(std::size_t p) {
  const BlockPair& pair = table_.pairs[p];
  const auto a = static_cast<std::size_t>(pair.a);
  const auto b = static_cast<std::size_t>(pair.b);
  const std::span<const Side> sides = table_.sides_of(pair);
  const auto side = [&](std::int32_t i) -> const Side& {
    return sides[static_cast<std::size_t>(i)];
  };
  std::int32_t first = first_[p];
  std::int32_t last = last_[p];
  while (first <= last && side(first).most < earliest_[b] - latest_[a]) ++first;
  while (first <= last && side(last).least > latest_[b] - earliest_[a]) --last;
  if (first > last) return false;
  if (first != first_[p] && !note(What::kFirst, static_cast<std::int32_t>(p), first_[p])) {
    return false;
  }
  if (last != last_[p] && !note(What::kLast, static_cast<std::int32_t>(p), last_[p])) return false;
  first_[p] = first;
  last_[p] = last;
  const std::int64_t least = side(first).least;
  const std::int64_t most = side(last).most;
  return raise(pair.b, earliest_[a] + least, pair.a) &&
         raise(pair.a, earliest_[b] - most, pair.b) && lower(pair.a, latest_[b] - least) &&
         lower(pair.b, latest_[a] + most);
}

PairSearch::Step PairSearch::tighten() {
  raises_.clear();
  std::fill(last_raise_.begin(), last_raise_.end(), -1);
  for (std::uint64_t round = 1;; ++round) {
    has_changed_ = false;
    for (std::size_t p = 0; p < table_.pairs.size(); ++p) {
      if (tighten_pair(p)) continue;
      if (!has_memory_) return Step::kNoMemory;
      ++dead_ends_[p];
      return Step::kDead;
    }
    if (!has_changed_) return Step::kOpen;
    const bool is_due = std::has_single_bit(round) || raises_.size() > kMostRaises;
    if (is_due && climbs_forever()) return Step::kDead;
    if (round % kRoundsPerNode == 0 &&
        !budget_.goes_on(static_cast<std::int64_t>(kRoundsPerNode * table_.pairs.size()))) {
      return Step::kStopped;
    }
  }
}

/// True when some blocks raise each other in a circle, and would do so for ever. All repeats after
/// the period of the alignments, and a raise that begins higher ends higher: so what raised a block
/// from its own earlier offset by a whole period does it again and again.
bool PairSearch::climbs_forever() {
  for (std::size_t b = 0; b < last_raise_.size(); ++b) {
    if (last_raise_[b] < 0) continue;
    for (std::int32_t i = last_raise_[b]; i >= 0;) {
      const Raise& raise = raises_[static_cast<std::size_t>(i)];
      if (raise.block == static_cast<std::int32_t>(b) && earliest_[b] - raise.offset >= period_) {
        return true;
      }
      i = raise.cause;
    }
  }
  if (raises_.size() > kMostRaises) {  // from here on, as if the node began now
    raises_.clear();
    std::fill(last_raise_.begin(), last_raise_.end(), -1);
  }
  return false;
}

/// The strips of a section lie one above the other, so the highest k of them, by their earliest
/// starts, need room for all their bytes between the lowest start and the highest end of any.
bool PairSearch::sections_fit() {
  for (std::size_t s = 0; s + 1 < first_held_.size(); ++s) {
    stacked_.clear();
    for (std::int32_t i = first_held_[s]; i < first_held_[s + 1]; ++i) {
      const Held& held = held_[static_cast<std::size_t>(i)];
      const auto b = static_cast<std::size_t>(held.block);
      (void)stacked_.push(  // there is room
          {earliest_[b] + held.low, latest_[b] + held.high, held.high - held.low});
    }
    std::sort(stacked_.begin(), stacked_.end(),
              [](const Stacked& a, const Stacked& b) { return a.start > b.start; });
    std::int64_t bytes = 0;
    std::int64_t end = 0;
    for (const Stacked& each : stacked_) {
      bytes += each.bytes;
      end = std::max(end, each.end);
      if (each.start + bytes > end) return false;
    }
  }
  return true;
}

/// Large for pairs where branches ended, or whose blocks have little room; with some noise.
double PairSearch::urgency(std::size_t p) const {
  const BlockPair& pair = table_.pairs[p];
  const auto room = [this](std::int32_t block) {
    const auto b = static_cast<std::size_t>(block);
    return static_cast<double>(latest_[b] - earliest_[b]);
  };
  const std::uint64_t draw = mixed(mixed(turn_) + p) % 256 * std::min<std::uint64_t>(turn_, 16);
  return static_cast<double>(dead_ends_[p]) * (1 + static_cast<double>(draw) / 1024) /
         (1 + room(pair.a) + room(pair.b));
}

/// Decides the most urgent pair whose blocks are in each other's way at their earliest offsets. If
/// there is none, these are a plan.
PairSearch::Step PairSearch::choose(bool& is_plan) {
  Frame best;
  best.pair = -1;
  double highest = 0;
  for (std::size_t p = 0; p < table_.pairs.size(); ++p) {
    const BlockPair& pair = table_.pairs[p];
    const std::int64_t difference =
        earliest_[static_cast<std::size_t>(pair.b)] - earliest_[static_cast<std::size_t>(pair.a)];
    const std::span<const Side> sides = table_.sides_of(pair);
    auto side = static_cast<std::size_t>(last_[p]);
    while (sides[side].least > difference) --side;  // it is not below the first
    if (sides[side].most >= difference) continue;
    const double urgent = urgency(p);
    if (urgent <= highest) continue;
    highest = urgent;
    // First the branch that raises a block by less.
    const bool up = sides[side + 1].least - difference <= difference - sides[side].most;
    const auto pair_number = static_cast<std::int32_t>(p);
    best = {trail_.size(), pair_number, static_cast<std::int32_t>(side), up, false};
  }
  is_plan = best.pair < 0;
  if (is_plan) return Step::kOpen;
  return frames_.push(best) && take(best, best.was_up) ? Step::kOpen : Step::kNoMemory;
}

/// Enters one branch of a decision.
bool PairSearch::take(const Frame& frame, bool up) {
  const auto p = static_cast<std::size_t>(frame.pair);
  if (up) {
    if (!note(What::kFirst, frame.pair, first_[p])) return false;
    first_[p] = frame.side + 1;
  } else {
    if (!note(What::kLast, frame.pair, last_[p])) return false;
    last_[p] = frame.side;
  }
  return true;
}

/// Returns to the last decision with another branch; kDead when there is none.
PairSearch::Step PairSearch::backtrack() {
  for (; !frames_.empty(); frames_.pop()) {
    Frame& frame = frames_.back();
    undo(frame.mark);
    if (frame.is_last) continue;
    frame.is_last = true;
    return take(frame, !frame.was_up) ? Step::kOpen : Step::kNoMemory;
  }
  return Step::kDead;
}

}  // namespace tessera::memory
