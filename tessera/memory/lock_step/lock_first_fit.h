// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/memory/lock_step/meetings.h"
#include "tessera/memory/solver/work_budget.h"

namespace tessera::memory {

/// A plan of one component in lock step by first-fit: every block in turn goes to the lowest offset
/// that no earlier block obstructs (to its hint, if that is free and low enough). Several orders
/// are tried. With `repairs`, the blocks that reach highest are then placed earlier, until the peak
/// is `good_enough` or the work limit is reached. One order is always tried, others while the
/// budget lasts; deterministic unless the budget runs out. Returns the peak. `offsets` has an entry
/// for every block of the relation; the entries of the component's blocks are set.
std::int64_t lock_first_fit(const Relation& relation, const std::vector<std::uint32_t>& component,
                            std::int64_t good_enough, bool repairs, WorkBudget& budget,
                            std::vector<std::int64_t>& offsets);

/// Moves blocks of a plan to their hints, one after the other, where that is free and ends at
/// `peak` or below.
void lock_follow_hints(const Relation& relation, const std::vector<std::uint32_t>& component,
                       std::int64_t peak, std::vector<std::int64_t>& offsets);

}  // namespace tessera::memory
