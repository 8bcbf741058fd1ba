// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/plan/choose/problem.h"
#include "tessera/plan/choose/solve.h"

namespace tessera::plan {

/// How long to search for a choice.
struct SearchEffort {
  double enough_gap = 0;  ///< between a choice and its bound
  double seconds = 0;
  bool is_thorough = false;  ///< false: any choice is enough
};

/// Moments at which bytes have a price: the same at all of them, in all as much as is asked for.
class PricedMoments {
 public:
  /// Adds those at which a choice needs more bytes than there are; false if there are none.
  bool add(const std::vector<std::int64_t>& bytes, std::int64_t limit);
  /// The problem without its limit, with the bytes of these moments priced. Costs are rounded
  /// downward.
  choose::Problem priced(const choose::Problem& problem, double price) const;

 private:
  std::vector<bool> is_priced_;
  std::vector<std::int64_t> before_ = {0};  ///< priced moments before each moment
};

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

  /// The search for each price ends after the seconds of `effort`. A search that is not thorough
  /// begins with the last price at which a choice fitted. Errors: those of choose::solve.
  Result<choose::Solution> search(const choose::Problem& problem, const SearchEffort& effort);

 private:
  choose::SolveOptions options_;
  PricedMoments moments_;
  double price_ = 0;  ///< of a byte, in costs: the last one at which a choice fitted
};

}  // namespace tessera::plan
