// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/choose/solver/reduction.h"

#include <gtest/gtest.h>

#include <random>

#include "tessera/plan/choose/solver/ascent.h"
#include "tessera/plan/choose/solver/load_tree.h"
#include "tessera/plan/choose/solver/state.h"
#include "tessera/testing/plan/naive_choose.h"

namespace tessera::choose {
namespace {

/// Calls visit for every choice of a model.
template <typename Visit>
void for_each_choice(const Model& model, const Visit& visit) {
  Choice choice(model.nodes());
  for (;;) {
    visit(choice);
    std::uint32_t node = 0;
    while (node < model.nodes() && ++choice[node] == model.strategies(node)) choice[node++] = 0;
    if (node == model.nodes()) return;
  }
}

bool fits(const Model& model, const Choice& choice) {
  return cost_of(model, choice) < kForbidden && excess_of(model, loads_of(model, choice)) == 0;
}

/// A choice of the model that fits restores to a feasible choice of the same cost, and the least
/// cost of both is the same.
TEST(Reduction, KeepsCostsAndTheOptimum) {
  std::mt19937_64 random(11);
  int reduced_to_nothing = 0;
  int kept = 0;
  for (int k = 0; k < 3000; ++k) {
    test::ChoiceFamily family;
    family.most_nodes = 5;
    family.forbidden = k % 2 == 0 ? 0 : 0.15;
    const Problem problem = test::random_choice_problem(random, family);
    const auto naive = test::naive_choice(problem);
    const Reduction reduction(problem);
    if (reduction.shortage() || reduction.impossible_node()) {
      ASSERT_FALSE(naive) << k;
      continue;
    }
    const Model& model = reduction.model();
    (model.nodes() == 0 ? reduced_to_nothing : kept)++;
    std::optional<std::int64_t> best;
    for_each_choice(model, [&](const Choice& choice) {
      if (!fits(model, choice)) return;
      const std::int64_t cost = cost_of(model, choice);
      ASSERT_EQ(test::naive_cost(problem, reduction.restore(choice)), cost) << k;
      if (!best || cost < *best) best = cost;
    });
    ASSERT_EQ(best.has_value(), naive.has_value()) << k;
    if (naive) {
      ASSERT_EQ(*best, naive->cost) << k;
    }
  }
  EXPECT_GT(reduced_to_nothing, 100);
  EXPECT_GT(kept, 100);
}

/// Whatever the messages and prices are, the certified bound is not above any choice that fits.
TEST(Dual, NoBoundIsAboveTheOptimum) {
  std::mt19937_64 random(12);
  int tight = 0;
  for (int k = 0; k < 1500; ++k) {
    const Problem problem = test::random_choice_problem(random);
    const Reduction reduction(problem);
    const auto naive = test::naive_choice(problem);
    if (!naive || reduction.model().nodes() == 0) continue;
    const FloatTables tables(reduction.model());
    Ascent ascent(reduction.model(), tables);
    std::int64_t bound = INT64_MIN;
    for (int pass = 0; pass < 40; ++pass) {
      ascent.advance();
      bound = std::max(bound, ascent.certified_bound());
      ASSERT_LE(bound, naive->cost) << k;
    }
    tight += bound == naive->cost ? 1 : 0;
  }
  EXPECT_GT(tight, 20);
}

TEST(LoadTree, EqualsAPlainList) {
  std::mt19937_64 random(13);
  for (std::uint32_t count = 1; count < 40; ++count) {
    std::vector<std::int64_t> room(count);
    for (std::int64_t& each : room) each = static_cast<std::int64_t>(random() % 50);
    LoadTree tree(room);
    std::vector<std::int64_t> excess;
    for (const std::int64_t each : room) excess.push_back(-each);
    for (int k = 0; k < 60; ++k) {
      const auto from = static_cast<std::uint32_t>(random() % count);
      const auto to = from + 1 + static_cast<std::uint32_t>(random() % (count - from));
      const auto bytes = static_cast<std::int64_t>(random() % 21) - 10;
      tree.add(from, to, bytes);
      for (std::uint32_t m = from; m < to; ++m) excess[m] += bytes;
      const auto begin = excess.begin();
      ASSERT_EQ(tree.largest(), *std::max_element(begin, excess.end()));
      ASSERT_EQ(tree.largest(from, to), *std::max_element(begin + from, begin + to));
      ASSERT_EQ(excess[tree.fullest()], tree.largest());
    }
  }
}

TEST(State, KeepsCostsAndLoads) {
  std::mt19937_64 random(14);
  for (int k = 0; k < 300; ++k) {
    test::ChoiceFamily family;
    family.most_nodes = 12;
    const Reduction reduction(test::random_choice_problem(random, family));
    const Model& model = reduction.model();
    if (model.nodes() == 0) continue;
    State state(model, Choice(model.nodes()));
    for (int change = 0; change < 30; ++change) {
      const auto node = static_cast<std::uint32_t>(random() % model.nodes());
      state.change(node, static_cast<std::uint32_t>(random() % model.strategies(node)));
      ASSERT_EQ(state.fits(), fits(model, state.choice()));
      if (state.forbidden() == 0) {
        ASSERT_EQ(state.cost(), cost_of(model, state.choice()));
      }
    }
  }
}

}  // namespace
}  // namespace tessera::choose
