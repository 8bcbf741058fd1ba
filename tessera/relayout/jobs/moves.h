// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/thread_pool.h"
#include "tessera/relayout/casts/cast.h"
#include "tessera/relayout/jobs/job.h"
#include "tessera/relayout/plan.h"

namespace tessera::relayout {

/// The fills and copies of a program as jobs that workers share.
struct Moves {
  Jobs fills;
  Jobs copies;
  bool fills_cover_data = false;  ///< the fills cover data too and must run first
  bool streaming = false;

  /// Runs all jobs, or one part of each. Returns whether every element fits its new type; the work
  /// stops early when one does not. Error: kOutOfMemory.
  Result<bool> run(std::span<const std::byte> from, std::span<std::byte> to, ThreadPool& pool,
                   const PlanPart& part = {}) const;
  /// One line per job.
  std::vector<std::string> describe() const;
};

/// Error kOutOfRange unless buffers of these sizes have exactly the bytes of the program's
/// memories.
Status check_sizes(const Program& program, std::size_t from, std::size_t to);

/// Adds the fills of `program` as jobs that write `value`, an element of `bits` bits.
void add_fills(const Program& program, std::int64_t bits, const std::vector<std::byte>& value,
               Moves& moves);

}  // namespace tessera::relayout
