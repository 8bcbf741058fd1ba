// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "tessera/base/array.h"
#include "tessera/memory/solver/packing.h"
#include "tessera/memory/solver/pair_search.h"
#include "tessera/memory/solver/search.h"
#include "tessera/memory/solver/work_budget.h"

namespace tessera::memory {

/// Searches a packing repeatedly, each time in another order: while a run uses up its nodes in the
/// wrong corner, another order may find a plan at once. What runs learn is kept: states that
/// failed, and sections in which dead ends accumulate. Blocks with gaps are searched pair by pair
/// (pair_search.h), all others corner by corner (search.h).
class Exact {
 public:
  /// `packing`, `techniques` and `budget` must outlive this object.
  Exact(const Packing& packing, const Techniques& techniques, WorkBudget& budget)
      : packing_(packing), techniques_(techniques), budget_(budget) {}

  /// True when the packing is small enough to be searched.
  static bool can_search(const Packing& packing);

  /// Searches for a plan within `capacity` until the budget ends. kFound writes it to `offsets`;
  /// kNone is a proof that there is none. Another call continues where this one stopped.
  SearchEnd find_within(std::int64_t capacity, Array<std::int64_t>& offsets);

  /// Finds lower and lower plans, from the one in `offsets` with its `peak` down to `target`, while
  /// the budget lasts; `proven_bound` rises to a bound that no plan is below. kFound when the
  /// target or the bound is reached, otherwise kStopped or kNoMemory; `offsets` always holds a
  /// plan. Another call continues where this one stopped.
  SearchEnd minimise(std::int64_t target, Array<std::int64_t>& offsets, std::int64_t& peak,
                     std::int64_t& proven_bound);

 private:
  /// The nodes of each run of the first turn.
  static constexpr std::int64_t kFirstNodes = 500;

  /// One turn: every order once, each for at most `nodes`. Later turns use the same orders with
  /// increasing noise.
  SearchEnd turn(std::int64_t capacity, std::int64_t nodes, Array<std::int64_t>& offsets);
  SearchEnd turn_of_pairs(std::int64_t capacity, std::int64_t nodes, Array<std::int64_t>& offsets);
  [[nodiscard]] bool prepare(std::int64_t capacity);
  void rank(int order);

  const Packing& packing_;
  const Techniques& techniques_;
  WorkBudget& budget_;
  std::optional<PairSearch> pairs_;  // with gaps, instead of all that follows but the turns
  SearchState state_;
  Failures failures_;
  Array<std::int64_t> ranks_;
  Array<std::int64_t> dead_ends_;
  std::int64_t capacity_ = -1;  // the capacity for which `failures_` were found
  std::uint64_t turns_ = 0;
  std::int64_t nodes_ = kFirstNodes;  // of each run of the next turn
  bool is_prepared_ = false;
};

}  // namespace tessera::memory
