// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tessera/plan/choose/solver/fusion.h"
#include "tessera/plan/choose/solver/walk.h"

namespace tessera::choose {

/// A search for good choices in cycles of five phases:
///
///   settle   moves at the prices alone, from changed prices, so that whole regions change together
///            without the limit in their way; prices rise where it is exceeded
///   repair   moves that bring the choice within the limit, where little is missing
///   anneal   moves within the limit, at a falling temperature
///   mend     the result is mixed with the best choice so far and with the results of recent cycles
///            (fusion.h); then moves that bring the mixture within the limit
///   refine   moves within the limit, at a low temperature
///
/// Cycles start from the best choice so far and from a rounding in turn. What single cycles find is
/// far from optimal, but they err in different regions, so their mixtures are much better.
class Walker {
 public:
  Walker(const Model& model, const FloatTables& tables, std::uint64_t seed);

  /// Begins at a choice.
  void start(std::span<const double> prices, double bound, const Choice& choice);
  /// Later cycles use these prices of the dual, the cost of a choice by its bound, and a rounding
  /// to start from (the one before if it is empty).
  void guide(std::span<const double> prices, double bound, const Choice& rounding);
  /// The next mixture takes up this choice as well.
  void learn(const Choice& choice) { learned_ = choice; }
  /// Continues until about `work` more numbers have been looked at, or `stop()` is true.
  void run(std::int64_t work, const std::function<bool()>& stop);

  const Walk& walk() const { return walk_; }

 private:
  enum class Phase : std::uint8_t { kSettle, kRepair, kAnneal, kMend, kRefine };

  void begin_cycle();
  void advance();
  void settle();
  void repair();
  void anneal(double temperature, double noise);
  void mix();
  void take_mixture(std::span<const Choice> others);
  std::uint32_t random_size();

  const Model& model_;
  Walk walk_;
  Fusion fusion_;
  std::vector<double> prices_;
  std::vector<double> mixing_prices_;
  double mixing_scale_ = 1;  ///< of the prices, so that about half of the mixtures fit
  double unit_ = 1;          ///< the bound per node: the scale of temperatures
  Phase phase_ = Phase::kSettle;
  int settled_ = 0;              ///< rounds of settling in this cycle
  std::int64_t moves_ = 0;       ///< in this phase
  std::int64_t most_moves_ = 0;  ///< of annealing
  int cycles_ = 0;
  Choice rounding_;
  Choice learned_;
  Choice fitting_;              ///< a mixture within the limit, in this cycle
  std::vector<Choice> recent_;  ///< results of recent cycles
};

}  // namespace tessera::choose
