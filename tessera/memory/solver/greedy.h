// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/base/array.h"
#include "tessera/base/result.h"
#include "tessera/memory/solver/packing.h"

namespace tessera::memory {

class Patience;

/// A plan quickly: several rules of thumb, the best of which is kept. Blocks keep their fixed
/// offsets; hints are not looked at, so that they cannot make a plan worse. Stops at the first plan
/// whose peak is at most `good_enough`. Time grows with the number of pairs that live together only
/// as far as `seconds` allow: the fastest rules, O(n log n), always run to the end.
struct GreedyOptions {
  std::int64_t good_enough = 0;  ///< no plan needs to be lower than this; usually the lower bound
  double seconds = 1;            ///< no further rule is started after this long
  Patience* patience = nullptr;  ///< told of the best plan so far, and may end it earlier
};
/// The offset of each block into `offsets`, and the peak. kOutOfMemory is the only error.
Result<std::int64_t> greedy(const Packing& packing, const GreedyOptions& options,
                            Array<std::int64_t>& offsets);

/// Improves a plan: takes what reaches highest, and what stands in its way, and puts them down in
/// another order, round after round, keeping the best. A round puts one block down; one that meets
/// many others counts for several (one for each 32 of them), so that rounds measure time, some 2 us
/// each. Deterministic unless `seconds` run out first. Plans of many blocks need more rounds: two
/// or four for each block.
struct RepairOptions {
  std::int64_t good_enough = 0;
  std::int64_t rounds = 3000;
  double seconds = 1;
  Patience* patience = nullptr;  ///< the same
};
/// Never raises the peak, which it answers. `offsets` holds a plan before and after.
Result<std::int64_t> repair(const Packing& packing, const RepairOptions& options,
                            Array<std::int64_t>& offsets);

/// Moves blocks of a finished plan to their hints: all whose hints do not meet each other when the
/// rules find such a plan that is no higher, else those whose place happens to be free. Never
/// raises the peak, which it answers.
Result<std::int64_t> follow_hints(const Packing& packing, double seconds,
                                  Array<std::int64_t>& offsets);

}  // namespace tessera::memory
