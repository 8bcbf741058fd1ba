// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/solver/block_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tessera/memory/solver/first_fit.h"
#include "tessera/memory/solver/obstacles.h"
#include "tessera/memory/solver/pair_search.h"
#include "tessera/memory/validate.h"
#include "tessera/testing/memory/naive_alloc.h"

namespace tessera::memory {
namespace {

using test::Dice;

/// Buffers with bytes, each of which is one block, mostly with gaps.
Problem gapped(Dice& dice, std::int64_t buffers) {
  test::ProblemLimits limits;
  limits.max_buffers = buffers;
  limits.max_moment = 6;
  limits.max_size = 20;
  limits.twin = 0;
  limits.aligned = 0;
  limits.empty = 0;
  limits.alias = 0;
  limits.fixed = 0;
  limits.gaps = 80;
  limits.slivers = 60;
  Problem problem = test::random_problem(dice, limits);
  while (static_cast<std::int64_t>(problem.buffers.size()) < buffers) {
    problem = test::random_problem(dice, limits);
  }
  return problem;
}

bool is_plan(const Problem& problem, const std::vector<std::int64_t>& offsets) {
  return validate(problem, offsets).empty();
}

/// The law of BlockPairs, difference by difference.
TEST(BlockPairs, SidesAreExactlyTheAllowedDifferences) {
  std::int64_t interlocked = 0;
  for (std::uint64_t seed = 0; seed < 4'000; ++seed) {
    Dice dice(seed);
    const Problem problem = gapped(dice, 2);
    const Packing packing = *pack(problem);
    BlockPairs table;
    ASSERT_TRUE(table.build(packing));
    ASSERT_LE(table.pairs.size(), 1U);
    for (std::int64_t difference = -25; difference <= 25; ++difference) {
      bool is_allowed = table.pairs.empty();
      for (const BlockPair& pair : table.pairs) {
        for (const Side& side : table.sides_of(pair)) {
          is_allowed = is_allowed || (side.least <= difference && difference <= side.most);
        }
      }
      EXPECT_EQ(is_allowed, is_plan(problem, {25, 25 + difference}))
          << seed << test::text_of(problem) << " at " << difference;
    }
    for (const BlockPair& pair : table.pairs) {
      EXPECT_GE(pair.sides, 2);
      interlocked += pair.sides > 2 ? 1 : 0;
      const std::span<const Side> sides = table.sides_of(pair);
      for (std::size_t i = 0; i < sides.size(); ++i) {
        EXPECT_LE(sides[i].least, sides[i].most);
        if (i > 0) {
          EXPECT_LT(sides[i - 1].most + 1, sides[i].least);
        }
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(interlocked, 40);
}

TEST(BlockPairs, KnowsWhatIsAlike) {
  const Buffer one{.lower = 0, .upper = 9, .size = 8, .gaps = {{3, 6, 0, 2}}};
  Buffer longer = one;
  longer.gaps[0].upper = 7;
  Buffer fixed = one;
  fixed.fixed = 64;
  const Packing packing = *pack({{one, one, longer, fixed}});
  BlockPairs table;
  ASSERT_TRUE(table.build(packing));
  ASSERT_EQ(table.pairs.size(), 6U);
  for (const BlockPair& pair : table.pairs) {
    EXPECT_EQ(pair.is_alike, pair.a == 0 && pair.b == 1) << pair.a << " " << pair.b;
  }
}

/// The law of Obstacles: what is in the way at an offset overlaps there, and nothing else does.
TEST(Obstacles, AreExactlyWhatOverlaps) {
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    Dice dice(seed + 5'000);
    const Problem problem = gapped(dice, 3);
    const Packing packing = *pack(problem);
    FirstFit first_fit;
    ASSERT_TRUE(first_fit.build(packing));
    Array<std::int32_t> found;
    const std::int64_t other = dice.below(20);
    Problem pair = problem;
    pair.buffers.pop_back();
    for (std::int64_t offset = 0; offset <= 40; ++offset) {
      const std::vector<std::int64_t> offsets = {offset, other, kNowhere};
      ASSERT_TRUE(first_fit.in_the_way(0, offsets, found));
      EXPECT_EQ(found.empty(), is_plan(pair, {offset, other}))
          << seed << test::text_of(problem) << " at " << offset << ", " << other;
      EXPECT_LE(found.size(), 1U);
    }
    std::int64_t lowest = 0;
    ASSERT_TRUE(first_fit.lowest(0, std::vector<std::int64_t>{kNowhere, other, kNowhere}, lowest));
    std::int64_t naive = 0;
    while (!is_plan(pair, {naive, other})) ++naive;
    EXPECT_EQ(lowest, naive) << seed << test::text_of(problem);
    if (HasFailure()) return;
  }
}

/// Three blocks that each must be above the next push each other up for ever. The capacity is so
/// large that going round the circle until it is reached would take years.
TEST(PairSearch, FindsCirclesWithoutGoingRound) {
  for (const std::int64_t alignment : {1, 3, 64}) {
    Problem problem;
    for (std::int64_t i = 0; i < 6; ++i) {
      problem.buffers.push_back(
          {.lower = 0, .upper = 9, .size = 1000 + i, .alignment = 1 + i % 2 * (alignment - 1)});
    }
    problem.buffers[0].gaps = {{8, 9, 0, 5}};
    // A fixed buffer far up: the others have a lot of room, and all pairs must be decided.
    problem.buffers.push_back({.lower = 0, .upper = 9, .size = 1, .fixed = std::int64_t{1} << 59});
    const Packing packing = *pack(problem);
    SolveOptions options;
    options.nodes = 20'000;
    WorkBudget budget(options);
    PairSearch search(packing, options.techniques, budget);
    ASSERT_TRUE(search.build());
    budget.start_run(INT64_MAX);
    Array<std::int64_t> offsets;
    EXPECT_EQ(search.run(packing.lower_bound, 0, offsets), SearchEnd::kFound);
    EXPECT_TRUE(is_plan(problem, {offsets.begin(), offsets.end()}));
    EXPECT_LT(budget.nodes(), 1'000);
  }
}

}  // namespace
}  // namespace tessera::memory
