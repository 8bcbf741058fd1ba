// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tessera/base/array.h"
#include "tessera/plan/choose/solver/float_tables.h"
#include "tessera/plan/choose/solver/model.h"

namespace tessera::choose {

/// A lower bound of the cost, which passes of message passing raise.
///
/// Every moment has a price per byte (a Lagrange multiplier, 0 or more). With the priced usages
/// added to the costs, and the priced room subtracted, a choice that fits costs at most what it
/// costs without prices; so the least priced cost over all choices, fitting or not, is a lower
/// bound. That least cost is bounded in turn by sequential tree-reweighted message passing
/// (Kolmogorov 2006): costs are shifted between nodes and links, which changes the cost of no
/// choice, until the sum of the least entries is as large as one can get. Passes over the nodes
/// alternate with steps of the prices along the average violation of the room.
class Dual {
 public:
  Dual(const Model& model, const FloatTables& tables);

  /// Shifts costs forward and backward once, and updates `estimate()`.
  void pass();
  /// Changes the prices so that the priced room changes by `size` in all. Strategies whose beliefs
  /// are within `softness` of the best share in the usage, which makes steps less abrupt.
  void step(double size, double softness);
  /// The bound as the last pass saw it: with rounding errors, for steering only.
  double estimate() const { return estimate_; }
  /// The bound that the messages and prices prove, in integers: rounding errors can only lower it.
  std::int64_t certified_bound() const;

  std::span<const double> prices() const { return prices_; }  ///< per moment
  void set_prices(std::span<const double> prices);
  /// What the usages of each strategy cost at the prices; padded.
  const float* priced(std::uint32_t node) const { return priced_.data() + tables_.first(node); }
  /// The sum of all messages that node `to` receives over a link; padded.
  const float* message(std::uint32_t link, bool to_a) const {
    return messages_.data() + (to_a ? to_a_[link] : to_b_[link]);
  }
  /// The node's costs, prices and all messages to it, in the last pass: how good each strategy
  /// looks; padded.
  const float* belief(std::uint32_t node) const { return beliefs_.data() + tables_.first(node); }
  /// The strategy with the best belief, in the last pass.
  std::uint32_t favourite(std::uint32_t node) const { return favourites_[node]; }

 private:
  float* message(std::uint32_t link, bool to_a) {
    return messages_.data() + (to_a ? to_a_[link] : to_b_[link]);
  }
  void add_up(std::uint32_t node, float* out) const;
  void sweep(bool forward);
  void update_priced();

  const Model& model_;
  const FloatTables& tables_;
  std::vector<double> prices_;
  Array<float> priced_;
  Array<float> beliefs_;
  std::vector<std::size_t> to_a_, to_b_;  ///< of each link's messages
  Array<float> messages_;
  std::vector<float> share_;  ///< of a node's belief that each link gets
  Choice favourites_;
  std::vector<double> violation_;  ///< averaged over passes
  double estimate_ = 0;
};

}  // namespace tessera::choose
