// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/base/array.h"
#include "tessera/base/result.h"
#include "tessera/memory/solver/packing.h"

namespace tessera::memory {

class WorkBudget;

/// Improves a plan: takes the blocks that reach highest, and those in their way, and places them in
/// another order, round after round, keeping the best plan. A round places one block; a block that
/// overlaps many others counts for several rounds (one for each 32 of them), so that rounds measure
/// time, about 2 us each. Deterministic unless `seconds` run out first. Plans of many blocks need
/// more rounds: two or four for each block.
struct RepairOptions {
  std::int64_t good_enough = 0;
  std::int64_t rounds = 3000;
  double seconds = 1;
  WorkBudget* budget = nullptr;  ///< receives the best plan so far, and may stop the work earlier
};
/// Returns the peak, which it never raises. `offsets` holds a plan before and after.
Result<std::int64_t> repair(const Packing& packing, const RepairOptions& options,
                            Array<std::int64_t>& offsets);

}  // namespace tessera::memory
