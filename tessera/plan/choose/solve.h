// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/plan/choose/problem.h"

namespace tessera::choose {

/// The progress of a search. A callback that returns false stops it.
struct Progress {
  double seconds = 0;
  std::int64_t rounds = 0;
  std::optional<std::int64_t> cost = {};  ///< of the best choice so far
  std::int64_t lower_bound = 0;           ///< proven so far
};

struct SolveOptions {
  double seconds = 10;  ///< the search ends after this time
  /// The search also ends after this many rounds of a fixed amount of work. The same seed and the
  /// same number of rounds give the same choice on every machine, with any number of threads,
  /// unless the seconds end the search first.
  std::int64_t rounds = INT64_MAX;
  std::uint64_t seed = 1;
  int threads = 2;  ///< how many of the two searches run at the same time
  bool (*progress)(void* context, const Progress& progress) = nullptr;  ///< called periodically
  void* progress_context = nullptr;
};

enum class Outcome : std::uint8_t {
  kChosen,      ///< there is a choice within the limit
  kInfeasible,  ///< proven: there is none
  kUnknown,     ///< stopped before either was found
};
std::string_view outcome_name(Outcome outcome);  ///< "chosen", "infeasible", "unknown"

/// Why there is no feasible choice, as far as it is known.
struct Obstacle {
  /// Memory is exceeded in this range of time ..
  std::optional<Interval> when = {};
  std::int64_t needed = 0;  ///< .. with at least this many bytes, or with those of the best attempt
  bool is_bound = false;    ///< `needed` holds for every choice
  /// A node none of whose strategies is allowed together with the others.
  std::optional<std::size_t> node = {};
};

/// A choice, and a bound that shows how good it is.
struct Solution {
  Outcome outcome = Outcome::kUnknown;
  std::vector<std::int64_t> choices;  ///< a strategy per node; empty unless kChosen
  std::int64_t cost = 0;
  std::int64_t lower_bound = 0;  ///< proven; no choice costs less. Not above `cost`
  bool optimal = false;          ///< cost == lower_bound
  double seconds = 0;
  double first_seconds = 0;  ///< until the first feasible choice
  std::int64_t rounds = 0;
  std::string_view found_by;              ///< the technique that found the choice
  std::optional<Obstacle> obstacle = {};  ///< unless kChosen
  /// (cost - lower_bound) / cost; 0 when both are 0.
  double gap() const;
};

/// The best choice that can be found in the given time.
///
/// First exact reductions shrink the problem (solver/reduction.h). Then two searches alternate in
/// rounds: one raises the lower bound (solver/dual.h) and, where the rest is small, branches until
/// it has a proof (solver/branch.h); the other improves choices by solving trees of nodes exactly
/// (solver/walk.h) and by mixing the results (solver/fusion.h). A bound that has stopped rising
/// makes room for a second walk.
///
/// Laws: validate() finds nothing in the answer; every feasible choice costs at least
/// `lower_bound`; kInfeasible and `optimal` are proofs. Errors: those of check().
Result<Solution> solve(const Problem& problem, const SolveOptions& options);

}  // namespace tessera::choose
