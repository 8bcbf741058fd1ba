// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/plan/choose/solver/float_tables.h"
#include "tessera/plan/choose/solver/model.h"
#include "tessera/plan/choose/solver/random.h"

namespace tessera::choose {

/// The best mixture of several choices.
///
/// Every node may take the strategy that it has in any of the choices. With so few strategies the
/// model is solved exactly, with usages priced: nodes are eliminated one by one, each replaced by a
/// table of the least cost for every combination of its neighbours' strategies. Where tables would
/// become too large, the nodes with the most neighbours keep the strategy of the first choice.
///
/// Law: the priced cost of the mixture is at most that of the first choice, up to rounding, and at
/// most that of any choice if no node was kept.
class Fusion {
 public:
  Fusion(const Model& model, const FloatTables& tables);

  /// `priced` has what usages cost, padded as in FloatTables. `random`
  /// varies which nodes are kept.
  Choice mix(const Choice& first, std::span<const Choice> others, std::span<const float> priced,
             Random& random);

  /// How many nodes of the last mixture were kept.
  std::size_t kept() const { return kept_; }
  /// How many numbers were looked at.
  std::int64_t work() const { return work_; }

 private:
  struct Table {
    std::vector<std::uint32_t> scope;  ///< in order of elimination; the first is the slowest index
    std::vector<float> costs;
  };

  void gather(const Choice& first, std::span<const Choice> others);
  void connect();
  bool order(double most_size, Random& random);
  void keep_one(Random& random);
  void weigh(std::uint32_t at);
  void fill(const Choice& first, std::span<const float> priced);
  void solve();
  void eliminate(std::uint32_t at);
  void add(const Table& table, std::uint32_t at, std::uint32_t strategy);

  std::uint32_t count(std::uint32_t at) const {
    return first_strategy_[at + 1] - first_strategy_[at];
  }
  std::uint32_t strategy(std::uint32_t at, std::uint32_t k) const {
    return strategies_[first_strategy_[at] + k];
  }

  const Model& model_;
  const FloatTables& tables_;
  // The nodes on which the choices differ, by position.
  std::vector<std::uint32_t> nodes_;
  std::vector<std::uint32_t> first_strategy_;
  std::vector<std::uint32_t> strategies_;         ///< of each; the first choice's comes first
  std::vector<std::uint32_t> position_;           ///< by node of the model
  std::vector<std::vector<std::uint32_t>> near_;  ///< neighbours, ascending; not yet eliminated
  std::vector<double> size_;                      ///< of the table that eliminating it takes
  struct Next {
    double size = 0;
    std::uint32_t at = 0;
  };
  std::vector<Next> heap_;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> rank_;  ///< in order_
  std::vector<bool> is_kept_, is_gone_;
  std::vector<std::uint32_t> union_;
  std::vector<std::vector<Table>> waiting_;  ///< tables by the first position of their scope
  std::vector<std::vector<std::uint8_t>> best_;
  std::vector<float> sum_, least_;
  struct Axis {
    std::size_t count = 0, step = 0, at = 0;
  };
  std::vector<Axis> axes_;
  std::size_t kept_ = 0;
  double total_ = 0;
  std::int64_t work_ = 0;
};

}  // namespace tessera::choose
