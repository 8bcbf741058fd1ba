// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/memory/problem.h"
#include "tessera/memory/solve.h"

/// lock_step/: one offset per buffer for all places. In: buffers with their lifetimes, and their
/// sizes on each class of places. Out: one list of offsets that is a plan on every class, and a
/// proven bound. It must not look at meshes or layouts: mesh/ turns them into classes.
namespace tessera::memory {

/// The sizes of all buffers on each class of places: sizes[c][i], at least 0.
using ClassSizes = std::vector<std::vector<std::int64_t>>;

struct LockStep {
  std::vector<std::int64_t> offsets;
  std::int64_t peak = 0;
  std::int64_t proven_bound = 0;  ///< no plan in lock step has a lower peak
  bool optimal = false;           ///< peak == proven_bound
  bool proven_not_to_fit = false;
  std::string_view found_by;  ///< the technique of solve() that found it, or "pairs" or "search"
};

/// One offset per buffer that is a plan on every class.
///
/// The rule. Two buffers that are live together conflict only if some class has both. Then the
/// upper one must clear the lower one's size on the classes that have both: max of size_c(lower),
/// which may be less than the lower one's largest size. Buffers that never conflict, in time or in
/// place, not even through others, are placed independently. Two fixed buffers may overlap if no
/// class has both on the same bytes.
///
/// First, a plan for the largest sizes of every buffer is made, which is a plan for every class
/// (unless fixed buffers of different classes are in its way). If that is not good enough:
/// first-fit under the exact rule (lock_first_fit.h). If that is not good enough either, and a
/// capacity is given or the lowest plan is wanted: the exact search (lock_search.h), in turns with
/// a search for the largest sizes. A search that completes finds a plan within the capacity, or the
/// lowest, or proves that there is none. Beyond 2^22 pairs that are live together, or 2^31
/// comparisons of their sizes, only plans for the largest sizes are made; components of more than
/// 2^12 buffers are not searched. `lower_bound` is the largest bound of a class. The same number of
/// nodes gives the same plan.
/// Errors: those of check() on any class, kNotSupported for gaps, kOutOfMemory.
Result<LockStep> lock_step(const Problem& lives, const ClassSizes& sizes, std::int64_t lower_bound,
                           const SolveOptions& options);

/// kNotSupported when a buffer has gaps, for plans of several places. The span of the error is [i,
/// i + 1) of the buffer.
Status refuse_gaps(std::span<const Buffer> buffers);

}  // namespace tessera::memory
