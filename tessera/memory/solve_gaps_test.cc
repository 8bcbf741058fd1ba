// SPDX-License-Identifier: Apache-2.0
// Plans of buffers with gaps, judged by trying every offset, byte by byte and moment by moment.
#include <gtest/gtest.h>

#include <algorithm>

#include "tessera/memory/solve.h"
#include "tessera/memory/validate.h"
#include "tessera/testing/memory/families.h"
#include "tessera/testing/memory/naive_alloc.h"
#include "tessera/testing/memory/solve_laws.h"

namespace tessera::memory {
namespace {

using test::Dice;
using test::expect_laws;
using test::expect_live_bound;
using test::expect_optimum;
using test::expect_solved;
using test::few;
using test::ProblemLimits;

/// Problems that the reference solves in a moment; most have gaps.
ProblemLimits tiny(Dice& dice) {
  ProblemLimits limits;
  limits.max_buffers = 5;
  limits.max_moment = dice.between(3, 8);
  limits.max_size = 6;
  limits.max_alignment = 4;
  limits.aligned = dice.chance(50) ? 30 : 0;
  limits.alias = 6;
  limits.gaps = 60;
  return limits;
}

Problem without_gaps(Problem problem) {
  for (Buffer& buffer : problem.buffers) buffer.gaps.clear();
  return problem;
}

SolveOptions minimal(Dice& dice) {
  SolveOptions options;
  options.minimize = true;
  // Heuristics find most of these: without them the search has to.
  options.techniques.greedy = dice.chance(50);
  options.techniques.repair = dice.chance(30);
  return options;
}

TEST(SolveGaps, TheReferenceOfOffsetsAgreesWithThatOfOrders) {
  for (std::uint64_t seed = 0; seed < few(1'000); ++seed) {
    Dice dice(seed + 20'000'000);
    ProblemLimits limits = tiny(dice);
    limits.gaps = 0;
    const Problem problem = test::random_problem(dice, limits);
    const auto starts = test::lowest_of_every_offset(test::families_of(problem));
    const auto lowest = test::lowest_plan(problem);
    ASSERT_TRUE(starts.has_value() && lowest.has_value());
    std::int64_t peak = 0;
    const std::vector<test::Family> families = test::families_of(problem);
    for (std::size_t f = 0; f < families.size(); ++f) {
      if (families[f].size > 0) peak = std::max(peak, (*starts)[f] + families[f].size);
    }
    EXPECT_EQ(peak, lowest->peak) << seed << test::text_of(problem);
  }
}

TEST(SolveGaps, FindsTheLowestPeakOfTinyProblems) {
  std::int64_t used = 0;
  std::int64_t above_the_bound = 0;
  for (std::uint64_t seed = 0; seed < few(20'000); ++seed) {
    Dice dice(seed + 21'000'000);
    const Problem problem = test::random_problem(dice, tiny(dice));
    SCOPED_TRACE(testing::Message() << "seed " << seed << " " << test::text_of(problem));
    const auto lowest = test::lowest_plan(problem);
    ASSERT_TRUE(lowest.has_value());
    ASSERT_TRUE(validate(problem, lowest->offsets, lowest->peak).empty());
    SolveOptions options = minimal(dice);
    if (dice.chance(30)) options.capacity = lowest->peak + dice.between(-1, 5);
    const Solution solution = expect_optimum(problem, options, lowest->peak);
    if (HasFailure()) return;
    above_the_bound += solution.peak > solution.lower_bound ? 1 : 0;
    used += solve(without_gaps(problem), options)->peak > solution.peak ? 1 : 0;
  }
  EXPECT_GT(used, static_cast<std::int64_t>(few(3'000))) << "gaps that save memory";
  EXPECT_GT(above_the_bound, static_cast<std::int64_t>(few(600)));
}

/// Whether one of two buffers is above the other at one moment, and below it at another.
bool are_interlocked(const Problem& problem, const Array<std::int64_t>& offsets) {
  const std::vector<test::Family> families = test::families_of(problem);
  for (std::size_t a = 0; a < families.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      bool is_above = false;
      bool is_below = false;
      for (std::int64_t moment = 0; moment < 9; ++moment) {
        const test::Family::Kept one = families[a].kept_at(moment);
        const test::Family::Kept two = families[b].kept_at(moment);
        if (one.bytes() == 0 || two.bytes() == 0) continue;
        const std::int64_t start = offsets[families[a].members[0]] + one.from;
        const std::int64_t other = offsets[families[b].members[0]] + two.from;
        (start > other ? is_above : is_below) = true;
      }
      if (is_above && is_below) return true;
    }
  }
  return false;
}

TEST(SolveGaps, FindsTheLowestPeakOfBuffersThatInterlock) {
  std::int64_t interlocked = 0;
  for (std::uint64_t seed = 0; seed < few(12'000); ++seed) {
    Dice dice(seed + 29'000'000);
    ProblemLimits limits = tiny(dice);
    limits.max_buffers = 4;
    limits.max_moment = 4;
    limits.max_size = 12;
    limits.alias = 0;
    limits.gaps = 100;
    limits.slivers = 80;
    const Problem problem = test::random_problem(dice, limits);
    SCOPED_TRACE(testing::Message() << "seed " << seed << " " << test::text_of(problem));
    const auto lowest = test::lowest_plan(problem);
    ASSERT_TRUE(lowest.has_value());
    const SolveOptions options = minimal(dice);
    const Solution solution = expect_optimum(problem, options, lowest->peak);
    if (HasFailure()) return;
    interlocked += are_interlocked(problem, solution.offsets) ? 1 : 0;
  }
  EXPECT_GT(interlocked, static_cast<std::int64_t>(few(50)));
}

/// Where alignments do not divide each other, blocks in each other's pockets are raised in turn by
/// rounding, and may or may not come to rest.
TEST(SolveGaps, FindsTheLowestPeakForAnyAlignments) {
  for (std::uint64_t seed = 0; seed < few(10'000); ++seed) {
    Dice dice(seed + 30'000'000);
    ProblemLimits limits;
    limits.max_buffers = 3;
    limits.max_moment = 3;
    limits.max_size = 16;
    limits.aligned = 100;
    limits.max_alignment = 9;
    limits.alias = 0;
    limits.gaps = 100;
    limits.slivers = 90;
    const Problem problem = test::random_problem(dice, limits);
    SCOPED_TRACE(testing::Message() << "seed " << seed << " " << test::text_of(problem));
    const auto lowest = test::lowest_plan(problem);
    ASSERT_TRUE(lowest.has_value());
    SolveOptions options;
    options.minimize = true;
    options.techniques.greedy = false;
    options.techniques.repair = false;
    expect_optimum(problem, options, lowest->peak);
    if (HasFailure()) return;
  }
}

TEST(SolveGaps, KnowsWhetherTinyProblemsFit) {
  std::int64_t fit = 0;
  std::int64_t not_fit = 0;
  for (std::uint64_t seed = 0; seed < few(4'000); ++seed) {
    Dice dice(seed + 22'000'000);
    const Problem problem = test::random_problem(dice, tiny(dice));
    SCOPED_TRACE(testing::Message() << "seed " << seed << " " << test::text_of(problem));
    const auto lowest = test::lowest_plan(problem);
    ASSERT_TRUE(lowest.has_value());
    SolveOptions options = minimal(dice);
    options.minimize = false;
    options.capacity = lowest->peak + dice.between(-3, 1);
    const Solution solution = expect_solved(problem, options);
    const bool fits = lowest->peak <= *options.capacity;
    EXPECT_EQ(outcome_name(solution.outcome),
              outcome_name(fits ? Outcome::kFits : Outcome::kDoesNotFit));
    EXPECT_LE(solution.proven_bound, lowest->peak);
    if (HasFailure()) return;
    ++(fits ? fit : not_fit);
  }
  EXPECT_GT(fit, static_cast<std::int64_t>(few(1'000)));
  EXPECT_GT(not_fit, static_cast<std::int64_t>(few(1'000)));
}

TEST(SolveGaps, IsRightWithoutAnyOneTechnique) {
  std::int64_t finished = 0;
  for (std::uint64_t seed = 0; seed < few(600); ++seed) {
    Dice dice(seed + 23'000'000);
    ProblemLimits limits = tiny(dice);
    limits.twin = 30;
    const Problem problem = test::random_problem(dice, limits);
    const auto lowest = test::lowest_plan(problem);
    ASSERT_TRUE(lowest.has_value());
    for (const TechniqueName& technique : technique_names()) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << " without " << technique.name << " "
                                      << test::text_of(problem));
      SolveOptions options;
      options.minimize = true;
      options.nodes = 100'000;
      options.techniques.greedy = false;
      options.techniques.*(technique.field) = false;
      const Solution solution = expect_solved(problem, options);
      EXPECT_LE(solution.proven_bound, lowest->peak);
      if (options.techniques.exact && solution.nodes < options.nodes) {
        EXPECT_EQ(solution.peak, lowest->peak);
        EXPECT_TRUE(solution.optimal);
        ++finished;
      }
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(finished, static_cast<std::int64_t>(few(5'000)));
}

/// Fixed in a plan that uses gaps, buffers overlap without their gaps.
TEST(SolveGaps, KeepsWhatIsFixed) {
  for (std::uint64_t seed = 0; seed < few(2'000); ++seed) {
    Dice dice(seed + 24'000'000);
    Problem problem = test::random_problem(dice, tiny(dice));
    const auto lowest = test::lowest_plan(problem);
    ASSERT_TRUE(lowest.has_value());
    const int share = dice.chance(30) ? 100 : 50;
    for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
      if (dice.chance(share)) problem.buffers[i].fixed = lowest->offsets[i];
    }
    SCOPED_TRACE(testing::Message() << "seed " << seed << " " << test::text_of(problem));
    const SolveOptions options = minimal(dice);
    expect_optimum(problem, options, lowest->peak);
    if (HasFailure()) return;
  }
}

/// Two buffers are fixed on the same bytes, one in the gap of the other, and a third one so high
/// that there would be room for all without gaps.
TEST(SolveGaps, SearchesAroundBuffersThatAreFixedInGaps) {
  Problem problem{{{.lower = 0, .upper = 9, .size = 8, .fixed = 0, .gaps = {{3, 6}}},
                   {.lower = 3, .upper = 6, .size = 8, .fixed = 0},
                   {.lower = 0, .upper = 9, .size = 4, .fixed = 100}}};
  for (std::int64_t i = 0; i < 6; ++i) {
    problem.buffers.push_back({.lower = i % 3, .upper = 5 + i % 4, .size = 11 + i % 2});
  }
  for (const bool minimize : {true, false}) {
    SolveOptions options;
    options.capacity = 104;
    options.minimize = minimize;
    options.techniques.greedy = false;
    options.techniques.repair = false;
    expect_optimum(problem, options, 104);
  }
}

TEST(SolveGaps, RefusesFixedBuffersThatOverlapOutsideGaps) {
  std::int64_t possible = 0;
  std::int64_t impossible = 0;
  for (std::uint64_t seed = 0; seed < few(3'000); ++seed) {
    Dice dice(seed + 25'000'000);
    ProblemLimits limits = tiny(dice);
    limits.misplaced = 40;
    const Problem problem = test::random_problem(dice, limits);
    const bool has_plan = test::lowest_plan(problem).has_value();
    const Status status = check(problem);
    ASSERT_EQ(status.ok(), has_plan) << seed << test::text_of(problem);
    if (!has_plan) {
      EXPECT_EQ(status.error().code, ErrorCode::kBadBuffer);
    }
    ++(has_plan ? possible : impossible);
  }
  EXPECT_GT(possible, static_cast<std::int64_t>(few(300)));
  EXPECT_GT(impossible, static_cast<std::int64_t>(few(300)));
}

TEST(SolveGaps, BoundsAreBoundsOfTheOptimum) {
  for (std::uint64_t seed = 0; seed < few(4'000); ++seed) {
    Dice dice(seed + 26'000'000);
    ProblemLimits limits = tiny(dice);
    limits.fixed = 0;
    Problem problem = test::random_problem(dice, limits);
    if (seed % 4 == 0) {  // then whole steps of 4 bytes are needed, but not where a window begins
      for (Buffer& buffer : problem.buffers) buffer.alignment = 4;
      std::erase_if(problem.buffers, [](const Buffer& buffer) { return buffer.alias; });
    }
    SCOPED_TRACE(testing::Message() << "seed " << seed << " " << test::text_of(problem));
    expect_live_bound(problem, /*is_exact=*/limits.aligned == 0 && seed % 4 != 0);
    if (HasFailure()) return;
  }
}

TEST(SolveGaps, LargerPlansAreValid) {
  for (std::uint64_t seed = 0; seed < few(100); ++seed) {
    Dice dice(seed + 27'000'000);
    ProblemLimits limits;
    limits.max_buffers = dice.between(10, 200);
    limits.max_moment = dice.between(3, 200);
    limits.max_size = 5000;
    limits.aligned = dice.chance(50) ? 0 : 30;
    limits.fixed = dice.chance(50) ? 0 : 10;
    limits.gaps = dice.chance(50) ? 10 : 70;
    const Problem problem = test::random_problem(dice, limits);
    SolveOptions options;
    options.nodes = 300;
    options.minimize = dice.chance(50);
    options.seconds = 1000;
    const Solution solution = expect_solved(problem, options);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
    const Result<Solution> again = solve(problem, options);
    EXPECT_LE(solution.nodes, options.nodes);
    EXPECT_TRUE(std::equal(solution.offsets.begin(), solution.offsets.end(), again->offsets.begin(),
                           again->offsets.end()));
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

TEST(SolveGaps, NeverGetsWorseByHints) {
  std::int64_t followed = 0;
  for (std::uint64_t seed = 0; seed < few(1'000); ++seed) {
    Dice dice(seed + 28'000'000);
    ProblemLimits limits = tiny(dice);
    limits.hint = 60;
    const Problem hinted = test::random_problem(dice, limits);
    Problem plain = hinted;
    for (Buffer& buffer : plain.buffers) buffer.hint.reset();
    const SolveOptions options = minimal(dice);
    const Result<Solution> with = solve(hinted, options);
    const Result<Solution> without = solve(plain, options);
    ASSERT_TRUE(with.ok() && without.ok());
    expect_laws(hinted, options, *with);
    EXPECT_LE(with->peak, without->peak) << seed << test::text_of(hinted);
    if (HasFailure()) return;
    for (std::size_t i = 0; i < hinted.buffers.size(); ++i) {
      const bool has_hint = hinted.buffers[i].hint && !hinted.buffers[i].fixed;
      followed += has_hint && with->offsets[i] == hinted.buffers[i].hint &&
                          without->offsets[i] != with->offsets[i]
                      ? 1
                      : 0;
    }
  }
  EXPECT_GT(followed, static_cast<std::int64_t>(few(50)));
}

/// The instances "tetris" and "stairs" of google/minimalloc (tests/validator_test.cc), with the
/// heights that it lists for them. The live bytes are as many, so no plan is lower.
TEST(SolveGaps, SolvesThePublishedInstances) {
  const Problem tetris{{{.lower = 0, .upper = 10, .size = 2, .gaps = {{0, 5, 0, 1}}},
                        {.lower = 0, .upper = 10, .size = 2, .gaps = {{5, 10, 1, 2}}}}};
  const Problem stairs{
      {{.lower = 0, .upper = 108, .size = 30, .gaps = {{36, 72, 10, 30}, {72, 108, 20, 30}}},
       {.lower = 36, .upper = 144, .size = 50, .gaps = {{36, 72, 20, 30}, {72, 108, 10, 40}}},
       {.lower = 84, .upper = 144, .size = 42, .gaps = {{114, 129, 0, 28}, {129, 144, 0, 14}}},
       {.lower = 84, .upper = 129, .size = 42, .gaps = {{99, 114, 14, 42}, {114, 129, 28, 42}}},
       {.lower = 99, .upper = 144, .size = 70, .gaps = {{99, 114, 28, 42}, {114, 129, 14, 56}}},
       {.lower = 0, .upper = 144, .size = 30, .gaps = {{72, 108, 0, 20}, {108, 144, 0, 10}}}}};
  EXPECT_TRUE(validate(stairs, std::vector<std::int64_t>{30, 10, 60, 102, 74, 0}, 144).empty());
  for (const auto& [problem, height] : {std::pair(&tetris, 3), std::pair(&stairs, 144)}) {
    for (const bool greedy : {true, false}) {
      SolveOptions options;
      options.minimize = true;
      options.techniques.greedy = greedy;
      options.techniques.repair = greedy;
      const Result<Solution> solution = solve(*problem, options);
      ASSERT_TRUE(solution.ok());
      expect_laws(*problem, options, *solution);
      EXPECT_EQ(solution->peak, height);
      EXPECT_TRUE(solution->optimal);
    }
  }
}

/// Buffer b has its low byte first and its high byte later, 4 bytes apart, and a reaches in
/// between: above the one, below the other. If one buffer had to be above the other at all times, 7
/// bytes would be needed.
TEST(SolveGaps, BuffersMayInterlock) {
  const Problem problem{
      {{.lower = 0, .upper = 2, .size = 2},
       {.lower = 0, .upper = 2, .size = 5, .gaps = {{0, 1, 0, 1}, {1, 2, 4, 5}}}}};
  const Result<Solution> solution = solve(problem, {.minimize = true});
  ASSERT_TRUE(solution.ok());
  EXPECT_EQ(solution->peak, 5);
  EXPECT_TRUE(solution->optimal);
  EXPECT_EQ(solution->lower_bound, 5) << "the size of b, although 3 bytes are live";
}

/// A buffer that never keeps a byte is in nobody's way, but its range must be in the memory.
TEST(SolveGaps, ABufferMayKeepNothingAtAll) {
  const Problem problem{
      {{.lower = 0, .upper = 9, .size = 7, .alignment = 4, .gaps = {{0, 9}}},
       {.lower = 3, .upper = 4, .size = 5},
       {.lower = 0, .upper = 9, .size = 3, .fixed = 8, .gaps = {{0, 4}, {4, 9}}}}};
  const Result<Solution> solution = solve(problem, {.minimize = true});
  ASSERT_TRUE(solution.ok());
  EXPECT_EQ(solution->peak, 11);
  EXPECT_TRUE(solution->optimal);
  const Result<Solution> within = solve(problem, {.capacity = 10});
  EXPECT_EQ(within->outcome, Outcome::kDoesNotFit);
  EXPECT_EQ(max_live(problem)->bytes, 5);
  const Problem alone{{problem.buffers[0]}};
  EXPECT_EQ(solve(alone, {})->peak, 7);
  EXPECT_EQ(solve(alone, {})->offsets[0], 0);
}

}  // namespace
}  // namespace tessera::memory
