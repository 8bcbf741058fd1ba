// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "bench/hard_instance.h"
#include "tessera/memory/solve.h"
#include "tessera/memory/validate.h"
#include "tessera/testing/memory/naive_alloc.h"
#include "tessera/testing/memory/solve_laws.h"
#include "tessera/testing/process.h"

namespace tessera::memory {
namespace {

using test::Dice;
using test::expect_laws;
using test::few;

TEST(SolveLimits, TakesNumbersUpToTheLimit) {
  constexpr std::int64_t kMost = std::int64_t{1} << 61;
  for (std::uint64_t seed = 0; seed < few(2'000); ++seed) {
    Dice dice(seed + 11'000'000);
    Problem problem;
    const std::int64_t count = dice.between(1, 7);
    const std::int64_t times[] = {INT64_MIN, INT64_MIN + 1, -7, 0, 5, INT64_MAX - 1, INT64_MAX};
    for (std::int64_t i = 0; i < count; ++i) {
      Buffer buffer;
      const std::int64_t birth = dice.below(6);
      buffer.lower = times[birth];
      buffer.upper = times[dice.between(birth + 1, 6)];
      buffer.size = dice.chance(20) ? 1 : dice.between(1, kMost / 16);
      if (dice.chance(40)) buffer.alignment = std::int64_t{1} << dice.below(57);
      if (dice.chance(10)) buffer.alignment = dice.between(1, kMost / 16);
      if (dice.chance(15)) buffer.hint = dice.below(kMost);
      if (i == 0 && dice.chance(30)) {
        buffer.fixed = dice.below(kMost) / buffer.alignment * buffer.alignment;
      }
      problem.buffers.push_back(buffer);
    }
    SCOPED_TRACE(testing::Message() << "seed " << seed << " " << test::text_of(problem));
    SolveOptions options;
    if (dice.chance(30)) options.capacity = dice.chance(50) ? INT64_MAX : dice.below(kMost);
    options.nodes = 1000;
    const Result<Solution> solution = solve(problem, options);
    ASSERT_TRUE(solution.ok()) << solution.error().message;
    expect_laws(problem, options, *solution);
    if (HasFailure()) return;
  }
}

TEST(SolveLimits, ProvesAcrossALargeGapBesideWhatIsFixed) {
  // Sizes in units of 2^48, and an alignment of 3 that brings the grain down to a byte.
  constexpr std::int64_t kUnit = std::int64_t{1} << 48;
  Problem problem;
  problem.buffers = {{2, 6, 12 * kUnit},    {6, 11, 20 * kUnit, 3},
                     {7, 12, 19 * kUnit},   {8, 10, 7 * kUnit, 2 * kUnit},
                     {2, 6, 20 * kUnit, 2}, {8, 12, 11 * kUnit}};
  problem.buffers[1].alias = Alias{0, 12 * kUnit};
  problem.buffers[2].alias = Alias{1, 9 * kUnit};
  problem.buffers[5].fixed = 18 * kUnit;
  const Result<Solution> solution = solve(problem, {.minimize = true});
  ASSERT_TRUE(solution.ok());
  EXPECT_TRUE(solution->optimal);
  EXPECT_EQ(solution->peak, test::lowest_plan(problem)->peak);
}

TEST(SolveLimits, StopsWhenItIsToldTo) {
  const bench::HardInstance hard = bench::hard_instance(bench::hard_family(5)[4].options);
  struct Watch {
    std::int64_t calls = 0;
    std::int64_t last_nodes = 0;
    double last_seconds = 0;
    bool in_order = true;
    std::int64_t peak = INT64_MAX;
  } watch;
  SolveOptions options;
  options.minimize = true;
  options.seconds = 1000;
  options.progress_context = &watch;
  options.progress = [](void* context, const Progress& progress) {
    auto& seen = *static_cast<Watch*>(context);
    seen.in_order = seen.in_order && progress.nodes >= seen.last_nodes &&
                    progress.seconds >= seen.last_seconds && progress.peak <= seen.peak &&
                    progress.lower_bound <= progress.peak;
    seen.last_nodes = progress.nodes;
    seen.last_seconds = progress.seconds;
    seen.peak = progress.peak;
    return ++seen.calls < 2;
  };
  const double start = test::cpu_seconds();
  const Result<Solution> solution = solve(hard.problem, options);
  EXPECT_LT(test::cpu_seconds() - start, 20);
  ASSERT_TRUE(solution.ok());
  expect_laws(hard.problem, options, *solution);
  EXPECT_EQ(watch.calls, 2);
  EXPECT_TRUE(watch.in_order);
}

TEST(SolveLimits, StopsInTime) {
  const bench::HardInstance hard = bench::hard_instance(bench::hard_family(5)[4].options);
  SolveOptions options;
  options.capacity = hard.capacity;
  options.seconds = 0.2;
  const double start = test::cpu_seconds();
  const Result<Solution> solution = solve(hard.problem, options);
  EXPECT_LT(test::cpu_seconds() - start, 3);
  ASSERT_TRUE(solution.ok());
  expect_laws(hard.problem, options, *solution);
  options.seconds = 0;
  const Result<Solution> at_once = solve(hard.problem, options);
  ASSERT_TRUE(at_once.ok());
  expect_laws(hard.problem, options, *at_once);
}

}  // namespace
}  // namespace tessera::memory
