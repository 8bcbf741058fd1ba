// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/choose/solve.h"

#include <gtest/gtest.h>

#include <random>

#include "tessera/base/text.h"
#include "tessera/plan/choose/validate.h"
#include "tessera/testing/plan/naive_choose.h"

namespace tessera::choose {
namespace {

SolveOptions rounds(std::int64_t count, std::uint64_t seed = 1) {
  SolveOptions options;
  options.seconds = 1e6;
  options.rounds = count;
  options.seed = seed;
  options.threads = 1;
  return options;
}

/// The answer is valid, and its bound is not above any known cost.
void expect_valid(const Problem& problem, const Solution& solution) {
  if (solution.outcome != Outcome::kChosen) return;
  for (const Finding& finding :
       validate(problem, solution.choices, {solution.cost, solution.lower_bound})) {
    ADD_FAILURE() << flaw_name(finding.flaw) << ": " << finding.message;
  }
  EXPECT_EQ(solution.optimal, solution.cost == solution.lower_bound);
}

/// The example of problem.h.
Problem example() {
  Problem problem;
  problem.nodes = {{{0, 4}, {5, 1}, {4, 8}}, {{2, 6}, {0, 2}, {5, 1}}};
  problem.edges = {{0, 1, {0, 0, 3, 0}}};
  problem.usage_limit = 10;
  return problem;
}

TEST(Solve, FindsTheBestOfTheExample) {
  const Solution solution = *solve(example(), rounds(10));
  EXPECT_EQ(solution.outcome, Outcome::kChosen);
  EXPECT_EQ(solution.choices, (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(solution.cost, 3);
  EXPECT_EQ(solution.lower_bound, 3);
  EXPECT_TRUE(solution.optimal);
}

TEST(Solve, AcceptsAnEmptyProblem) {
  const Solution solution = *solve(Problem{}, rounds(1));
  EXPECT_EQ(solution.outcome, Outcome::kChosen);
  EXPECT_EQ(solution.cost, 0);
  EXPECT_TRUE(solution.optimal);
}

TEST(Solve, StatesWhereMemoryNeverSuffices) {
  Problem problem = example();
  problem.usage_limit = 4;  // at moments 2 and 3 both are alive, with at least 4 + 1 bytes
  const Solution solution = *solve(problem, rounds(1));
  EXPECT_EQ(solution.outcome, Outcome::kInfeasible);
  ASSERT_TRUE(solution.obstacle && solution.obstacle->when);
  EXPECT_EQ(*solution.obstacle->when, (Interval{2, 4}));
  EXPECT_EQ(solution.obstacle->needed, 5);
  EXPECT_TRUE(solution.obstacle->is_bound);
}

TEST(Solve, NamesANodeThatHasNoStrategyLeft) {
  Problem problem = example();
  problem.edges.push_back({1, 0, {kForbidden, kForbidden, kForbidden, kForbidden}});
  const Solution solution = *solve(problem, rounds(1));
  EXPECT_EQ(solution.outcome, Outcome::kInfeasible);
  ASSERT_TRUE(solution.obstacle);
  EXPECT_TRUE(solution.obstacle->node);
}

TEST(Solve, EqualsBruteForceOnTenThousandSmallProblems) {
  std::mt19937_64 random(20250301);
  int infeasible = 0;
  for (int k = 0; k < 10000; ++k) {
    test::ChoiceFamily family;
    family.most_nodes = 3 + k % 4;
    family.forbidden = k % 3 == 0 ? 0.3 : 0.05;
    family.edges_per_node = k % 2 == 0 ? 1.2 : 2;
    const Problem problem = test::random_choice_problem(random, family);
    const Solution solution = *solve(problem, rounds(60, static_cast<std::uint64_t>(k)));
    const auto naive = test::naive_choice(problem);
    expect_valid(problem, solution);
    if (!naive) {
      ++infeasible;
      ASSERT_EQ(solution.outcome, Outcome::kInfeasible) << "problem " << k;
      continue;
    }
    ASSERT_EQ(solution.outcome, Outcome::kChosen) << "problem " << k;
    ASSERT_EQ(solution.cost, naive->cost) << "problem " << k;
    ASSERT_TRUE(solution.optimal) << "problem " << k;
  }
  EXPECT_GT(infeasible, 500);
  EXPECT_LT(infeasible, 8000);
}

TEST(Solve, HandlesCostsNearTheLargest) {
  Problem problem = example();
  constexpr std::int64_t kLarge = kForbidden / 2 - 10;
  for (Node& node : problem.nodes) {
    for (std::int64_t& cost : node.costs) cost += kLarge;
  }
  const Solution solution = *solve(problem, rounds(20));
  EXPECT_EQ(solution.cost, 2 * kLarge + 3);
  EXPECT_TRUE(solution.optimal);
  problem.nodes[0].costs[0] += 20;
  EXPECT_EQ(solve(problem, rounds(20)).error().code, ErrorCode::kOverflow);
  problem.nodes[0].costs = {kForbidden, kForbidden + 5};
  EXPECT_EQ(solve(problem, rounds(20))->outcome, Outcome::kInfeasible);
}

TEST(Solve, IsTheSameForTheSameSeedAndRounds) {
  std::mt19937_64 random(7);
  test::ChoiceFamily family;
  family.most_nodes = 300;
  family.most_strategies = 8;
  family.most_time = 60;
  family.forbidden = 0;
  family.most_cost = 1000;
  for (int k = 0; k < 2; ++k) {
    const Problem problem = test::random_choice_problem(random, family);
    SolveOptions options = rounds(7);
    const Solution once = *solve(problem, options);
    options.threads = 2;
    const Solution again = *solve(problem, options);
    EXPECT_EQ(once.choices, again.choices);
    EXPECT_EQ(once.lower_bound, again.lower_bound);
    expect_valid(problem, once);
  }
}

/// A chain of nodes with links to the next and to the seventh after it. Strategies that cost less
/// use more memory; the limit is halfway between the least and the most that ten nodes use.
Problem chain(std::size_t nodes) {
  constexpr std::size_t kStrategies = 6;
  std::mt19937_64 random(nodes);
  Problem problem;
  for (std::size_t i = 0; i < nodes; ++i) {
    Node& node = problem.nodes.emplace_back();
    node.life = {static_cast<std::int64_t>(i), static_cast<std::int64_t>(i) + 10};
    for (std::size_t k = 0; k < kStrategies; ++k) {
      node.costs.push_back(static_cast<std::int64_t>(20 * k + random() % 20));
      node.usages.push_back(static_cast<std::int64_t>(100 - 20 * k));
    }
    for (const std::size_t step : {std::size_t{1}, std::size_t{7}}) {
      if (i < step) continue;
      Edge& edge = problem.edges.emplace_back();
      edge.a = i - step;
      edge.b = i;
      for (std::size_t k = 0; k < kStrategies * kStrategies; ++k) {
        edge.costs.push_back(static_cast<std::int64_t>(random() % 50));
      }
    }
  }
  problem.usage_limit = 500;
  return problem;
}

TEST(Solve, GrowsFromTenTo65000Nodes) {
  for (const std::size_t nodes : {10, 100, 1000, 10000, 65000}) {
    const Problem problem = chain(nodes);
    const Solution solution = *solve(problem, rounds(6));
    ASSERT_EQ(solution.outcome, Outcome::kChosen) << nodes;
    EXPECT_GT(solution.lower_bound, 0) << nodes;
    EXPECT_LT(solution.gap(), 0.5) << nodes;
    expect_valid(problem, solution);
    RecordProperty(cat("first_milliseconds_", nodes),
                   static_cast<int>(1000 * solution.first_seconds));
  }
}

TEST(Solve, StopsWhenAsked) {
  std::mt19937_64 random(9);
  test::ChoiceFamily family;
  family.most_nodes = 400;
  family.most_strategies = 8;
  family.forbidden = 0;
  family.most_cost = 100000;
  family.edges_per_node = 3;
  Problem problem = test::random_choice_problem(random, family);
  problem.usage_limit.reset();
  SolveOptions options = rounds(1000000);
  int calls = 0;
  options.progress_context = &calls;
  options.progress = [](void* context, const Progress&) {
    return ++*static_cast<int*>(context) < 3;
  };
  const Solution solution = *solve(problem, options);
  EXPECT_LE(calls, 3);
  expect_valid(problem, solution);
}

}  // namespace
}  // namespace tessera::choose
