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

/// All techniques of the solver; each can be switched off. Without one of them, results are the
/// same or less good, never wrong. Without `exact`, the outcome kDoesNotFit is only found by the
/// lower bound.
struct Techniques {
  bool decomposition = true;          ///< at moments that no lifetime crosses, solve both sides
                                      ///< separately
  bool greedy = true;                 ///< the first-fit and best-fit family
  bool repair = true;                 ///< rearrange the best greedy plan where it is highest
  bool exact = true;                  ///< branch and bound
  bool preordering = true;            ///< several static orders of the buffers, in turn
  bool canonical_order = true;        ///< only plans whose buffers are placed from the bottom up
  bool section_inference = true;      ///< the bytes that must still fit at each moment bound the
                                      ///< branch
  bool dominance = true;              ///< never leave a hole that a waiting buffer fits under
  bool dynamic_decomposition = true;  ///< decomposition again, among the remaining buffers of a
                                      ///< branch
  bool symmetry = true;               ///< of identical buffers, the first goes first
  bool memory_of_failures = true;     ///< a skyline that failed once is not tried again
};
/// Every field of Techniques, by its name on the command line ("canonical-order").
struct TechniqueName {
  std::string_view name;
  bool Techniques::* field;
};
const std::vector<TechniqueName>& technique_names();

/// The progress of a search. A callback that returns false stops it.
struct Progress {
  double seconds = 0;
  std::int64_t nodes = 0;
  std::int64_t peak = 0;         ///< of the best plan so far; INT64_MAX before there is one
  std::int64_t lower_bound = 0;  ///< proven so far
};

struct SolveOptions {
  /// The available bytes. Without `minimize`, the search stops at the first plan within them.
  std::optional<std::int64_t> capacity = {};
  bool minimize = false;  ///< look for the lowest peak (also when there is no capacity)
  /// Limits of the search. The same number of nodes gives the same plan on every machine, unless
  /// the seconds end the search first.
  double seconds = 10;
  std::int64_t nodes = INT64_MAX;
  Techniques techniques = {};
  bool (*progress)(void* context, const Progress& progress) = nullptr;  ///< called periodically
  void* progress_context = nullptr;
};

enum class Outcome : std::uint8_t {
  kFits,        ///< the plan is within the capacity (always true without one)
  kDoesNotFit,  ///< proven: no plan is within the capacity
  kUnknown,     ///< stopped before either was found
};
std::string_view outcome_name(Outcome outcome);  ///< "fits", "does_not_fit", "unknown"

/// Offsets, and bounds that show how good they are.
struct Solution {
  Outcome outcome = Outcome::kUnknown;
  /// One offset for each buffer of the problem: the best plan found, even if it is not within the
  /// capacity. A buffer without bytes has its fixed offset, that of its alias, or 0.
  Array<std::int64_t> offsets;
  std::int64_t peak = 0;          ///< one past the highest byte used
  std::int64_t lower_bound = 0;   ///< max_live, and at least every size and the end of every fixed
                                  ///< buffer
  std::int64_t proven_bound = 0;  ///< the highest bound that the search has proven; >= lower_bound
  bool optimal = false;           ///< peak == proven_bound
  std::int64_t nodes = 0;         ///< of the exact search
  double seconds = 0;
  std::string_view found_by;  ///< the technique that found the plan
  /// peak / lower_bound - 1; 0 when nothing is live.
  double gap() const;
};

/// Offsets for a problem.
///
/// Laws: validate(problem, offsets) finds nothing; peak >= lower_bound; outcome kFits ⇔ peak is
/// within the capacity; the same options give the same offsets unless time runs out (of `seconds`,
/// the heuristics may use half, and hints at most one second). Greedy plans come first and take
/// microseconds. The exact search runs only when they are not enough, and only on parts of at most
/// 2^14 buffers that are live in 2^20 sections together. Larger parts are repaired, until they fit
/// the capacity or, when minimising, for a limited time. If buffers have gaps, plans that use them
/// are searched on parts of at most 2^10 buffers, pair by pair, which takes longer.
/// A buffer that is larger than the capacity, or fixed beyond it, gives kDoesNotFit without a
/// search (unless minimising). Errors: those of check(), kOutOfMemory.
Result<Solution> solve(const Problem& problem, const SolveOptions& options);

}  // namespace tessera::memory
