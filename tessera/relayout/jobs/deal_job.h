// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "tessera/relayout/jobs/job.h"

namespace tessera::relayout {

/// For parts of a larger move (PlanOptions::part), mostly between a memory that fits in the caches
/// and one that does not: gathers runs of a large source into a small destination, or scatters runs
/// of a small source to a large destination, row by row in the order of the large one. It handles
/// all nests of the copy together, so that each cache line of the large side is touched once. Null
/// if the runs that are contiguous on both sides are short.
std::unique_ptr<const Job> make_deal_job(const Refinement& copy, const Memory& from,
                                         const Memory& to, std::int64_t bits, bool streaming);

}  // namespace tessera::relayout
