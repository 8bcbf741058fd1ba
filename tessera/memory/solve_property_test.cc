// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "tessera/memory/problem.h"
#include "tessera/memory/solve.h"
#include "tessera/memory/validate.h"
#include "tessera/testing/naive_alloc.h"
#include "tessera/testing/sanitized.h"

namespace tessera::memory {
namespace {

using test::Dice;
using test::ProblemLimits;

/// Random problems take longer under a sanitizer, where fewer of them are tried.
constexpr std::uint64_t few(std::uint64_t cases) { return test::kSanitized ? cases / 10 : cases; }

std::int64_t end_of(const Problem& problem, const Array<std::int64_t>& offsets) {
  std::int64_t end = 0;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (problem.buffers[i].size > 0) end = std::max(end, offsets[i] + problem.buffers[i].size);
  }
  return end;
}

/// Whether one buffer by itself is more than the capacity.
bool hopeless(const Problem& problem, std::int64_t capacity) {
  return std::any_of(problem.buffers.begin(), problem.buffers.end(), [&](const Buffer& buffer) {
    return buffer.size > 0 && buffer.fixed.value_or(0) + buffer.size > capacity;
  });
}

/// That an error is the one of a buffer, or of those that share memory with it, beyond the
/// capacity.
void expect_hopeless(const Problem& problem, std::int64_t capacity, const Error& error) {
  EXPECT_EQ(error.code, ErrorCode::kDoesNotFit) << error.message;
  EXPECT_FALSE(error.help.empty());
  ASSERT_TRUE(error.span.has_value());
  EXPECT_LT(error.span->from, static_cast<std::int64_t>(problem.buffers.size()));
  const Result<Solution> free = solve(problem, {.nodes = 0});
  ASSERT_TRUE(free.ok());
  EXPECT_GT(free->lower_bound, capacity);
}

/// What holds for every solution, however it was found.
void expect_laws(const Problem& problem, const SolveOptions& options, const Solution& solution) {
  const std::vector<Finding> findings = validate(problem, solution.offsets);
  EXPECT_TRUE(findings.empty()) << findings.at(0).message;
  EXPECT_EQ(solution.peak, end_of(problem, solution.offsets));
  EXPECT_GE(solution.lower_bound, test::naive_max_live(problem).bytes);
  EXPECT_GE(solution.proven_bound, solution.lower_bound);
  EXPECT_GE(solution.peak, solution.proven_bound);
  EXPECT_EQ(solution.optimal, solution.peak == solution.proven_bound);
  const bool within = !options.capacity || solution.peak <= *options.capacity;
  EXPECT_EQ(solution.outcome == Outcome::kFits, within);
  if (solution.outcome == Outcome::kDoesNotFit) {
    EXPECT_GT(solution.proven_bound, *options.capacity);
  }
  const double gap =
      solution.lower_bound == 0
          ? 0
          : static_cast<double>(solution.peak) / static_cast<double>(solution.lower_bound) - 1;
  EXPECT_DOUBLE_EQ(solution.gap(), gap);
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer& buffer = problem.buffers[i];
    if (buffer.size == 0 && !buffer.fixed && !buffer.alias &&
        std::none_of(problem.buffers.begin(), problem.buffers.end(),
                     [&](const Buffer& other) { return other.alias && other.alias->of == i; })) {
      EXPECT_EQ(solution.offsets[i], 0);
    }
  }
}

SolveOptions random_options(Dice& dice, const Problem& problem) {
  SolveOptions options;
  if (dice.chance(50)) {
    options.capacity = test::naive_max_live(problem).bytes + dice.between(-3, 8);
  }
  options.minimize = dice.chance(30);
  if (dice.chance(30)) options.nodes = dice.below(50);
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
    const Result<Solution> solution = solve(problem, options);
    if (!solution.ok() && options.capacity) {
      expect_hopeless(problem, *options.capacity, solution.error());
      if (HasFailure()) return;
      continue;
    }
    ASSERT_TRUE(solution.ok()) << solution.error().message;
    ASSERT_FALSE(options.capacity && hopeless(problem, *options.capacity));
    expect_laws(problem, options, *solution);
    if (HasFailure()) return;
    ++solved;
    ++outcomes[static_cast<std::size_t>(solution->outcome)];
  }
  EXPECT_GT(solved, static_cast<std::int64_t>(few(60'000)));
  EXPECT_GT(outcomes[static_cast<std::size_t>(Outcome::kFits)], solved / 2);
  EXPECT_GT(outcomes[static_cast<std::size_t>(Outcome::kDoesNotFit)], 0);
}

TEST(SolveProperty, FindsTheLowestPeakOfTinyProblems) {
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
    const Result<Solution> solution = solve(problem, options);
    ASSERT_TRUE(solution.ok()) << solution.error().message;
    expect_laws(problem, options, *solution);
    EXPECT_EQ(solution->peak, lowest->peak);
    EXPECT_TRUE(solution->optimal);
    if (HasFailure()) return;
    above_the_bound += solution->peak > solution->lower_bound ? 1 : 0;
  }
  EXPECT_GT(above_the_bound, static_cast<std::int64_t>(few(500)));
}

TEST(SolveProperty, KnowsWhetherTinyProblemsFit) {
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
    const Result<Solution> solution = solve(problem, options);
    if (!solution.ok()) {
      expect_hopeless(problem, *options.capacity, solution.error());
      if (HasFailure()) return;
      continue;
    }
    ASSERT_FALSE(hopeless(problem, *options.capacity));
    expect_laws(problem, options, *solution);
    EXPECT_EQ(
        outcome_name(solution->outcome),
        outcome_name(lowest->peak <= *options.capacity ? Outcome::kFits : Outcome::kDoesNotFit));
    EXPECT_LE(solution->proven_bound, lowest->peak);
    if (HasFailure()) return;
    ++(solution->outcome == Outcome::kFits ? fit : not_fit);
  }
  EXPECT_GT(fit, static_cast<std::int64_t>(few(1'000)));
  EXPECT_GT(not_fit, static_cast<std::int64_t>(few(1'000)));
}

TEST(SolveProperty, IsRightWithoutAnyOneTechnique) {
  std::int64_t finished = 0;
  for (std::uint64_t seed = 0; seed < few(1'500); ++seed) {
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
      const Result<Solution> solution = solve(problem, options);
      ASSERT_TRUE(solution.ok()) << solution.error().message;
      expect_laws(problem, options, *solution);
      EXPECT_LE(solution->proven_bound, lowest->peak);
      if (techniques.exact && solution->nodes < options.nodes) {
        EXPECT_EQ(solution->peak, lowest->peak);
        EXPECT_TRUE(solution->optimal);
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
  EXPECT_GT(finished, static_cast<std::int64_t>(few(1'500) * (technique_names().size() - 1)));
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
    const Result<Solution> solution = solve(problem, options);
    ASSERT_TRUE(solution.ok()) << solution.error().message;
    expect_laws(problem, options, *solution);
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
    const Result<Solution> solution = solve(problem, {.minimize = true});
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
    const auto lowest = test::lowest_plan(problem);
    const Result<MaxLive> live = max_live(problem);
    ASSERT_TRUE(lowest.has_value() && live.ok());
    const test::NaiveLive naive = test::naive_max_live(problem);
    EXPECT_GE(live->bytes, naive.bytes) << seed << test::text_of(problem);
    EXPECT_LE(live->bytes, lowest->peak) << seed << test::text_of(problem);
    if (limits.aligned == 0) {
      EXPECT_EQ(live->bytes, naive.bytes) << seed << test::text_of(problem);
      EXPECT_EQ(live->moment, naive.moment) << seed << test::text_of(problem);
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace tessera::memory
