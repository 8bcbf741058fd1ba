// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "tessera/relayout/jobs/job.h"

namespace tessera::relayout {

/// The deal job's other half: what goes on in the source (columns) is another factor than what goes
/// on in the destination (rows), and both fall into segments. Blocks of rows are gathered from the
/// source as its segments lie, turned in registers, and written as the destination's lie, all nests
/// of the copy at once. Null where no such factors are there.
std::unique_ptr<const Job> make_turn_table_job(const Refinement& copy, const Memory& from,
                                               const Memory& to, std::int64_t bits);

}  // namespace tessera::relayout
