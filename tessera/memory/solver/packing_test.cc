// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/solver/packing.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tessera/memory/validate.h"
#include "tessera/testing/memory/naive_alloc.h"

namespace tessera::memory {
namespace {

using test::Dice;

TEST(Packing, OfNothingIsEmpty) {
  const Result<Packing> packing = pack({});
  ASSERT_TRUE(packing.ok());
  EXPECT_TRUE(packing->blocks.empty());
  EXPECT_EQ(packing->sections, 0);
  EXPECT_EQ(packing->lower_bound, 0);
  Array<std::int64_t> offsets;
  EXPECT_TRUE(spread(*packing, {}, offsets));
  EXPECT_TRUE(offsets.empty());
  EXPECT_EQ(peak_of(*packing, {}), 0);
}

TEST(Packing, MakesSectionsOfBirthsAndDeaths) {
  // |aaaa    |   a and b live together, then b and c; d follows c at once.
  // |  bbbb  |
  // |    cc  |
  // |      dd|
  const Result<Packing> packing = pack({{{.lower = 0, .upper = 4, .size = 8},
                                         {.lower = 2, .upper = 6, .size = 4},
                                         {.lower = 4, .upper = 6, .size = 12},
                                         {.lower = 6, .upper = 8, .size = 16}}});
  ASSERT_TRUE(packing.ok());
  EXPECT_EQ(packing->sections, 3);
  std::vector<std::pair<std::int32_t, std::int32_t>> lives;
  for (const Block& block : packing->blocks) lives.emplace_back(block.from, block.to);
  const std::vector<std::pair<std::int32_t, std::int32_t>> expected = {
      {0, 1}, {0, 2}, {1, 2}, {2, 3}};
  EXPECT_EQ(lives, expected);
  EXPECT_EQ(std::vector(packing->live.begin(), packing->live.end()),
            (std::vector<std::int64_t>{12, 16, 16}));
  EXPECT_EQ(std::vector(packing->moment.begin(), packing->moment.end()),
            (std::vector<std::int64_t>{2, 4, 6}));
  EXPECT_EQ(packing->lower_bound, 16);
  EXPECT_EQ(packing->grain, 4);
}

TEST(Packing, MakesOneBlockOfWhatSharesMemory) {
  const Result<Packing> packing =
      pack({{{.lower = 5, .upper = 9, .size = 4, .alignment = 6, .alias = Alias{2, 6}},
             {.lower = 0, .upper = 9, .size = 0},
             {.lower = 1, .upper = 3, .size = 8, .alignment = 4},
             {.lower = 0, .upper = 1, .size = 0, .fixed = 7}}});
  ASSERT_TRUE(packing.ok());
  ASSERT_EQ(packing->blocks.size(), 1U);
  EXPECT_EQ(packing->blocks[0].size, 10);
  EXPECT_EQ(packing->blocks[0].alignment, 12);
  EXPECT_EQ(packing->sections, 1);
  Array<std::int64_t> blocks;
  ASSERT_TRUE(blocks.push(24));
  Array<std::int64_t> offsets;
  ASSERT_TRUE(spread(*packing, blocks, offsets));
  EXPECT_EQ(std::vector(offsets.begin(), offsets.end()), (std::vector<std::int64_t>{30, 0, 24, 7}));
  EXPECT_EQ(peak_of(*packing, blocks), 34);
}

TEST(Packing, AlignsUp) {
  EXPECT_EQ(align_up(0, 7), 0);
  EXPECT_EQ(align_up(1, 7), 7);
  EXPECT_EQ(align_up(7, 7), 7);
  EXPECT_EQ(align_up(8, 7), 14);
  EXPECT_EQ(align_up(5, 1), 5);
}

/// True when offsets of blocks are a plan: pair by pair, section by section.
bool is_plan(const Packing& packing, const Array<std::int64_t>& offsets) {
  for (std::size_t a = 0; a < packing.blocks.size(); ++a) {
    const Block& block = packing.blocks[a];
    if (offsets[a] % block.alignment != 0) return false;
    if (block.fixed >= 0 && block.fixed != offsets[a]) return false;
    for (std::size_t b = 0; b < a; ++b) {
      const Block& other = packing.blocks[b];
      if (block.from < other.to && other.from < block.to && offsets[a] < offsets[b] + other.size &&
          offsets[b] < offsets[a] + block.size) {
        return false;
      }
    }
  }
  return true;
}

TEST(Packing, HasThePlansOfTheProblem) {
  int plans = 0;
  constexpr int kProblems = 20'000;
  for (std::uint64_t seed = 0; seed < kProblems; ++seed) {
    Dice dice(seed);
    test::ProblemLimits limits;
    limits.max_buffers = dice.between(1, 7);
    limits.alias = 25;
    limits.fixed = 4;
    const Problem problem = test::random_problem(dice, limits);
    SCOPED_TRACE(testing::Message() << "seed " << seed << " " << test::text_of(problem));
    const Result<Packing> packing = pack(problem);
    ASSERT_TRUE(packing.ok()) << packing.error().message;
    Array<std::int64_t> blocks;
    for (const Block& block : packing->blocks) {
      ASSERT_LT(block.from, block.to);
      ASSERT_GE(block.from, 0);
      ASSERT_LE(block.to, packing->sections);
      ASSERT_GT(block.size, 0);
      std::int64_t offset = align_up(dice.below(60), block.alignment);
      if (block.fixed >= 0 && dice.chance(95)) offset = block.fixed;
      if (dice.chance(5)) offset += 1;
      ASSERT_TRUE(blocks.push(offset));
    }
    Array<std::int64_t> offsets;
    ASSERT_TRUE(spread(*packing, blocks, offsets));
    const bool expected = is_plan(*packing, blocks);
    const std::vector<Finding> findings = validate(problem, offsets);
    ASSERT_EQ(findings.empty(), expected) << (expected ? findings[0].message : "");
    plans += expected ? 1 : 0;
    if (!expected) continue;
    EXPECT_TRUE(validate(problem, offsets, peak_of(*packing, blocks)).empty());
    if (peak_of(*packing, blocks) > 0) {
      EXPECT_FALSE(validate(problem, offsets, peak_of(*packing, blocks) - 1).empty());
    }
  }
  EXPECT_GT(plans, kProblems / 20);
  EXPECT_LT(plans, kProblems - kProblems / 20);
}

TEST(Packing, SectionsAreTheLargestSetsThatLiveTogether) {
  for (std::uint64_t seed = 0; seed < 5'000; ++seed) {
    Dice dice(seed + 100'000);
    test::ProblemLimits limits;
    limits.aligned = 0;
    limits.alias = 0;
    limits.empty = 0;
    limits.max_buffers = 12;
    const Problem problem = test::random_problem(dice, limits);
    SCOPED_TRACE(testing::Message() << "seed " << seed << " " << test::text_of(problem));
    const Result<Packing> packing = pack(problem);
    ASSERT_TRUE(packing.ok());
    ASSERT_EQ(packing->blocks.size(), problem.buffers.size());
    for (std::int32_t s = 0; s < packing->sections; ++s) {
      const std::int64_t moment = packing->moment[static_cast<std::size_t>(s)];
      std::int64_t live = 0;
      bool birth = false;
      for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
        const Buffer& buffer = problem.buffers[i];
        const Block& block = packing->blocks[static_cast<std::size_t>(packing->block_of[i])];
        const bool alive = buffer.lower <= moment && moment < buffer.upper;
        ASSERT_EQ(alive, block.from <= s && s < block.to);
        if (alive) live += buffer.size;
        birth = birth || buffer.lower == moment;
      }
      EXPECT_EQ(packing->live[static_cast<std::size_t>(s)], live);
      EXPECT_TRUE(birth);
    }
    for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const Buffer& a = problem.buffers[i];
        const Buffer& b = problem.buffers[j];
        const Block& x = packing->blocks[static_cast<std::size_t>(packing->block_of[i])];
        const Block& y = packing->blocks[static_cast<std::size_t>(packing->block_of[j])];
        EXPECT_EQ(a.lower < b.upper && b.lower < a.upper, x.from < y.to && y.from < x.to);
      }
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace tessera::memory
