// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/base/array.h"
#include "tessera/memory/packing.h"
#include "tessera/memory/patience.h"
#include "tessera/memory/search.h"

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

  /// One turn: every order once, each for at most `nodes`. kFound leaves a plan within `capacity`
  /// in `offsets`; kNone is a proof. Later turns take the same orders with more and more noise.
  SearchEnd turn(std::int64_t capacity, std::int64_t nodes, Array<std::int64_t>& offsets);

 private:
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
  bool is_prepared_ = false;
};

/// A plan of the packing within `capacity` into `offsets` (kFound), or why there is none.
SearchEnd find_within(const Packing& packing, const Techniques& techniques, std::int64_t capacity,
                      Patience& patience, Array<std::int64_t>& offsets);

/// Finds lower and lower plans of a packing, from the one in `offsets` with its `peak` down to
/// `target`, while patience lasts; `proven_bound` rises to what no plan can go below. kFound when
/// the target or the bound is reached, else kStopped or kNoMemory; `offsets` always hold a plan.
SearchEnd minimise(const Packing& packing, const Techniques& techniques, std::int64_t target,
                   Patience& patience, Array<std::int64_t>& offsets, std::int64_t& peak,
                   std::int64_t& proven_bound);

}  // namespace tessera::memory
