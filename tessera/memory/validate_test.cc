// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/validate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tessera/testing/figures.h"
#include "tessera/testing/memory/naive_alloc.h"
#include "tessera/testing/process.h"

namespace tessera::memory {
namespace {

using test::Dice;

using Offsets = std::vector<std::int64_t>;

/// Checks that a plan has exactly this flaw, reported with these figures.
void expect_only(const std::vector<Finding>& findings, Flaw flaw, std::size_t buffer,
                 std::optional<std::size_t> other, std::string_view figures) {
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(flaw_name(findings[0].flaw), flaw_name(flaw));
  EXPECT_EQ(findings[0].buffer, buffer);
  EXPECT_EQ(findings[0].other, other);
  EXPECT_EQ(test::figures(findings[0].message), figures);
}

/// Two that are live together, one that comes after, a view of the first and one without bytes.
Problem five() {
  return Problem{{
      {.lower = 0, .upper = 4, .size = 16, .alignment = 8},
      {.lower = 2, .upper = 6, .size = 8, .fixed = 16},
      {.lower = 6, .upper = 9, .size = 24, .alignment = 3},
      {.lower = 1, .upper = 4, .size = 4, .alias = Alias{0, 8}},
      {.lower = 0, .upper = 9, .size = 0, .alignment = 4},
  }};
}

TEST(Validate, FindsNothingInACorrectPlan) {
  EXPECT_TRUE(validate(five(), Offsets{0, 16, 0, 8, 0}, 24).empty());
  EXPECT_TRUE(validate(five(), Offsets{24, 16, 3, 32, 4}).empty());
  EXPECT_TRUE(validate(Problem{}, {}).empty());
  EXPECT_TRUE(validate(Problem{}, {}, 0).empty());
}

TEST(Validate, FindsEachFlawAlone) {
  expect_only(validate(five(), Offsets{0, 16, 0, 8}), Flaw::kWrongCount, 4, {}, "4 5");
  expect_only(validate(five(), Offsets{0, 16, 0, 8, 0, 0}), Flaw::kWrongCount, 5, {}, "6 5");
  expect_only(validate(five(), Offsets{0, 16, -24, 8, 0}), Flaw::kNegative, 2, {}, "2 -24 0");
  expect_only(validate(five(), Offsets{0, 16, 3, 8, 0}, 26), Flaw::kBeyondCapacity, 2, {},
              "2 3 24 27 26");
  expect_only(validate(five(), Offsets{0, 16, 4, 8, 0}), Flaw::kMisaligned, 2, {}, "2 4 3");
  expect_only(validate(five(), Offsets{0, 20, 0, 8, 0}), Flaw::kMoved, 1, {}, "1 20 16");
  expect_only(validate(five(), Offsets{0, 16, 0, 24, 0}), Flaw::kTornAlias, 3, 0, "3 24 8 0 0 8");
  expect_only(validate(five(), Offsets{8, 16, 0, 16, 0}), Flaw::kOverlap, 0, 1,
              "0 [8 24 [0 4 1 [16 24 [2 6 [16 24 2");
}

TEST(Validate, NamesFlawsAsScriptsDo) {
  EXPECT_EQ(flaw_name(Flaw::kWrongCount), "wrong_count");
  EXPECT_EQ(flaw_name(Flaw::kNegative), "negative");
  EXPECT_EQ(flaw_name(Flaw::kBeyondCapacity), "beyond_capacity");
  EXPECT_EQ(flaw_name(Flaw::kMisaligned), "misaligned");
  EXPECT_EQ(flaw_name(Flaw::kMoved), "moved");
  EXPECT_EQ(flaw_name(Flaw::kTornAlias), "torn_alias");
  EXPECT_EQ(flaw_name(Flaw::kOverlap), "overlap");
}

TEST(Validate, SaysEverythingByBuffer) {
  const std::vector<Finding> findings = validate(five(), Offsets{4, 20, 1, 8, 2}, 24);
  std::vector<std::pair<std::size_t, Flaw>> found;
  for (const Finding& finding : findings) found.emplace_back(finding.buffer, finding.flaw);
  const std::vector<std::pair<std::size_t, Flaw>> expected = {
      {0, Flaw::kMisaligned},     {1, Flaw::kBeyondCapacity}, {1, Flaw::kMoved},
      {2, Flaw::kBeyondCapacity}, {2, Flaw::kMisaligned},     {3, Flaw::kTornAlias},
      {4, Flaw::kMisaligned},
  };
  EXPECT_EQ(found, expected);
  EXPECT_EQ(validate(five(), Offsets{4, 20, 1, 8, 2}, 24, 3).size(), 3U);
}

TEST(Validate, TakesLivesThatTouchForApart) {
  const Problem problem{{{.lower = 0, .upper = 3, .size = 4}, {.lower = 3, .upper = 5, .size = 4}}};
  EXPECT_TRUE(validate(problem, Offsets{0, 0}).empty());
  const Problem longer{{{.lower = 0, .upper = 4, .size = 4}, {.lower = 3, .upper = 5, .size = 4}}};
  expect_only(validate(longer, Offsets{0, 3}), Flaw::kOverlap, 0, 1,
              "0 [0 4 [0 4 1 [3 7 [3 5 [3 4 3");
  EXPECT_TRUE(validate(longer, Offsets{0, 4}).empty());
}

TEST(Validate, TakesWhatSharesMemoryForOneRange) {
  // The part lives longer than its whole, which keeps all of the whole; and the two parts of the
  // first keep what is between them.
  const Problem problem{{
      {.lower = 0, .upper = 2, .size = 16},
      {.lower = 5, .upper = 7, .size = 4, .alias = Alias{0, 0}},
      {.lower = 3, .upper = 4, .size = 4},
  }};
  EXPECT_EQ(validate(problem, Offsets{0, 0, 8}).size(), 1U);
  EXPECT_TRUE(validate(problem, Offsets{0, 0, 16}).empty());
  const Problem apart{{
      {.lower = 0, .upper = 2, .size = 4},
      {.lower = 0, .upper = 2, .size = 4, .alias = Alias{0, 12}},
      {.lower = 0, .upper = 2, .size = 4},
  }};
  EXPECT_EQ(validate(apart, Offsets{0, 12, 6}).size(), 1U);
  EXPECT_TRUE(validate(apart, Offsets{0, 12, 16}).empty());
  // The range begins where the whole does, which has no bytes itself.
  const Problem hollow{{
      {.lower = 0, .upper = 2, .size = 0},
      {.lower = 0, .upper = 2, .size = 4, .alias = Alias{0, 4}},
      {.lower = 0, .upper = 2, .size = 4},
  }};
  EXPECT_EQ(validate(hollow, Offsets{0, 4, 0}).size(), 1U);
  EXPECT_TRUE(validate(hollow, Offsets{0, 4, 8}).empty());
  EXPECT_TRUE(validate(hollow, Offsets{4, 8, 0}).empty());
  // The lifetime of a part without bytes counts for all of them.
  const Problem empty{{
      {.lower = 0, .upper = 2, .size = 4},
      {.lower = 2, .upper = 9, .size = 0, .alias = Alias{0, 4}},
      {.lower = 8, .upper = 9, .size = 4},
  }};
  EXPECT_EQ(validate(empty, Offsets{0, 4, 0}).size(), 1U);
  EXPECT_TRUE(validate(empty, Offsets{0, 4, 4}).empty());
}

TEST(Validate, ComparesTornPartsWithStrangersOnly) {
  const Problem problem{{
      {.lower = 0, .upper = 9, .size = 8},
      {.lower = 0, .upper = 9, .size = 8, .alias = Alias{0, 0}},
      {.lower = 0, .upper = 9, .size = 8, .alias = Alias{1, 0}},
      {.lower = 0, .upper = 9, .size = 8},
  }};
  EXPECT_EQ(validate(problem, Offsets{0, 4, 4, 16}).size(), 1U);
  const std::vector<Finding> findings = validate(problem, Offsets{0, 12, 12, 16});
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].flaw, Flaw::kTornAlias);
  EXPECT_EQ(findings[1].flaw, Flaw::kOverlap);
  EXPECT_EQ(findings[1].buffer, 1U);
  EXPECT_EQ(findings[1].other, 3U);
}

TEST(Validate, FindsEndsBeyondTheLargestNumber) {
  const Problem one{{{.lower = 0, .upper = 1, .size = 8}}};
  expect_only(validate(one, Offsets{INT64_MAX - 3}), Flaw::kBeyondCapacity, 0, {},
              "0 9223372036854775804 8 9223372036854775812 2^63 1");
  EXPECT_TRUE(validate(one, Offsets{INT64_MAX - 8}).empty());
  // Two at the far end overlap there, although the end of neither is representable.
  const Problem two{
      {{.lower = 0, .upper = 1, .size = INT64_MAX}, {.lower = 0, .upper = 1, .size = 1}}};
  const std::vector<Finding> findings = validate(two, Offsets{INT64_MAX, INT64_MAX});
  ASSERT_EQ(findings.size(), 3U);
  EXPECT_EQ(findings[0].flaw, Flaw::kBeyondCapacity);
  EXPECT_EQ(findings[1].flaw, Flaw::kOverlap);
  EXPECT_EQ(findings[2].flaw, Flaw::kBeyondCapacity);
  // From one end of the int64 range to the other.
  const std::vector<Finding> lowest = validate(two, Offsets{INT64_MIN, -1});
  ASSERT_EQ(lowest.size(), 2U);
  EXPECT_EQ(lowest[0].flaw, Flaw::kNegative);
  EXPECT_EQ(lowest[1].flaw, Flaw::kNegative);
  const std::vector<Finding> meet = validate(two, Offsets{INT64_MIN, -2});
  EXPECT_EQ(meet.size(), 3U);
  // A part whose position overflows is not at its position, although it wraps around to it.
  const Problem part{{{.lower = 0, .upper = 1, .size = 1},
                      {.lower = 0, .upper = 1, .size = 0, .alias = Alias{0, INT64_MAX}}}};
  const std::vector<Finding> torn = validate(part, Offsets{2, INT64_MIN + 1});
  ASSERT_EQ(torn.size(), 2U);
  EXPECT_EQ(torn[0].flaw, Flaw::kNegative);
  EXPECT_EQ(torn[1].flaw, Flaw::kTornAlias);
  EXPECT_EQ(test::figures(torn[1].message),
            "1 -9223372036854775807 9223372036854775807 0 2 9223372036854775809");
}

TEST(Validate, IsNotHurtByProblemsThatCannotBe) {
  const Problem circle{{
      {.lower = 0, .upper = 1, .size = 4, .alias = Alias{1, 0}},
      {.lower = 0, .upper = 1, .size = 4, .alias = Alias{0, 0}},
      {.lower = 0, .upper = 1, .size = 4, .alias = Alias{2, 0}},
      {.lower = 0, .upper = 1, .size = 4, .alias = Alias{7, 0}},
  }};
  expect_only(validate(circle, Offsets{0, 0, 4, 8}), Flaw::kTornAlias, 3, 7, "3 8 7 4");
  const Problem odd{{
      {.lower = 3, .upper = 1, .size = 4},
      {.lower = 0, .upper = 9, .size = -4},
      {.lower = 0, .upper = 9, .size = 4, .alignment = 0},
      {.lower = 0, .upper = 9, .size = 4, .alignment = -1},
  }};
  const std::vector<Finding> findings = validate(odd, Offsets{0, 0, 0, INT64_MIN});
  ASSERT_EQ(findings.size(), 3U);
  EXPECT_EQ(findings[0].flaw, Flaw::kMisaligned);
  EXPECT_EQ(findings[1].flaw, Flaw::kNegative);
  EXPECT_EQ(findings[2].flaw, Flaw::kMisaligned);
}

/// Overlaps byte by byte and moment by moment.
bool overlaps(const Problem& problem, const Offsets& offsets) {
  const std::size_t count = problem.buffers.size();
  for (std::int64_t moment = 0; moment < 12; ++moment) {
    std::vector<std::optional<std::size_t>> owner(200);
    for (std::size_t i = 0; i < count; ++i) {
      const Buffer& buffer = problem.buffers[i];
      if (moment < buffer.lower || moment >= buffer.upper) continue;
      std::int64_t from = 0;
      std::int64_t to = buffer.size;
      for (const Gap& gap : buffer.gaps) {
        if (moment < gap.lower || moment >= gap.upper) continue;
        from = gap.kept_from;
        to = gap.kept_to;
      }
      for (std::int64_t byte = from; byte < to; ++byte) {
        auto& cell = owner.at(static_cast<std::size_t>(offsets[i] + byte));
        if (cell) return true;
        cell = i;
      }
    }
  }
  return false;
}

TEST(Validate, AgreesWithBytesAndMoments) {
  int wrong = 0;
  for (std::uint64_t seed = 0; seed < 8000; ++seed) {
    Dice dice(seed);
    test::ProblemLimits limits{.max_buffers = 8, .aligned = 0, .alias = 0, .fixed = 0, .hint = 0};
    limits.gaps = seed % 2 == 0 ? 0 : 70;
    const Problem problem = test::random_problem(dice, limits);
    Offsets offsets;
    for (std::size_t i = 0; i < problem.buffers.size(); ++i) offsets.push_back(dice.below(60));
    const bool expected = overlaps(problem, offsets);
    wrong += expected ? 1 : 0;
    EXPECT_EQ(!validate(problem, offsets).empty(), expected) << seed << test::text_of(problem);
  }
  EXPECT_GT(wrong, 800);
  EXPECT_LT(wrong, 7200);
}

TEST(Validate, FindsOverlapsOnlyWhereBytesAreKept) {
  // Bytes 4 to 12, of which 6 and 7 are kept in the gap.
  Problem problem{{{.lower = 0, .upper = 9, .size = 8, .gaps = {{3, 6, 2, 4}}},
                   {.lower = 3, .upper = 6, .size = 4}}};
  EXPECT_TRUE(validate(problem, Offsets{4, 8}, 12).empty());
  EXPECT_TRUE(validate(problem, Offsets{4, 2}).empty());
  expect_only(validate(problem, Offsets{4, 7}), Flaw::kOverlap, 0, 1,
              "0 [6 8 [3 6 1 [7 11 [3 6 [7 8 3");
  // After the gap all bytes are back; before it they are still there. One finding for both.
  problem.buffers[1].upper = 7;
  expect_only(validate(problem, Offsets{4, 8}), Flaw::kOverlap, 0, 1,
              "0 [4 12 [6 9 1 [8 12 [3 7 [8 12 6");
  problem.buffers[1].lower = 2;
  EXPECT_EQ(validate(problem, Offsets{4, 8}).size(), 1U);
  // The whole range must lie in the memory, however little of it is kept.
  problem.buffers[1].size = 0;
  problem.buffers[0].gaps = {{0, 9, 0, 1}};
  expect_only(validate(problem, Offsets{4, 0}, 11), Flaw::kBeyondCapacity, 0, {}, "0 4 8 12 11");
  // Two that are gone at the same time share everything.
  const Problem gone{{{.lower = 0, .upper = 9, .size = 8, .gaps = {{1, 9}}},
                      {.lower = 1, .upper = 9, .size = 8, .gaps = {{1, 2}, {4, 9}}},
                      {.lower = 2, .upper = 4, .size = 1}}};
  EXPECT_TRUE(validate(gone, Offsets{0, 0, 8}).empty());
  EXPECT_EQ(validate(gone, Offsets{0, 0, 7}).size(), 1U);
}

TEST(Validate, IsNotHurtByGapsThatCannotBe) {
  const std::vector<std::vector<Gap>> hostile = {
      {{INT64_MIN, INT64_MAX, INT64_MIN, INT64_MAX}},
      {{INT64_MAX, INT64_MIN, 5, 2}},
      {{5, 7, 0, 2}, {2, 6, INT64_MAX - 1, INT64_MAX}, {0, 9, 3, 4}},
      {{-5, 20, -9, 3}, {0, 0}},
  };
  for (const std::vector<Gap>& gaps : hostile) {
    for (const std::int64_t offset : {INT64_MAX, INT64_MIN, INT64_MAX - 4}) {
      const Problem problem{{{.lower = 0, .upper = 9, .size = 8, .gaps = gaps},
                             {.lower = 0, .upper = 9, .size = INT64_MAX, .gaps = gaps},
                             {.lower = 9, .upper = 0, .size = 8, .gaps = gaps},
                             {.lower = 0, .upper = 9, .size = 8, .alias = Alias{0, 0}}}};
      EXPECT_FALSE(validate(problem, Offsets{offset, 0, 3, offset}).empty());
    }
  }
}

/// A gap of shared memory does not count.
TEST(Validate, SharedMemoryHasNoGaps) {
  const Problem problem{{{.lower = 0, .upper = 9, .size = 8, .gaps = {{3, 6}}},
                         {.lower = 0, .upper = 9, .size = 4, .alias = Alias{0, 0}},
                         {.lower = 3, .upper = 6, .size = 8}}};
  EXPECT_EQ(validate(problem, Offsets{0, 0, 0}).size(), 1U);
  EXPECT_EQ(validate(problem, Offsets{0, 1, 0}).size(), 3U);
}

TEST(Validate, CountsEveryPairThatMeets) {
  Problem problem;
  for (std::int64_t i = 0; i < 12; ++i) {
    problem.buffers.push_back({.lower = -i, .upper = i + 1, .size = 5});
  }
  EXPECT_EQ(validate(problem, Offsets(12, 3), {}, 1000).size(), 12U * 11 / 2);
  EXPECT_EQ(validate(problem, Offsets(12, 3)).size(), 64U);
}

TEST(Validate, ChecksAHundredThousandBuffers) {
  // 500 live at each moment, in shelves of 16 bytes: those of one shelf follow each other.
  constexpr std::int64_t kShelves = 500;
  Problem problem;
  Offsets offsets;
  for (std::int64_t i = 0; i < 100'000; ++i) {
    const std::int64_t shelf = i % kShelves;
    const std::int64_t turn = i / kShelves;
    problem.buffers.push_back(
        {.lower = turn * 10 + shelf % 10, .upper = turn * 10 + shelf % 10 + 10, .size = 16});
    offsets.push_back(shelf * 16);
  }
  EXPECT_TRUE(validate(problem, offsets, kShelves * 16).empty());
  problem.buffers[77'777].upper += 1;
  const std::vector<Finding> findings = validate(problem, offsets);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].buffer, 77'777U);
  EXPECT_EQ(findings[0].other, 78'277U);
}

TEST(Validate, ChecksManyThatLiveTogether) {
  // 2^35 pairs, which would take a minute one by one.
  constexpr std::int64_t kCount = std::int64_t{1} << 18;
  Problem problem;
  Offsets offsets;
  for (std::int64_t i = 0; i < kCount; ++i) {
    problem.buffers.push_back({.lower = -i, .upper = 1 + i * 7 % kCount, .size = 2});
    offsets.push_back(2 * (i * 5 % kCount));
  }
  const double start = test::cpu_seconds();
  EXPECT_TRUE(validate(problem, offsets, 2 * kCount).empty());
  EXPECT_LT(test::cpu_seconds() - start, 10);
}

}  // namespace
}  // namespace tessera::memory
