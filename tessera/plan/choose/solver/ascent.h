// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/plan/choose/solver/dual.h"

namespace tessera::choose {

/// Raises the bound of a Dual: chooses the steps of the prices, and watches what passes disagree
/// about. Steps shrink when the bound no longer rises; averaged prices are steadier than the last.
class Ascent {
 public:
  Ascent(const Model& model, const FloatTables& tables);

  /// One pass and one step.
  void advance();
  int passes() const { return passes_; }
  std::int64_t work_per_pass() const { return work_; }
  /// The bound hardly rises any more.
  bool has_stalled() const { return step_ < kLeastStep; }
  std::int64_t certified_bound() const { return dual_.certified_bound(); }

  const Dual& dual() const { return dual_; }
  void set_prices(std::span<const double> prices);
  std::span<const double> prices() const { return average_; }
  /// How often, of the recent passes, the node's favourite was not the usual one: from 0 to 1.
  double doubt(std::uint32_t node) const { return doubt_[node]; }
  /// The difference that the node's strategies make.
  double stake(std::uint32_t node) const;

 private:
  static constexpr double kFirstStep = 0.02;
  static constexpr double kLeastStep = 1e-4;

  const Model& model_;
  const FloatTables& tables_;
  Dual dual_;
  std::vector<double> average_;
  std::vector<double> doubt_;
  Choice usual_;
  std::int64_t work_ = 0;
  int passes_ = 0;
  int since_ = 0;
  double step_ = kFirstStep;
  double best_ = 0;
};

}  // namespace tessera::choose
