// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "tessera/memory/solve.h"
#include "tessera/memory/validate.h"
#include "tessera/testing/memory/naive_alloc.h"
#include "tessera/testing/memory/solve_laws.h"

namespace tessera::memory {
namespace {

using test::Dice;
using test::expect_laws;
using test::expect_live_bound;
using test::expect_solved;
using test::few;
using test::ProblemLimits;

SolveOptions random_options(Dice& dice, const Problem& problem) {
  SolveOptions options;
  if (dice.chance(50)) {
    options.capacity = test::naive_max_live(problem).bytes + dice.between(-3, 8);
  }
  options.minimize = dice.chance(30);
  options.techniques.repair = dice.chance(15);  // it takes longer than everything else together
  options.nodes = dice.chance(30) ? dice.below(50) : 1000;
  if (dice.chance(30)) {
    const auto& names = technique_names();
    options.techniques.*
        (names[static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(names.size())))]
             .field) = false;
  }
  return options;
}

TEST(SolveProperty, EveryPlanIsValid) {
  std::int64_t solved = 0;
  std::int64_t outcomes[3] = {};
  for (std::uint64_t seed = 0; seed < few(80'000); ++seed) {
    Dice dice(seed);
    ProblemLimits limits;
    limits.max_buffers = dice.between(1, 14);
    limits.max_moment = dice.between(1, 14);
    limits.max_size = dice.chance(20) ? 1000 : 12;
    const Problem problem = test::random_problem(dice, limits);
    const SolveOptions options = random_options(dice, problem);
    SCOPED_TRACE(testing::Message() << "seed " << seed << " " << test::text_of(problem));
    const Solution solution = expect_solved(problem, options);
    if (HasFailure()) return;
    ++solved;
    ++outcomes[static_cast<std::size_t>(solution.outcome)];
  }
  EXPECT_GT(solved, static_cast<std::int64_t>(few(60'000)));
  EXPECT_GT(outcomes[static_cast<std::size_t>(Outcome::kFits)], solved / 2);
  EXPECT_GT(outcomes[static_cast<std::size_t>(Outcome::kDoesNotFit)], 0);
}

TEST(SolveProperty, SolvesWithEveryTechniqueOff) {
  Techniques none;
  for (const TechniqueName& technique : technique_names()) none.*(technique.field) = false;
  for (std::uint64_t seed = 0; seed < few(1'000); ++seed) {
    Dice dice(seed + 3'000'000);
    const Problem problem = test::random_problem(dice, {.max_buffers = 12});
    SCOPED_TRACE(testing::Message() << "seed " << seed << " " << test::text_of(problem));
    SolveOptions options;
    options.techniques = none;
    expect_solved(problem, options);
    if (HasFailure()) return;
  }
}

TEST(SolveProperty, GivesTheSamePlanForTheSameNodes) {
  for (std::uint64_t seed = 0; seed < few(300); ++seed) {
    Dice dice(seed + 4'000'000);
    ProblemLimits limits;
    limits.max_buffers = 40;
    limits.max_moment = 20;
    limits.max_size = 100;
    limits.fixed = 3;
    const Problem problem = test::random_problem(dice, limits);
    SolveOptions options;
    options.minimize = true;
    options.nodes = dice.below(2000);
    options.seconds = 1000;
    const Result<Solution> first = solve(problem, options);
    const Result<Solution> second = solve(problem, options);
    ASSERT_TRUE(first.ok() && second.ok());
    expect_laws(problem, options, *first);
    EXPECT_EQ(first->nodes, second->nodes);
    EXPECT_LE(first->nodes, options.nodes);
    EXPECT_EQ(first->peak, second->peak);
    EXPECT_EQ(first->proven_bound, second->proven_bound);
    EXPECT_TRUE(std::equal(first->offsets.begin(), first->offsets.end(), second->offsets.begin(),
                           second->offsets.end()))
        << seed << test::text_of(problem);
    if (HasFailure()) return;
  }
}

TEST(SolveProperty, NeverGetsWorseByHints) {
  for (std::uint64_t seed = 0; seed < few(3'000); ++seed) {
    Dice dice(seed + 5'000'000);
    ProblemLimits limits;
    limits.max_buffers = 10;
    limits.hint = 60;
    const Problem hinted = test::random_problem(dice, limits);
    Problem plain = hinted;
    for (Buffer& buffer : plain.buffers) buffer.hint.reset();
    SolveOptions options;
    options.techniques.exact = dice.chance(50);
    options.techniques.repair = dice.chance(50);
    const Result<Solution> with = solve(hinted, options);
    const Result<Solution> without = solve(plain, options);
    ASSERT_TRUE(with.ok() && without.ok());
    expect_laws(hinted, options, *with);
    EXPECT_LE(with->peak, without->peak) << seed << test::text_of(hinted);
    if (HasFailure()) return;
  }
}

TEST(SolveProperty, RefusesWhatHasNoPlan) {
  std::int64_t possible = 0;
  std::int64_t impossible = 0;
  for (std::uint64_t seed = 0; seed < few(10'000); ++seed) {
    Dice dice(seed + 6'000'000);
    ProblemLimits limits;
    limits.max_buffers = 6;
    limits.alias = 25;
    limits.misplaced = 35;
    const Problem problem = test::random_problem(dice, limits);
    SCOPED_TRACE(testing::Message() << "seed " << seed << " " << test::text_of(problem));
    const auto lowest = test::lowest_plan(problem);
    const Status status = check(problem);
    SolveOptions options;
    options.minimize = true;
    options.techniques.repair = false;
    const Result<Solution> solution = solve(problem, options);
    ASSERT_EQ(status.ok(), lowest.has_value()) << (status.ok() ? "" : status.error().message);
    ASSERT_EQ(solution.ok(), status.ok());
    if (status.ok()) {
      ++possible;
      expect_laws(problem, {}, *solution);
      EXPECT_EQ(solution->peak, lowest->peak);
    } else {
      ++impossible;
      EXPECT_EQ(status.error().code, ErrorCode::kBadBuffer);
      EXPECT_EQ(solution.error().code, status.error().code);
      ASSERT_TRUE(status.error().span.has_value());
      EXPECT_GE(status.error().span->from, 0);
      EXPECT_EQ(status.error().span->to, status.error().span->from + 1);
      EXPECT_LE(status.error().span->to, static_cast<std::int64_t>(problem.buffers.size()));
      EXPECT_FALSE(status.error().help.empty());
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(possible, static_cast<std::int64_t>(few(1'000)));
  EXPECT_GT(impossible, static_cast<std::int64_t>(few(1'000)));
}

TEST(SolveProperty, BoundsAreBoundsOfTheOptimum) {
  for (std::uint64_t seed = 0; seed < few(10'000); ++seed) {
    Dice dice(seed + 7'000'000);
    ProblemLimits limits;
    limits.aligned = dice.chance(50) ? 60 : 0;
    limits.twin = 40;
    const Problem problem = test::random_problem(dice, limits);
    SCOPED_TRACE(testing::Message() << "seed " << seed << " " << test::text_of(problem));
    expect_live_bound(problem, /*is_exact=*/limits.aligned == 0);
    if (HasFailure()) return;
  }
}

TEST(SolveProperty, LargerPlansAreValid) {
  for (std::uint64_t seed = 0; seed < few(300); ++seed) {
    Dice dice(seed + 9'000'000);
    ProblemLimits limits;
    limits.max_buffers = dice.between(20, 300);
    limits.max_moment = dice.between(1, 200);
    limits.max_size = 5000;
    limits.aligned = dice.chance(50) ? 0 : 30;
    limits.alias = dice.chance(50) ? 0 : 20;
    limits.fixed = dice.chance(50) ? 0 : 10;
    const Problem problem = test::random_problem(dice, limits);
    SolveOptions options;
    options.nodes = 300;
    expect_solved(problem, options);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace tessera::memory
