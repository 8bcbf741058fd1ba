// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/memory/lock_step/meetings.h"
#include "tessera/memory/solver/patience.h"

namespace tessera::memory {

/// A plan of one component in lock step by first-fit: every block in turn at the lowest place that
/// nothing put down before is in the way of (at its hint, where that is free and low enough). In
/// several orders; then, with `repairs`, with what reaches highest put down earlier, until the peak
/// is `good_enough` or the work is spent. One order is always tried, others while patience lasts;
/// deterministic unless that ends. Answers the peak; the offsets of the component's blocks are in
/// `offsets`, which has an entry for every block of the relation.
std::int64_t lock_first_fit(const Relation& relation, const std::vector<std::uint32_t>& component,
                            std::int64_t good_enough, bool repairs, Patience& patience,
                            std::vector<std::int64_t>& offsets);

/// Moves blocks of a plan to their hints, one after the other, where that is free and ends at
/// `peak` or below.
void lock_follow_hints(const Relation& relation, const std::vector<std::uint32_t>& component,
                       std::int64_t peak, std::vector<std::int64_t>& offsets);

}  // namespace tessera::memory
