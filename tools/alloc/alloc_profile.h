// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/memory/problem.h"

namespace tessera::tools {

/// A rectangle of addresses and time that a plan occupies: a buffer, or all buffers that share its
/// memory. A buffer with gaps is several: one between two gaps, and one in each gap that keeps
/// bytes.
struct PlacedBlock {
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  std::int64_t offset = 0;
  std::int64_t size = 0;   ///< above 0
  std::size_t buffer = 0;  ///< the first of the buffers that share it
  std::int64_t others = 0;
  std::int64_t end() const { return offset + size; }
};
/// Errors: those of memory::check.
Result<std::vector<PlacedBlock>> placed_blocks(const memory::Problem& problem,
                                               std::span<const std::int64_t> offsets);

/// A range of time in which no buffer starts or ends.
struct TimeRange {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t live = 0;   ///< bytes
  std::int64_t count = 0;  ///< number of rectangles, each of another buffer
  std::int64_t top = 0;    ///< one past the highest byte in use
};
/// All ranges from the first start to the last end, in order, including those in which no buffer
/// is live.
/// Law: each rectangle counts in exactly the ranges of its lifetime. Hence the sum of live times
/// length over the ranges equals the sum of size times lifetime over the rectangles.
std::vector<TimeRange> time_ranges_of(std::span<const PlacedBlock> blocks);

}  // namespace tessera::tools
