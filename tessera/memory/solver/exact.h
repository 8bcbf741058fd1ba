// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/base/array.h"
#include "tessera/memory/solver/packing.h"
#include "tessera/memory/solver/patience.h"
#include "tessera/memory/solver/search.h"

namespace tessera::memory {

/// Searches a packing again and again, in other orders each time: by the time a run has used up its
/// nodes in the wrong corner, another order may find a plan at once. What runs learn is kept:
/// states that failed, and sections in which dead ends pile up.
class Exact {
 public:
  /// `packing`, `techniques` and `patience` must live longer than this.
  Exact(const Packing& packing, const Techniques& techniques, Patience& patience)
      : packing_(packing), techniques_(techniques), patience_(patience) {}

  /// Whether the packing is small enough to be searched.
  static bool can_search(const Packing& packing);

  /// Looks for a plan within `capacity` until patience ends. kFound leaves it in `offsets`; kNone
  /// is a proof that there is none. Called again, it goes on where it stopped.
  SearchEnd find_within(std::int64_t capacity, Array<std::int64_t>& offsets);

  /// Finds lower and lower plans, from the one in `offsets` with its `peak` down to `target`, while
  /// patience lasts; `proven_bound` rises to what no plan can go below. kFound when the target or
  /// the bound is reached, else kStopped or kNoMemory; `offsets` always hold a plan. Called again,
  /// it goes on where it stopped.
  SearchEnd minimise(std::int64_t target, Array<std::int64_t>& offsets, std::int64_t& peak,
                     std::int64_t& proven_bound);

 private:
  /// Of each run of the first turn.
  static constexpr std::int64_t kFirstNodes = 500;

  /// One turn: every order once, each for at most `nodes`. Later turns take the same orders with
  /// more and more noise.
  SearchEnd turn(std::int64_t capacity, std::int64_t nodes, Array<std::int64_t>& offsets);
  [[nodiscard]] bool prepare(std::int64_t capacity);
  void rank(int order);

  const Packing& packing_;
  const Techniques& techniques_;
  Patience& patience_;
  SearchState state_;
  Failures failures_;
  Array<std::int64_t> ranks_;
  Array<std::int64_t> dead_ends_;
  std::int64_t capacity_ = -1;  // for which `failures_` are failures
  std::uint64_t turns_ = 0;
  std::int64_t nodes_ = kFirstNodes;  // of each run of the turn that is next
  bool is_prepared_ = false;
};

}  // namespace tessera::memory
