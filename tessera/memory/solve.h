// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tessera/base/array.h"
#include "tessera/base/result.h"
#include "tessera/memory/problem.h"

namespace tessera::memory {

/// Everything that the solver knows to do, each to be switched off. Without one of them answers are
/// the same or less good, never wrong; without `exact` the outcome kDoesNotFit is only ever found
/// by the lower bound.
struct Techniques {
  bool decomposition = true;          ///< at moments that no life crosses, solve the sides apart
  bool greedy = true;                 ///< the first-fit and best-fit family
  bool repair = true;                 ///< shake the best greedy plan where it is highest
  bool exact = true;                  ///< branch and bound
  bool preordering = true;            ///< several static orders of the buffers, in turns
  bool canonical_order = true;        ///< only plans whose buffers are put down from the bottom up
  bool section_inference = true;      ///< what still has to fit over each moment bounds the branch
  bool dominance = true;              ///< never leave a hole that a waiting buffer fits under
  bool dynamic_decomposition = true;  ///< decomposition again, among what a branch has left over
  bool symmetry = true;               ///< of buffers that are alike, the first goes first
  bool memory_of_failures = true;     ///< a skyline that failed once is not tried again
};
/// Every field of Techniques by the name that commands use ("canonical-order").
struct TechniqueName {
  std::string_view name;
  bool Techniques::* field;
};
const std::vector<TechniqueName>& technique_names();

/// How far a search has come. A function that returns false stops it.
struct Progress {
  double seconds = 0;
  std::int64_t nodes = 0;
  std::int64_t peak = 0;         ///< of the best plan so far; INT64_MAX before there is one
  std::int64_t lower_bound = 0;  ///< proven so far
};

struct SolveOptions {
  /// The bytes there are. Without `minimize` the search stops at the first plan within them.
  std::optional<std::int64_t> capacity = {};
  bool minimize = false;  ///< look for the lowest peak (also when there is no capacity)
  /// When to stop searching. The same nodes give the same plan on every machine; seconds do not.
  double seconds = 10;
  std::int64_t nodes = INT64_MAX;
  Techniques techniques = {};
  bool (*progress)(void* context, const Progress& progress) = nullptr;  ///< now and then
  void* progress_context = nullptr;
};

enum class Outcome : std::uint8_t {
  kFits,        ///< the plan is within the capacity (always so without one)
  kDoesNotFit,  ///< proven: no plan is
  kUnknown,     ///< stopped before either was found
};
std::string_view outcome_name(Outcome outcome);  ///< "fits", "does_not_fit", "unknown"

/// Offsets, and what is known about how good they are.
struct Solution {
  Outcome outcome = Outcome::kUnknown;
  /// One for each buffer of the problem; the best plan found, whether it is within the capacity or
  /// not. A buffer without bytes has its fixed offset, its alias's or 0.
  Array<std::int64_t> offsets;
  std::int64_t peak = 0;          ///< one past the highest byte used
  std::int64_t lower_bound = 0;   ///< max_live, and at least the end of every fixed buffer
  std::int64_t proven_bound = 0;  ///< the highest bound that the search has proven; >= lower_bound
  bool optimal = false;           ///< peak == proven_bound
  std::int64_t nodes = 0;         ///< of the exact search
  double seconds = 0;
  std::string_view found_by;  ///< the technique that found the plan
  /// peak over lower_bound, less 1; 0 when nothing lives.
  double gap() const;
};

/// Offsets for a problem.
///
/// Laws: validate(problem, offsets) finds nothing; peak >= lower_bound; outcome kFits ⇔ peak is
/// within the capacity; the same options give the same offsets unless time runs out (of `seconds`,
/// the rules of thumb have half and hints at most one). Greedy plans come first and take
/// microseconds; the exact search only runs when they are not enough, and only on parts of at most
/// 2^14 buffers that live in 2^20 sections together; larger ones are repaired, until they fit a
/// capacity or, to minimise, for a while. Errors: those of check(), kDoesNotFit for
/// fixed buffers beyond the capacity and for a buffer larger than it, kOutOfMemory.
Result<Solution> solve(const Problem& problem, const SolveOptions& options);

}  // namespace tessera::memory
