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

constexpr std::int64_t kTall = std::int64_t{1} << 40;

/// Blocks of kTall + 1 bytes, with a range of moments for each pair. In its moments, the second of
/// a pair has kTall - 1 bytes, and the first has its lowest byte and then its highest: so the
/// second is exactly one byte above the first, or at least kTall - 1 bytes away.
Problem pockets(const std::vector<std::pair<std::size_t, std::size_t>>& pairs,
                const std::vector<std::int64_t>& alignments) {
  Problem problem;
  const auto end = static_cast<std::int64_t>(2 * pairs.size());
  for (std::size_t b = 0; b < alignments.size(); ++b) {
    Buffer buffer{.lower = 0, .upper = end, .size = kTall + 1, .alignment = alignments[b]};
    for (std::size_t p = 0; p < pairs.size(); ++p) {
      const auto at = static_cast<std::int64_t>(2 * p);
      if (pairs[p].first == b) {
        buffer.gaps.push_back({at, at + 1, 0, 1});
        buffer.gaps.push_back({at + 1, at + 2, kTall, kTall + 1});
      } else if (pairs[p].second == b) {
        buffer.gaps.push_back({at, at + 2, 0, kTall - 1});
      } else {
        buffer.gaps.push_back({at, at + 2});
      }
    }
    problem.buffers.push_back(buffer);
  }
  return problem;
}

struct Searched {
  SearchEnd end = SearchEnd::kStopped;
  std::vector<std::int64_t> offsets;
  std::int64_t nodes = 0;
};
Searched search_pairs(const Problem& problem, std::int64_t capacity) {
  const Packing packing = *pack(problem);
  SolveOptions options;
  options.nodes = 20'000;
  options.seconds = 1000;
  WorkBudget budget(options);
  PairSearch search(packing, options.techniques, budget);
  EXPECT_TRUE(PairSearch::can_search(packing) && search.build());
  budget.start_run(INT64_MAX);
  Array<std::int64_t> offsets;
  Searched found;
  found.end = search.run(capacity, 0, offsets);
  found.offsets.assign(offsets.begin(), offsets.end());
  found.nodes = budget.nodes();
  return found;
}

/// One byte above a, c would be two above it through b: each raises the next by a byte, in a
/// circle. There is room for 2^39 rounds.
TEST(PairSearch, FindsCirclesThatNeverEnd) {
  for (const std::vector<std::int64_t>& alignments :
       {std::vector<std::int64_t>{1, 1, 1}, {1, 2, 1}, {3, 1, 4}}) {
    const Problem problem = pockets({{0, 1}, {1, 2}, {0, 2}}, alignments);
    const Searched found = search_pairs(problem, kTall + 1 + kTall / 2);
    EXPECT_EQ(found.end, SearchEnd::kNone);
    EXPECT_LT(found.nodes, 100);
  }
  // Without the last pair there is a plan, one byte above the other.
  const Problem chain = pockets({{0, 1}, {1, 2}}, {1, 1, 1});
  const Searched found = search_pairs(chain, kTall + 1 + kTall / 2);
  EXPECT_EQ(found.end, SearchEnd::kFound);
  EXPECT_EQ(found.offsets, (std::vector<std::int64_t>{0, 1, 2}));
}

/// b is a multiple of 5, one byte above a, a multiple of 7: 15 above 14, not 5 above 4 or 8
/// above 7. So both are raised in a circle, which ends.
TEST(PairSearch, FollowsCirclesThatEnd) {
  const Searched found = search_pairs(pockets({{0, 1}}, {7, 5}), kTall + 1 + kTall / 2);
  EXPECT_EQ(found.end, SearchEnd::kFound);
  EXPECT_EQ(found.offsets, (std::vector<std::int64_t>{14, 15}));
  EXPECT_EQ(search_pairs(pockets({{0, 1}}, {7, 5}), kTall + 1 + 14).end, SearchEnd::kNone);
  // Never: 4 and 6 are both even. Of two large primes: the least a with a = 0 mod 1009 and a + 1 =
  // 0 mod 1013 has 1009 * k = -1 mod 1013, so -4k = -1, k = 760, since 4 * 760 = 3 * 1013 + 1.
  EXPECT_EQ(search_pairs(pockets({{0, 1}}, {4, 6}), kTall + 1 + kTall / 2).end, SearchEnd::kNone);
  const Searched primes = search_pairs(pockets({{0, 1}}, {1009, 1013}), kTall + 1 + kTall / 2);
  EXPECT_EQ(primes.end, SearchEnd::kFound);
  EXPECT_EQ(primes.offsets, (std::vector<std::int64_t>{766840, 766841}));
}

}  // namespace
}  // namespace tessera::memory
