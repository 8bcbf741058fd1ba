// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/memory/problem.h"

namespace tessera::memory {

/// The rectangles of time and bytes that a checked buffer occupies, in the order of time. Between
/// its gaps a buffer has all of its bytes, and in a gap those that it keeps. Calls
/// visit(lower, upper, low, high) for each one that has bytes, until a call returns false; then it
/// returns false too.
/// Example: 8 bytes in [0, 9) with a gap [3, 6) that keeps [0, 2): (0, 3, 0, 8), (3, 6, 0, 2),
/// (6, 9, 0, 8).
template <typename Visit>
bool each_strip(const Buffer& buffer, const Visit& visit) {
  std::int64_t at = buffer.lower;
  for (const Gap& gap : buffer.gaps) {
    if (at < gap.lower && buffer.size > 0 && !visit(at, gap.lower, std::int64_t{0}, buffer.size)) {
      return false;
    }
    if (gap.kept_from < gap.kept_to && !visit(gap.lower, gap.upper, gap.kept_from, gap.kept_to)) {
      return false;
    }
    at = gap.upper;
  }
  return at >= buffer.upper || buffer.size == 0 ||
         visit(at, buffer.upper, std::int64_t{0}, buffer.size);
}

}  // namespace tessera::memory
