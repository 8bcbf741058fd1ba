// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "tessera/relayout/jobs/job.h"

namespace tessera::relayout {

/// The counterpart of the deal job for transposes: the factor that is contiguous in the source
/// (columns) differs from the factor that is contiguous in the destination (rows), and both consist
/// of segments. Blocks of rows are gathered from the segments of the source, transposed in
/// registers, and written to the segments of the destination, for all nests of the copy together.
/// Null if there are no such factors.
std::unique_ptr<const Job> make_turn_table_job(const Refinement& copy, const Memory& from,
                                               const Memory& to, std::int64_t bits);

}  // namespace tessera::relayout
