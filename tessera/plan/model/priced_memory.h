// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/base/result.h"
#include "tessera/plan/choose/problem.h"
#include "tessera/plan/choose/solve.h"

namespace tessera::plan {

/// Choices for models whose memory is nearly or not at all scarce.
///
/// Without the limit of memory the problem of a model nearly always reduces to nothing
/// (choose/solver/simplify.h), so its best choice is found at once. If that choice is within the
/// limit, it is the best. If not, bytes get a price at the moments at which they are too many: the
/// best choice with priced bytes is found as fast, and what it costs less the price of the whole
/// limit is a bound for all choices within it. Prices go up until a choice fits, and then between
/// the dearest at which none did and the cheapest at which one did.
///
/// Law: `lower_bound` of what is returned bounds all choices within the limit, and a choice that is
/// returned is within it. kUnknown where none was found.
class PricedMemory {
 public:
  /// `options` are those of each search.
  explicit PricedMemory(choose::SolveOptions options) : options_(options) {}

  /// The search for each price ends after these seconds, or within `enough_gap` of its bound.
  /// Errors: those of choose::solve.
  Result<choose::Solution> search(const choose::Problem& problem, double enough_gap,
                                  double seconds);

 private:
  choose::SolveOptions options_;
  double price_ = 0;  ///< of a byte, in costs: the last one at which a choice fitted
};

}  // namespace tessera::plan
