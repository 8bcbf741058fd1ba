// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "tessera/relayout/jobs/job.h"

namespace tessera::relayout {

/// For parts of a larger move (PlanOptions::part), mostly between a memory that stays in the caches
/// and one that does not: collects runs of a large source into a small destination, or deals those
/// of a small source out to a large destination, row by row in the order of the large one. All
/// nests of the copy at once, so that each line of the large side is touched once. Null where what
/// goes on together on both sides is short.
std::unique_ptr<const Job> make_deal_job(const Refinement& copy, const Memory& from,
                                         const Memory& to, std::int64_t bits, bool streaming);

}  // namespace tessera::relayout
