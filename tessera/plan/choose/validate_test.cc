// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/choose/validate.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tessera/testing/plan/naive_choose.h"

namespace tessera::choose {
namespace {

/// The example of problem.h, with one forbidden strategy and one forbidden pair more.
Problem example() {
  Problem problem;
  problem.nodes = {{{0, 4}, {5, 1, kForbidden}, {4, 8, 0}}, {{2, 6}, {0, 2}, {5, 1}}};
  problem.edges = {{0, 1, {0, kForbidden, 3, 0, 0, 0}}};
  problem.usage_limit = 10;
  return problem;
}

std::set<Flaw> flaws(const Problem& problem, const std::vector<std::int64_t>& choices,
                     const Claim& claim = {}) {
  std::set<Flaw> found;
  for (const Finding& finding : validate(problem, choices, claim)) {
    EXPECT_FALSE(finding.message.empty());
    found.insert(finding.flaw);
  }
  return found;
}

TEST(Validate, AcceptsWhatIsRight) {
  EXPECT_EQ(flaws(example(), {1, 1}, {3, 3}), std::set<Flaw>{});
  EXPECT_EQ(flaws(example(), {0, 0}, {5, -7}), std::set<Flaw>{});
}

TEST(Validate, FindsEveryKindOfFlaw) {
  using enum Flaw;
  EXPECT_EQ(flaws(example(), {1}), std::set{kWrongCount});
  EXPECT_EQ(flaws(example(), {1, 1, 0}), std::set{kWrongCount});
  EXPECT_EQ(flaws(example(), {3, 1}), std::set{kNoSuchStrategy});
  EXPECT_EQ(flaws(example(), {0, -1}), std::set{kNoSuchStrategy});
  EXPECT_EQ(flaws(example(), {2, 0}), std::set{kForbiddenNode});
  EXPECT_EQ(flaws(example(), {0, 1}), std::set{kForbiddenEdge});
  EXPECT_EQ(flaws(example(), {1, 0}), std::set{kTooMuchMemory});  // 8 + 5 at moments 2 and 3
  EXPECT_EQ(flaws(example(), {1, 1}, {4, 0}), std::set{kWrongCost});
  EXPECT_EQ(flaws(example(), {1, 1}, {3, 4}), std::set{kWrongBound});
}

TEST(Validate, CountsHalfOpenAndEmptyLives) {
  Problem problem = example();
  problem.nodes[1].life = {4, 6};  // begins when the other ends
  EXPECT_EQ(flaws(problem, {1, 0}), std::set<Flaw>{});
  problem.nodes[1].life = {3, 3};  // never alive
  problem.nodes[1].usages = {100, 100};
  EXPECT_EQ(flaws(problem, {1, 0}), std::set<Flaw>{});
}

TEST(Validate, DoesNotOverflow) {
  Problem problem = example();
  problem.nodes[0].usages = {INT64_MAX, INT64_MAX, INT64_MAX};
  problem.nodes[1].usages = {INT64_MAX, INT64_MAX};
  problem.nodes[0].costs = {INT64_MAX, INT64_MAX, INT64_MAX};
  EXPECT_EQ(flaws(problem, {1, 0}), (std::set{Flaw::kForbiddenNode, Flaw::kTooMuchMemory}));
}

TEST(Validate, AgreesWithTheDefinition) {
  std::mt19937_64 random(3);
  int feasible = 0;
  for (int k = 0; k < 3000; ++k) {
    const Problem problem = test::random_choice_problem(random);
    std::vector<std::int64_t> choices;
    for (const Node& node : problem.nodes) {
      choices.push_back(static_cast<std::int64_t>(random() % node.costs.size()));
    }
    const auto cost = test::naive_cost(problem, choices);
    ASSERT_EQ(flaws(problem, choices).empty(), cost.has_value());
    if (!cost) continue;
    ++feasible;
    ASSERT_EQ(flaws(problem, choices, {cost, cost}), std::set<Flaw>{});
    ASSERT_EQ(flaws(problem, choices, {*cost + 1, *cost + 1}),
              (std::set{Flaw::kWrongCost, Flaw::kWrongBound}));
  }
  EXPECT_GT(feasible, 300);
}

}  // namespace
}  // namespace tessera::choose
