// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/base/array.h"
#include "tessera/base/result.h"
#include "tessera/memory/solver/packing.h"

namespace tessera::memory {

class WorkBudget;

/// A quick plan: several heuristics, of which the best plan is kept. Blocks keep their fixed
/// offsets. Hints are ignored, so they cannot make a plan worse. Stops at the first plan whose peak
/// is at most `good_enough`. Time grows with the number of pairs that are live together, but only
/// as far as `seconds` allow: the fastest heuristics, O(n log n), always run to the end.
struct GreedyOptions {
  std::int64_t good_enough = 0;  ///< no plan needs to be lower than this; usually the lower bound
  double seconds = 1;            ///< no further heuristic starts after this time
  WorkBudget* budget = nullptr;  ///< receives the best plan so far, and may stop the work earlier
};
/// Writes the offset of each block to `offsets`, and returns the peak. The only error is
/// kOutOfMemory.
Result<std::int64_t> greedy(const Packing& packing, const GreedyOptions& options,
                            Array<std::int64_t>& offsets);

/// Moves blocks of a finished plan to their hints: all hints that do not overlap each other if the
/// heuristics find such a plan that is not higher; otherwise those whose position happens to be
/// free. Returns the peak, which it never raises.
Result<std::int64_t> follow_hints(const Packing& packing, double seconds,
                                  Array<std::int64_t>& offsets);

}  // namespace tessera::memory
