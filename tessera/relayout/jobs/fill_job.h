// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tessera/relayout/jobs/job.h"
#include "tessera/relayout/program.h"

namespace tessera::relayout {

/// Writes `value`, an element of `bits` bits, to every position of a fill. Values of less than a
/// byte are in the lowest bits of value[0]; such a job runs on one worker.
std::unique_ptr<const Job> make_fill_job(const FillNest& fill, const Memory& to, std::int64_t bits,
                                         const std::vector<std::byte>& value);

}  // namespace tessera::relayout
