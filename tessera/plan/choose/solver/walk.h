// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/array.h"
#include "tessera/plan/choose/solver/float_tables.h"
#include "tessera/plan/choose/solver/model.h"
#include "tessera/plan/choose/solver/random.h"
#include "tessera/plan/choose/solver/state.h"

namespace tessera::choose {

/// A local search whose neighbourhoods are whole trees.
///
/// One move grows a random set of nodes whose links among themselves form a forest, and finds the
/// best strategies of all of them together by dynamic programming, with the usages priced and all
/// other nodes as they are. What the optimum would change falls into patches that no link joins, so
/// each patch is accepted or refused by itself: it must fit, and may cost at most a little more
/// (by the temperature).
class Walk {
 public:
  Walk(const Model& model, const FloatTables& tables, std::uint64_t seed);

  /// Starts from a choice; `priced` has what usages cost, padded as in FloatTables.
  void start(Choice choice, std::span<const double> prices);
  /// Raises prices where memory refused patches since the last time, and lowers them where there is
  /// room to spare.
  void adapt_prices();
  /// One move.
  struct Move {
    std::uint32_t most_nodes = 64;
    float scale = 1;         ///< of the prices
    double temperature = 0;  ///< how much more a change may cost, on average
    float noise = 0;         ///< added to the cost of every strategy: its size
  };
  void move(const Move& move);
  /// Takes over the parts of another choice that make this one cheaper: where the two differ, every
  /// set of nodes that links join is a patch.
  void absorb(const Choice& other);
  /// The best strategies of a tree at the prices alone, whether they fit or not.
  void free_move(const Move& move);
  /// Raises prices where the choice is too full, and lowers them where there is room to spare.
  void press(double raise);
  /// Raises prices where the choice exceeds the limit, in proportion to how much, so that the
  /// excess costs `amount` more in all.
  void charge(double amount);
  void set_prices(std::span<const double> prices);
  const std::vector<double>& prices() const { return prices_; }
  /// What usages cost, padded as in FloatTables.
  std::span<const float> priced() const { return priced_; }

  const State& state() const { return state_; }
  std::int64_t best_cost() const { return best_cost_; }
  const Choice& best() const { return best_; }
  bool has_best() const { return best_cost_ != INT64_MAX; }
  Random& random() { return random_; }

  /// How many numbers were looked at.
  std::int64_t work() const { return work_; }
  std::int64_t moves() const { return moves_; }

 private:
  void keep_if_best();
  void renew_prices();
  void grow(std::uint32_t most_nodes);
  void solve_tree(float scale, float noise);
  void apply(double temperature);
  struct Patch {
    std::uint32_t from = 0, to = 0;  ///< in members_
    std::int64_t delta = 0;          ///< what it adds to the cost
    bool is_put = false;
  };
  void find_patches();
  void put(Patch& patch, bool forward);
  bool try_put(Patch& patch);

  struct TreeNode {
    std::uint32_t node = 0;
    std::uint32_t parent = 0;  ///< position in tree_; its own for a root
    std::uint32_t link = 0;
    std::uint32_t strategy = 0;  ///< the best one
    std::uint32_t before = 0;    ///< the one before the move
    std::size_t local = 0;       ///< of its costs in locals_
  };

  const Model& model_;
  const FloatTables& tables_;
  Random random_;
  State state_;
  std::vector<double> prices_;
  std::vector<std::uint32_t> blocked_;  ///< by moment: how often it refused a patch
  std::vector<float> priced_;
  std::int64_t best_cost_ = INT64_MAX;
  Choice best_;

  std::vector<TreeNode> tree_;
  std::vector<std::uint32_t> mark_;      ///< of each node: the move in which it was last touched
  std::vector<std::uint32_t> touched_;   ///< links to the tree, in that move
  std::vector<std::uint32_t> position_;  ///< in tree_, if it is in the tree of this move
  std::vector<std::uint32_t> frontier_;
  std::vector<Patch> patches_;
  std::vector<std::uint32_t> patch_of_;  ///< by position in the tree
  std::vector<std::uint32_t> members_;   ///< positions in the tree, by patch
  std::vector<std::uint32_t> stage_;
  std::uint32_t stamp_ = 0;
  std::int64_t work_ = 0;
  std::int64_t moves_ = 0;
  Array<float> locals_;
  Array<float> message_;
  Array<float> noise_;
};

}  // namespace tessera::choose
