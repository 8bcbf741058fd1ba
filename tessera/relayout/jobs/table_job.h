// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "tessera/relayout/jobs/job.h"
#include "tessera/relayout/program.h"

namespace tessera::relayout {

/// Moves a refinement of very many nests as one job. If widths do not divide each other
/// (blocks of 8 into blocks of 100), each factor becomes a table of offsets, and the destination is
/// assembled run by run from short pieces. Null when the tables would be too long. `bits`
/// (8 or more) is the size of an element.
std::unique_ptr<const Job> make_table_job(const Refinement& copy, const Memory& from,
                                          const Memory& to, std::int64_t bits);

}  // namespace tessera::relayout
