// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/choose/solver/fusion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tessera/plan/choose/solver/reduction.h"
#include "tessera/testing/plan/naive_choose.h"

namespace tessera::choose {
namespace {

/// A model with prices, and what choices cost at them.
struct Priced {
  explicit Priced(const Problem& problem, std::mt19937_64& random)
      : reduction(problem), tables(model()), usages(tables.size()) {
    std::vector<double> prices(model().moments());
    for (double& price : prices) price = static_cast<double>(random() % 100) / 100;
    price_usages(model(), tables, prices, usages);
  }
  const Model& model() const { return reduction.model(); }
  double cost(const Choice& choice) const {
    auto cost = static_cast<double>(cost_of(model(), choice));
    for (std::uint32_t node = 0; node < model().nodes(); ++node) {
      cost += static_cast<double>(usages[tables.first(node) + choice[node]]);
    }
    return cost;
  }
  Choice any(std::mt19937_64& random) const {
    Choice choice(model().nodes());
    for (std::uint32_t node = 0; node < model().nodes(); ++node) {
      choice[node] = static_cast<std::uint32_t>(random() % model().strategies(node));
    }
    return choice;
  }

  Reduction reduction;
  FloatTables tables;
  std::vector<float> usages;
};

bool is_mixture(const Choice& mixture, const std::vector<Choice>& of) {
  std::size_t node = 0;
  return std::ranges::all_of(mixture, [&](std::uint32_t strategy) {
    const std::size_t at = node++;
    return std::ranges::any_of(of, [&](const Choice& each) { return each[at] == strategy; });
  });
}

/// The least priced cost of all mixtures, by trying them.
double naive_mixture(const Priced& priced, const std::vector<Choice>& of) {
  double best = 1e300;
  std::vector<std::size_t> from(priced.model().nodes());
  Choice mixture(from.size());
  for (;;) {
    for (std::size_t node = 0; node < from.size(); ++node) mixture[node] = of[from[node]][node];
    best = std::min(best, priced.cost(mixture));
    std::size_t node = 0;
    while (node < from.size() && ++from[node] == of.size()) from[node++] = 0;
    if (node == from.size()) return best;
  }
}

TEST(Fusion, IsTheBestMixture) {
  std::mt19937_64 random(15);
  Random order(1);
  int better = 0;
  for (int k = 0; k < 1500; ++k) {
    test::ChoiceFamily family;
    family.most_nodes = 12;
    family.edges_per_node = 2;
    family.forbidden = k % 2 == 0 ? 0 : 0.05;
    const Priced priced(test::random_choice_problem(random, family), random);
    if (priced.model().nodes() == 0 || priced.model().nodes() > 9) continue;
    Fusion fusion(priced.model(), priced.tables);
    std::vector<Choice> choices;
    for (int c = 0; c < 2 + k % 2; ++c) choices.push_back(priced.any(random));
    const Choice mixture =
        fusion.mix(choices[0], std::span(choices).subspan(1), priced.usages, order);
    ASSERT_EQ(fusion.kept(), 0U);
    ASSERT_TRUE(is_mixture(mixture, choices)) << k;
    const double best = naive_mixture(priced, choices);
    if (best >= static_cast<double>(kForbidden)) continue;
    ASSERT_NEAR(priced.cost(mixture), best, 1e-2) << k;
    if (best < std::min(priced.cost(choices[0]), priced.cost(choices[1])) - 0.5) ++better;
  }
  EXPECT_GT(better, 100);
}

/// With so many links that tables would be too large, some nodes stay as they were.
TEST(Fusion, IsNoWorseThanTheFirst) {
  std::mt19937_64 random(16);
  Random order(1);
  std::size_t kept = 0;
  for (int k = 0; k < 20; ++k) {
    test::ChoiceFamily family;
    family.most_nodes = 80;
    family.most_strategies = 8;
    family.edges_per_node = 10;
    family.forbidden = 0;
    const Priced priced(test::random_choice_problem(random, family), random);
    if (priced.model().nodes() == 0) continue;
    Fusion fusion(priced.model(), priced.tables);
    std::vector<Choice> choices;
    for (int c = 0; c < 2 + k % 4; ++c) choices.push_back(priced.any(random));
    const Choice mixture =
        fusion.mix(choices[0], std::span(choices).subspan(1), priced.usages, order);
    ASSERT_TRUE(is_mixture(mixture, choices)) << k;
    ASSERT_LE(priced.cost(mixture), priced.cost(choices[0]) + 1) << k;
    kept += fusion.kept();
  }
  EXPECT_GT(kept, 0U);
}

}  // namespace
}  // namespace tessera::choose
