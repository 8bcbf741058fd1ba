// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/memory/problem.h"
#include "tessera/memory/solve.h"

namespace tessera::memory {

/// Sizes of all buffers on each of several classes of places: sizes[c][i].
using ClassSizes = std::vector<std::vector<std::int64_t>>;

struct LockStep {
  std::vector<std::int64_t> offsets;
  std::int64_t peak = 0;
  bool optimal = false;
  bool proven_not_to_fit = false;
  std::string_view found_by;  ///< what solve() found it by, or "pairs"
};

/// One offset a buffer that is a plan on every class.
///
/// The rule. Two buffers that live together conflict only if some class has both. Then the upper
/// one must clear the lower one's size on the classes that have both: max of size_c(lower), which
/// may be less than the lower one's largest size. Buffers that never meet, in time or in place, not
/// even through others, are put down apart.
///
/// First a plan for the largest sizes of every buffer is made, which is a plan for every class.
/// When that is not good enough, first-fit in several orders under the exact rule, the best
/// repaired (a technique that can be off) by putting what reaches highest down earlier; the lower
/// plan is kept. Beyond 2^22 pairs that live together, or 2^31 comparisons of their sizes, only the
/// first is made. `lower_bound` is the largest bound of a class. Deterministic.
Result<LockStep> lock_step(const Problem& lives, const ClassSizes& sizes, std::int64_t lower_bound,
                           const SolveOptions& options);

}  // namespace tessera::memory
