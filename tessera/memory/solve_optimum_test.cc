// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "bench/hard_instance.h"
#include "tessera/memory/solve.h"
#include "tessera/memory/validate.h"
#include "tessera/testing/memory/naive_alloc.h"
#include "tessera/testing/memory/solve_laws.h"

namespace tessera::memory {
namespace {

using test::Dice;
using test::expect_laws;
using test::expect_optimum;
using test::expect_solved;
using test::few;
using test::ProblemLimits;

/// True when there is a plan below `peak`: every offset of every buffer is tried.
bool has_plan_below(const Problem& problem, std::int64_t peak) {
  if (peak == 0) return false;
  std::vector<std::int64_t> offsets(problem.buffers.size());
  for (;;) {
    if (validate(problem, offsets, peak - 1, 1).empty()) return true;
    std::size_t digit = 0;
    while (digit < offsets.size() && ++offsets[digit] == peak) offsets[digit++] = 0;
    if (digit == offsets.size()) return false;
  }
}

TEST(SolveOptimum, TheReferenceHasTheLowestPeak) {
  int above_live = 0;
  for (std::uint64_t seed = 0; seed < few(1'000); ++seed) {
    Dice dice(seed + 8'000'000);
    ProblemLimits limits;
    limits.max_buffers = 3;
    limits.max_moment = 3;
    limits.max_size = 4;
    limits.max_alignment = 4;
    limits.aligned = 50;
    limits.fixed = 25;
    const Problem problem = test::random_problem(dice, limits);
    const auto lowest = test::lowest_plan(problem);
    ASSERT_TRUE(lowest.has_value());
    if (lowest->peak > 12) continue;
    ASSERT_TRUE(validate(problem, lowest->offsets, lowest->peak).empty());
    EXPECT_FALSE(has_plan_below(problem, lowest->peak)) << seed << test::text_of(problem);
    above_live += lowest->peak > test::naive_max_live(problem).bytes ? 1 : 0;
  }
  EXPECT_GT(above_live, static_cast<int>(few(100)));
}

TEST(SolveOptimum, FindsTheLowestPeakOfTinyProblems) {
  std::int64_t above_the_bound = 0;
  for (std::uint64_t seed = 0; seed < few(20'000); ++seed) {
    Dice dice(seed);
    ProblemLimits limits;
    limits.max_moment = dice.between(2, 9);
    limits.twin = dice.chance(20) ? 60 : 10;
    const Problem problem = test::random_problem(dice, limits);
    SCOPED_TRACE(testing::Message() << "seed " << seed << " " << test::text_of(problem));
    const auto lowest = test::lowest_plan(problem);
    ASSERT_TRUE(lowest.has_value());
    ASSERT_TRUE(validate(problem, lowest->offsets, lowest->peak).empty());
    SolveOptions options;
    options.minimize = true;
    if (dice.chance(30)) options.capacity = lowest->peak + dice.between(0, 5);
    // Heuristics find most of these: without them the search has to.
    options.techniques.greedy = dice.chance(50);
    options.techniques.repair = dice.chance(5);
    const Solution solution = expect_optimum(problem, options, lowest->peak);
    if (HasFailure()) return;
    above_the_bound += solution.peak > solution.lower_bound ? 1 : 0;
  }
  EXPECT_GT(above_the_bound, static_cast<std::int64_t>(few(500)));
}

TEST(SolveOptimum, FindsTheLowestPeakHoweverManyBytesItIsAboveTheBound) {
  // The hole under the fixed buffer is too small for the last one, so the optimum is 199.5 GB above
  // the live bytes, with a grain of one byte between: 49,053,442,094 + 443,319,909,479 is the end
  // of the fixed one, 492,373,351,573; the next multiple of 8 is 492,373,351,576.
  const Problem few_bytes_apart{{{0, 2, 49'053'442'094, 1, 443'319'909'479},
                                 {0, 2, 243'819'548'238},
                                 {1, 2, 784'471'570'241, 8}}};
  const Result<Solution> example = solve(few_bytes_apart, {.minimize = true});
  ASSERT_TRUE(example.ok());
  EXPECT_EQ(example->peak, 492'373'351'576 + 784'471'570'241);
  EXPECT_TRUE(example->optimal);

  for (std::uint64_t seed = 0; seed < few(1'000); ++seed) {
    Dice dice(seed + 14'000'000);
    ProblemLimits limits;
    limits.max_size = std::int64_t{1} << dice.between(20, 50);
    limits.fixed = 30;
    const Problem problem = test::random_problem(dice, limits);
    SCOPED_TRACE(testing::Message() << "seed " << seed << " " << test::text_of(problem));
    const auto lowest = test::lowest_plan(problem);
    ASSERT_TRUE(lowest.has_value());
    SolveOptions options;
    options.minimize = true;
    expect_optimum(problem, options, lowest->peak);
    if (HasFailure()) return;
  }
}

TEST(SolveOptimum, KnowsWhetherTinyProblemsFit) {
  std::int64_t fit = 0;
  std::int64_t not_fit = 0;
  for (std::uint64_t seed = 0; seed < few(10'000); ++seed) {
    Dice dice(seed + 1'000'000);
    const Problem problem = test::random_problem(dice, {});
    SCOPED_TRACE(testing::Message() << "seed " << seed << " " << test::text_of(problem));
    const auto lowest = test::lowest_plan(problem);
    ASSERT_TRUE(lowest.has_value());
    SolveOptions options;
    options.capacity = lowest->peak + dice.between(-3, 1);
    options.techniques.greedy = dice.chance(50);
    options.techniques.repair = dice.chance(5);
    const Solution solution = expect_solved(problem, options);
    EXPECT_EQ(
        outcome_name(solution.outcome),
        outcome_name(lowest->peak <= *options.capacity ? Outcome::kFits : Outcome::kDoesNotFit));
    EXPECT_LE(solution.proven_bound, lowest->peak);
    if (HasFailure()) return;
    ++(solution.outcome == Outcome::kFits ? fit : not_fit);
  }
  EXPECT_GT(fit, static_cast<std::int64_t>(few(1'000)));
  EXPECT_GT(not_fit, static_cast<std::int64_t>(few(1'000)));
}

TEST(SolveOptimum, IsRightWithoutAnyOneTechnique) {
  std::int64_t finished = 0;
  for (std::uint64_t seed = 0; seed < few(600); ++seed) {
    Dice dice(seed + 2'000'000);
    ProblemLimits limits;
    limits.aligned = dice.chance(50) ? 0 : 25;
    limits.twin = 30;
    const Problem problem = test::random_problem(dice, limits);
    const auto lowest = test::lowest_plan(problem);
    ASSERT_TRUE(lowest.has_value());
    const auto expect_right = [&](const Techniques& techniques) {
      SolveOptions options;
      options.minimize = true;
      options.techniques = techniques;
      options.nodes = 100'000;
      const Solution solution = expect_solved(problem, options);
      EXPECT_LE(solution.proven_bound, lowest->peak);
      if (techniques.exact && solution.nodes < options.nodes) {
        EXPECT_EQ(solution.peak, lowest->peak);
        EXPECT_TRUE(solution.optimal);
        ++finished;
      }
    };
    for (const TechniqueName& technique : technique_names()) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << " without " << technique.name << " "
                                      << test::text_of(problem));
      Techniques techniques;
      techniques.*(technique.field) = false;
      expect_right(techniques);
      if (HasFailure()) return;
    }
    // Any set of them switched off, also all.
    Techniques techniques;
    for (const TechniqueName& technique : technique_names()) {
      techniques.*(technique.field) = dice.chance(50);
    }
    SCOPED_TRACE(testing::Message() << "seed " << seed << " with few " << test::text_of(problem));
    expect_right(techniques);
    if (HasFailure()) return;
  }
  EXPECT_GT(finished, static_cast<std::int64_t>(few(600) * (technique_names().size() - 1)));
}

TEST(SolveOptimum, TinyOnesStackedInTimeAreSolvedOneByOne) {
  // Problems that share no moment have the peak of the highest of them.
  for (std::uint64_t seed = 0; seed < few(200); ++seed) {
    Dice dice(seed + 10'000'000);
    Problem all;
    std::int64_t highest = 0;
    for (std::int64_t turn = 0; turn < 12; ++turn) {
      ProblemLimits limits;
      limits.alias = 0;
      const Problem one = test::random_problem(dice, limits);
      highest = std::max(highest, test::lowest_plan(one)->peak);
      for (Buffer buffer : one.buffers) {
        buffer.lower += turn * limits.max_moment;
        buffer.upper += turn * limits.max_moment;
        all.buffers.push_back(buffer);
      }
    }
    const Result<Solution> solution = solve(all, {.minimize = true});
    ASSERT_TRUE(solution.ok());
    expect_laws(all, {}, *solution);
    EXPECT_EQ(solution->peak, highest) << seed << test::text_of(all);
    if (HasFailure()) return;
  }
}

TEST(SolveOptimum, FindsPerfectPlansOfSmallHardInstances) {
  for (std::uint64_t seed = 0; seed < few(40); ++seed) {
    bench::HardOptions hard;
    hard.seed = seed;
    hard.buffers = 60;
    hard.layers = 3;
    hard.pinwheel_percent = seed % 2 == 0 ? 40 : 0;
    hard.full_percent = 70;
    const bench::HardInstance instance = bench::hard_instance(hard);
    SolveOptions options;
    options.capacity = instance.capacity;
    const Result<Solution> solution = solve(instance.problem, options);
    ASSERT_TRUE(solution.ok());
    expect_laws(instance.problem, options, *solution);
    EXPECT_EQ(solution->peak, instance.capacity) << seed;
    EXPECT_TRUE(solution->optimal);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace tessera::memory
