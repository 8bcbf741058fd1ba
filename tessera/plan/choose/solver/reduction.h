// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tessera/plan/choose/solver/model.h"
#include "tessera/plan/choose/solver/simplify.h"

namespace tessera::choose {

/// A problem reduced to a model, and the way back.
///
/// Laws: the least cost of the model is that of the problem. For any choice of the model that fits,
/// restore() gives a feasible choice of the problem with the same cost.
class Reduction {
 public:
  explicit Reduction(const Problem& problem);
  /// A model with only the strategies `kept` of each node reduced further: restore() then gives
  /// strategies of that model.
  Reduction(const Model& model, const std::vector<std::vector<std::uint32_t>>& kept);

  const Model& model() const { return model_; }
  /// The moment of the original for each moment of the model; the node, and its strategies.
  const std::vector<std::uint32_t>& moments() const { return simplified_.moments; }
  std::size_t node_of(std::uint32_t node) const { return first_members_[decisions_[node]]; }
  std::uint32_t strategy_of(std::uint32_t node, std::uint32_t strategy) const {
    return members_[node_of(node)].strategies[simplified_.nodes[decisions_[node]].origin[strategy]];
  }
  /// Proven while reducing: no choice is feasible, because memory never suffices, or because a node
  /// has no strategy that the others allow.
  const std::optional<Shortage>& shortage() const { return simplified_.shortage; }
  std::optional<std::size_t> impossible_node() const;

  std::int64_t limit() const { return limit_; }
  /// The time of a moment of the model.
  Interval time_of(std::uint32_t moment) const {
    return {ends_[moments()[moment]], ends_[moments()[moment] + 1]};
  }

  std::vector<std::int64_t> restore(std::span<const std::uint32_t> choice) const;

 private:
  void run(Joined joined);
  void flatten();

  std::vector<Joined::Member> members_;
  std::vector<std::size_t> first_members_;  ///< by decision
  std::vector<std::int64_t> ends_;
  std::int64_t limit_ = 0;
  Simplified simplified_;
  std::vector<std::size_t> decisions_;  ///< by node of the model
  std::optional<std::size_t> impossible_ = {};
  Model model_;
};

}  // namespace tessera::choose
