// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/solver/ring.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "bench/hard_instance.h"
#include "tessera/memory/solve.h"
#include "tessera/memory/solver/greedy.h"
#include "tessera/memory/solver/repair.h"
#include "tessera/memory/solver/work_budget.h"
#include "tessera/memory/validate.h"
#include "tessera/testing/memory/naive_alloc.h"

namespace tessera::memory {
namespace {

using test::Dice;

Buffer buffer(std::int64_t lower, std::int64_t upper, std::int64_t size) {
  return {lower, upper, size};
}

/// Data that pass through a pipeline: equal lifetimes, different sizes.
Problem pipeline(std::int64_t count, std::int64_t life) {
  Problem problem;
  Dice dice(7);
  for (std::int64_t i = 0; i < count; ++i) {
    problem.buffers.push_back(buffer(i, i + life, dice.between(1, 1 << 16)));
  }
  return problem;
}

/// Lifetimes of very different lengths, without any pattern.
Problem patternless(std::int64_t count) {
  Problem problem;
  Dice dice(11);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t lower = dice.below(count);
    std::int64_t life = 1;
    while (life < 2000 && dice.chance(85)) life += life / 2 + 1;
    problem.buffers.push_back(buffer(lower, lower + life, dice.between(1, 1 << 16)));
  }
  return problem;
}

TEST(Ring, GoesAround) {
  Problem problem;
  problem.buffers = {buffer(0, 2, 4), buffer(1, 3, 4), buffer(2, 4, 4)};
  const Packing packing = *pack(problem);
  Ring ring;
  Array<std::int64_t> offsets;
  bool fits = false;
  ASSERT_TRUE(ring.build(packing) && ring.run(8, offsets, fits));
  EXPECT_TRUE(fits);
  EXPECT_EQ(offsets[0], 0);
  EXPECT_EQ(offsets[1], 4);
  EXPECT_EQ(offsets[2], 0);
  ASSERT_TRUE(ring.run(7, offsets, fits));
  EXPECT_FALSE(fits);
}

TEST(Ring, PlansBelowItsCeilingOrGivesUp) {
  int fitted = 0;
  int gave_up = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Dice dice(seed);
    Problem problem;
    for (std::int64_t i = dice.between(1, 40); i > 0; --i) {
      const std::int64_t lower = dice.below(30);
      Buffer made = buffer(lower, lower + dice.between(1, 12), dice.between(1, 20));
      made.alignment = dice.chance(50) ? 1 : dice.between(1, 8);
      problem.buffers.push_back(made);
    }
    const Packing packing = *pack(problem);
    Ring ring;
    Array<std::int64_t> offsets;
    Array<std::int64_t> all;
    ASSERT_TRUE(ring.build(packing));
    for (const std::int64_t percent : {90, 100, 110, 130, 160, 300}) {
      const std::int64_t ceiling = packing.lower_bound * percent / 100;
      bool fits = false;
      ASSERT_TRUE(ring.run(ceiling, offsets, fits));
      ++(fits ? fitted : gave_up);
      if (!fits) continue;
      ASSERT_TRUE(spread(packing, offsets, all));
      const std::vector<Finding> findings = validate(problem, all, ceiling);
      ASSERT_TRUE(findings.empty()) << seed << ": " << findings[0].message;
    }
  }
  EXPECT_GT(fitted, 3000);
  EXPECT_GT(gave_up, 3000);
}

TEST(Ring, ServesPipelines) {
  const Problem problem = pipeline(5000, 200);
  const Packing packing = *pack(problem);
  Array<std::int64_t> offsets;
  const std::int64_t peak = *greedy(packing, {packing.lower_bound, 100}, offsets);
  EXPECT_LE(peak, packing.lower_bound + packing.lower_bound / 100);
  Array<std::int64_t> all;
  ASSERT_TRUE(spread(packing, offsets, all));
  EXPECT_TRUE(validate(problem, all, peak).empty());
}

TEST(WorkBudget, EndsRulesAndRepairs) {
  const Packing packing = *pack(patternless(3000));
  SolveOptions no_time;
  no_time.seconds = 0;
  WorkBudget spent(no_time);
  Array<std::int64_t> first_rule;
  Array<std::int64_t> stopped;
  const std::int64_t first = *greedy(packing, {packing.lower_bound, 0}, first_rule);
  EXPECT_EQ(*greedy(packing, {packing.lower_bound, 100, &spent}, stopped), first);
  EXPECT_LT(*greedy(packing, {packing.lower_bound, 100}, stopped), first);
  ASSERT_TRUE(stopped.copy(first_rule));
  EXPECT_EQ(*repair(packing, {packing.lower_bound, 5000, 100, &spent}, stopped), first);
  EXPECT_LT(*repair(packing, {packing.lower_bound, 5000, 100}, stopped), first);
}

/// The limit on nodes is for the exact search: when they are used up, a plan is still repaired
/// once.
TEST(WorkBudget, FewNodesLeaveRepairsAlone) {
  bench::HardOptions hard;
  hard.buffers = 296;
  const Problem problem = bench::hard_instance(hard).problem;
  SolveOptions options;
  options.minimize = true;
  options.seconds = 1000;
  options.techniques.exact = options.techniques.repair = false;
  const std::int64_t greedy_peak = solve(problem, options)->peak;
  options.techniques.repair = true;
  const Solution repaired = *solve(problem, options);
  ASSERT_LT(repaired.peak, greedy_peak);
  options.techniques.exact = true;
  for (const std::int64_t nodes : {0, 1, 100, 4000}) {
    options.nodes = nodes;
    const Solution solution = *solve(problem, options);
    EXPECT_LE(solution.peak, repaired.peak) << nodes;
    EXPECT_LE(solution.nodes, nodes);
  }
}

TEST(WorkBudget, TellsOfRulesAndRepairs) {
  struct Watch {
    int calls = 0;
    Progress last;
  } watch;
  const Problem problem = patternless(20'000);  // too many for the exact search
  SolveOptions options;
  options.minimize = true;
  options.seconds = 1000;
  options.progress_context = &watch;
  options.progress = [](void* context, const Progress& progress) {
    auto& seen = *static_cast<Watch*>(context);
    seen.last = progress;
    ++seen.calls;
    return false;
  };
  const Result<Solution> stopped = solve(problem, options);
  ASSERT_TRUE(stopped.ok());
  EXPECT_EQ(watch.calls, 1);
  EXPECT_EQ(watch.last.lower_bound, stopped->lower_bound);
  EXPECT_GT(watch.last.peak, watch.last.lower_bound);
  EXPECT_EQ(stopped->peak, watch.last.peak);  // immediately, with the best plan so far
}

/// Problems that are too large for the exact search are repaired for as long as there is time.
TEST(Solve, GoesOnWhileACapacityIsNotReached) {
  const Problem problem = patternless(20'000);
  SolveOptions options;
  options.minimize = true;
  const Result<Solution> quick = solve(problem, options);
  ASSERT_TRUE(quick.ok());
  ASSERT_FALSE(quick->optimal);
  options.minimize = false;
  options.capacity = quick->peak - (quick->peak - quick->lower_bound) / 10;
  options.seconds = 60;
  const Result<Solution> found = solve(problem, options);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->outcome, Outcome::kFits) << found->peak << " of " << *options.capacity;
  EXPECT_TRUE(validate(problem, found->offsets, options.capacity).empty());
  // No nodes are left: nothing more is tried.
  options.nodes = 0;
  EXPECT_EQ(solve(problem, options)->outcome, Outcome::kUnknown);
}

}  // namespace
}  // namespace tessera::memory
