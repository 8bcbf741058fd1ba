// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/solver/exact.h"

#include <algorithm>
#include <bit>

#include "tessera/base/mixing.h"

namespace tessera::memory {
namespace {

/// Orders of the candidates, by `weight`, largest first. Weights stay below 2^56.
constexpr int kOrders = 6;
/// A turn of pairs is a single run, as long as all orders of a turn of corners.
constexpr std::int64_t kRunsOfATurn = std::int64_t{3} * kOrders;
/// Each turn has 1/kSlowly more nodes than the one before. Many short runs find what few long ones
/// miss. When minimising it is 1/kQuickly, because a turn is already many searches.
constexpr std::int64_t kSlowly = 12;
constexpr std::int64_t kQuickly = 4;
/// The noise that every turn adds to the orders, in the unit of `weight`, up to kMostNoise times.
constexpr std::uint64_t kNoise = 80;
constexpr std::uint64_t kMostNoise = 5;

/// The logarithm to base 2, in steps of 1/16: integers are the same on every machine.
std::int64_t log16(std::int64_t value) {
  const int bits = 63 - std::countl_zero(static_cast<std::uint64_t>(value));
  const std::int64_t rest = bits >= 4 ? (value >> (bits - 4)) & 15 : (value << (4 - bits)) & 15;
  return std::int64_t{16} * bits + rest;
}

/// Large for blocks that order number `order` places first, in steps of 1/256 octave.
std::int64_t weight(const Block& block, int order) {
  const std::int64_t size = log16(block.size);
  const std::int64_t life = log16(block.to - block.from);
  switch (order) {
    case 0:
      return life * 16;
    case 1:
      return size * 16;
    case 2:
      return (size + life) * 16;
    case 3:
      return life * 16 + size * 8;
    case 4:
      return size * 16 + life * 8;
    default:
      return std::max(size, 2 * life) * 16;
  }
}

}  // namespace

bool Exact::can_search(const Packing& packing) {
  if (packing.has_gaps()) return PairSearch::can_search(packing);
  std::int64_t spans = 0;
  for (const Block& block : packing.blocks) spans += block.to - block.from;
  return packing.blocks.size() <= kMostSearchedBlocks && spans <= kMostSearchedSections;
}

bool Exact::prepare(std::int64_t capacity) {
  if (!is_prepared_) {
    if (!state_.reset(packing_) || !ranks_.assign(packing_.blocks.size(), 0) ||
        !dead_ends_.assign(static_cast<std::size_t>(packing_.sections), 0)) {
      return false;
    }
    is_prepared_ = true;
  }
  // A state that fails within a capacity fails within a smaller one.
  if (capacity > capacity_) failures_.clear();
  capacity_ = capacity;
  return true;
}

void Exact::rank(int order) {
  const std::uint64_t noise = 1 + std::min(turns_, kMostNoise) * kNoise;
  for (std::size_t b = 0; b < packing_.blocks.size(); ++b) {
    const std::uint64_t draw =
        mixed(mixed(turns_ * kOrders + static_cast<std::uint64_t>(order)) + b);
    ranks_[b] = -weight(packing_.blocks[b], order) - static_cast<std::int64_t>(draw % noise);
  }
}

SearchEnd Exact::turn_of_pairs(std::int64_t capacity, std::int64_t nodes,
                               Array<std::int64_t>& offsets) {
  if (!pairs_) {
    pairs_.emplace(packing_, techniques_, budget_);
    if (!pairs_->build()) {
      pairs_.reset();
      return SearchEnd::kNoMemory;
    }
  }
  budget_.start_run(techniques_.preordering ? kRunsOfATurn * nodes : INT64_MAX);
  return pairs_->run(capacity, turns_++, offsets);
}

SearchEnd Exact::turn(std::int64_t capacity, std::int64_t nodes, Array<std::int64_t>& offsets) {
  if (packing_.has_gaps()) return turn_of_pairs(capacity, nodes, offsets);
  if (!prepare(capacity)) return SearchEnd::kNoMemory;
  const int orders = techniques_.preordering ? kOrders : 1;
  constexpr CornerChoice kChoices[] = {CornerChoice::kWorst, CornerChoice::kFewestLowest,
                                       CornerChoice::kLowest};
  for (int order = 0; order < orders; ++order) {
    rank(order);
    for (const CornerChoice choice : kChoices) {
      const Tactics tactics{choice, (turns_ + static_cast<std::uint64_t>(order)) % 2 == 1};
      Search search(state_, techniques_, capacity, ranks_, tactics, failures_, dead_ends_, budget_);
      budget_.start_run(techniques_.preordering ? nodes : INT64_MAX);
      const SearchEnd end = search.run();
      if (end == SearchEnd::kFound) {
        if (!offsets.resize(packing_.blocks.size())) return SearchEnd::kNoMemory;
        for (std::size_t b = 0; b < offsets.size(); ++b) {
          offsets[b] = state_.offset(static_cast<std::int32_t>(b));
        }
        state_.undo(0);
      }
      if (end != SearchEnd::kStopped || budget_.is_spent()) return end;
    }
  }
  ++turns_;
  return SearchEnd::kStopped;
}

SearchEnd Exact::find_within(std::int64_t capacity, Array<std::int64_t>& offsets) {
  for (; !budget_.is_spent(); nodes_ += nodes_ / kSlowly) {
    const SearchEnd end = turn(capacity, nodes_, offsets);
    if (end != SearchEnd::kStopped || budget_.is_spent()) return end;
  }
  return SearchEnd::kStopped;
}

SearchEnd Exact::minimise(std::int64_t target, Array<std::int64_t>& offsets, std::int64_t& peak,
                          std::int64_t& proven_bound) {
  const std::int64_t grain = packing_.grain;
  // With this many nodes per run: first the lowest possible, then by bisection of the unknown
  // range.
  for (;; nodes_ += nodes_ / kQuickly) {
    std::int64_t tried = -1;  // the highest capacity at which no plan was found
    for (;;) {
      const std::int64_t low = std::max(target, proven_bound);
      const std::int64_t high = (peak - 1) / grain * grain;  // the next lower possible peak
      if (low > high) {
        // There is no multiple of the grain between the bound and the plan.
        if (low == proven_bound) proven_bound = std::max(low, peak);
        return SearchEnd::kFound;
      }
      if (tried >= high) break;
      const std::int64_t half = std::max(grain, (high - tried) / 2 / grain * grain);
      const std::int64_t capacity = tried < 0 ? low : std::max(low, std::min(high, tried + half));
      // The bound is very often the optimum, so it gets the most nodes.
      const std::int64_t share = tried < 0 ? 4 * nodes_ : nodes_;
      const SearchEnd end = turn(capacity, share, offsets);
      if (end == SearchEnd::kNoMemory) return end;
      if (end == SearchEnd::kFound) {
        peak = peak_of(packing_, offsets);
        budget_.peak = std::min(budget_.peak, peak);
        continue;
      }
      tried = capacity;
      if (end == SearchEnd::kNone) {
        proven_bound = std::min(peak, capacity / grain * grain + grain);
        budget_.proven_bound = std::max(budget_.proven_bound, proven_bound);
      } else if (budget_.is_spent()) {
        return end;
      }
    }
  }
}

}  // namespace tessera::memory
