// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tessera/plan/choose/solver/walk.h"

namespace tessera::choose {

/// A search for good choices in cycles of three phases:
///
///   settle   moves at the prices alone, from changed prices, so that whole regions change together
///            without the limit in their way; prices rise where it is exceeded
///   repair   moves that bring the choice within the limit, where little is missing
///   anneal   moves within the limit, at a falling temperature
///
/// Cycles start from the best choice so far and from the first one in turn, and take longer each
/// time. At the end of a cycle the best choice absorbs the parts of the other that are better.
class Walker {
 public:
  Walker(const Model& model, const FloatTables& tables, std::uint64_t seed);

  /// New prices from the dual, and the cost of a choice by its bound. `start` begins a cycle at a
  /// choice; an empty one leaves the walk where it is.
  void guide(std::span<const double> prices, double bound, const Choice& start);
  /// Continues until about `work` more numbers have been looked at, or `stop()` is true. `left` is
  /// the share of the whole search that is left: near the end only the best choice is refined.
  void run(std::int64_t work, double left, const std::function<bool()>& stop);
  /// Takes over what is better in another walker's choice.
  void absorb(const Choice& choice);

  const Walk& walk() const { return walk_; }

 private:
  enum class Phase : std::uint8_t { kSettle, kRepair, kAnneal };

  void begin_cycle();
  void advance(double left);
  std::uint32_t random_size();

  const Model& model_;
  Walk walk_;
  std::vector<double> prices_;
  double unit_ = 1;  ///< the bound per node: the scale of temperatures
  Phase phase_ = Phase::kSettle;
  int rounds_ = 0;               ///< of settling, in this cycle
  std::int64_t repairs_ = 0;     ///< moves of repair, in this cycle
  std::int64_t moves_ = 0;       ///< of annealing, in this cycle
  std::int64_t most_moves_ = 0;  ///< of annealing in this cycle
  bool is_final_ = false;
  int cycles_ = 0;
  Choice origin_;  ///< where every other cycle starts
};

}  // namespace tessera::choose
