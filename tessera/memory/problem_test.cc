// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/problem.h"

#include <gtest/gtest.h>

#include "tessera/memory/solve.h"
#include "tessera/testing/figures.h"

namespace tessera::memory {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 61;

/// Checks that a problem is refused with this code and figures, about this buffer; also by solve().
void expect_refused(const Problem& problem, ErrorCode code, std::int64_t buffer,
                    std::string_view figures, const std::vector<std::string>& names = {}) {
  const Status status = check(problem, names);
  ASSERT_FALSE(status.ok()) << figures;
  EXPECT_EQ(code_name(status.error().code), code_name(code));
  EXPECT_EQ(test::figures(status.error().message), figures);
  EXPECT_EQ(status.error().span, (Span{buffer, buffer + 1}));
  EXPECT_FALSE(status.error().help.empty());
  const Result<Solution> solution = solve(problem, {});
  ASSERT_FALSE(solution.ok());
  EXPECT_EQ(solution.error().code, code);
  EXPECT_FALSE(max_live(problem).ok());
}

TEST(Problem, AcceptsWhatCanBe) {
  EXPECT_TRUE(check({}).ok());
  EXPECT_TRUE(check({{{.lower = 0, .upper = 1}}}).ok());
  EXPECT_TRUE(check({{{.lower = INT64_MIN, .upper = INT64_MAX, .size = 1}}}).ok());
  EXPECT_TRUE(check({{{.lower = 0, .upper = 1, .size = kMost}}}).ok());
  EXPECT_TRUE(check({{{.lower = 0, .upper = 1, .size = 5, .alignment = 12, .fixed = 24}}}).ok());
  // Fixed on the same bytes one after the other in time, and side by side.
  EXPECT_TRUE(check({{{.lower = 0, .upper = 2, .size = 4, .fixed = 8},
                      {.lower = 2, .upper = 3, .size = 4, .fixed = 8},
                      {.lower = 0, .upper = 3, .size = 4, .fixed = 4}}})
                  .ok());
  // Fixed on the same position, but without bytes.
  EXPECT_TRUE(check({{{.lower = 0, .upper = 2, .size = 0, .fixed = 8},
                      {.lower = 0, .upper = 2, .size = 4, .fixed = 6}}})
                  .ok());
  // A chain of aliases that is fixed twice, consistently.
  EXPECT_TRUE(check({{{.lower = 0, .upper = 2, .size = 1, .fixed = 11, .alias = Alias{1, 1}},
                      {.lower = 0, .upper = 2, .size = 4, .alias = Alias{2, 2}},
                      {.lower = 0, .upper = 2, .size = 8, .fixed = 8}}})
                  .ok());
}

TEST(Problem, RefusesLivesAndSizesThatCannotBe) {
  expect_refused({{{.lower = 0, .upper = 1}, {.lower = 4, .upper = 4}}}, ErrorCode::kBadBuffer, 1,
                 "1 [4 4");
  expect_refused({{{.lower = 7, .upper = -2}}}, ErrorCode::kBadBuffer, 0, "0 [7 -2");
  expect_refused({{{.lower = 0, .upper = 1, .size = -3}}}, ErrorCode::kBadBuffer, 0, "0 -3");
}

TEST(Problem, AcceptsGaps) {
  // Touching, from the first moment to the last, with and without bytes that are kept.
  EXPECT_TRUE(
      check({{{.lower = 0, .upper = 9, .size = 8, .gaps = {{0, 2}, {2, 4, 3, 3}, {4, 9, 0, 8}}}}})
          .ok());
  EXPECT_TRUE(check({{{.lower = 0, .upper = 9, .size = 0, .gaps = {{1, 2}}}}}).ok());
  EXPECT_TRUE(check({{{.lower = INT64_MIN,
                       .upper = INT64_MAX,
                       .size = kMost,
                       .gaps = {{INT64_MIN, INT64_MAX, kMost - 1, kMost}}}}})
                  .ok());
  // Fixed on the same bytes, one in the gap of the other; and both in the same gap, on other bytes.
  EXPECT_TRUE(check({{{.lower = 0, .upper = 9, .size = 8, .fixed = 4, .gaps = {{3, 6, 0, 2}}},
                      {.lower = 3, .upper = 6, .size = 6, .fixed = 6}}})
                  .ok());
}

TEST(Problem, RefusesGapsThatCannotBe) {
  const auto refuse = [](const std::vector<Gap>& gaps, std::string_view figures) {
    expect_refused({{{.lower = 0, .upper = 1}, {.lower = 2, .upper = 9, .size = 8, .gaps = gaps}}},
                   ErrorCode::kBadBuffer, 1, figures);
  };
  refuse({{4, 4}}, "1 [4 4");
  refuse({{6, 4}}, "1 [6 4");
  refuse({{INT64_MAX, INT64_MIN}}, "1 [9223372036854775807 -9223372036854775808");
  refuse({{1, 4}}, "1 [1 4 [2 9");
  refuse({{4, 10}}, "1 [4 10 [2 9");
  refuse({{4, 7}, {6, 8}}, "1 [6 8 7");
  refuse({{6, 8}, {3, 5}}, "1 [3 5 8");
  refuse({{4, 7}, {4, 7}}, "1 [4 7 7");
  refuse({{4, 7, -1, 4}}, "1 [-1 4 8");
  refuse({{4, 7, 5, 4}}, "1 [5 4 8");
  refuse({{4, 7, 0, 9}}, "1 [0 9 8");
  refuse({{4, 7, 0, INT64_MAX}}, "1 [0 9223372036854775807 8");
  // Also of buffers without bytes, which have no bytes to keep.
  expect_refused({{{.lower = 0, .upper = 9, .size = 0, .gaps = {{1, 2, 0, 1}}}}},
                 ErrorCode::kBadBuffer, 0, "0 [0 1 0");
}

TEST(Problem, RefusesGapsOfSharedMemory) {
  const Buffer gapped{.lower = 0, .upper = 9, .size = 8, .gaps = {{3, 6}}};
  Buffer part{.lower = 0, .upper = 9, .size = 4, .alias = Alias{0, 4}};
  expect_refused({{gapped, part}}, ErrorCode::kNotSupported, 0, "0");
  const Buffer whole{.lower = 0, .upper = 9, .size = 8};
  part.gaps = {{3, 6}};
  expect_refused({{whole, part}}, ErrorCode::kNotSupported, 1, "1");
}

TEST(Problem, RefusesFixedBuffersThatOverlapOutsideTheirGaps) {
  // In the gap, bytes 4 and 5 are kept; after it, all are back.
  const Buffer gapped{.lower = 0, .upper = 9, .size = 8, .fixed = 4, .gaps = {{3, 6, 0, 2}}};
  expect_refused({{gapped, {.lower = 3, .upper = 6, .size = 6, .fixed = 5}}}, ErrorCode::kBadBuffer,
                 1, "1 0 [5 6 3");
  expect_refused({{gapped, {.lower = 3, .upper = 7, .size = 6, .fixed = 6}}}, ErrorCode::kBadBuffer,
                 1, "1 0 [6 12 6");
}

TEST(Problem, RefusesAlignmentsThatCannotBe) {
  expect_refused({{{.lower = 0, .upper = 1, .size = 1, .alignment = 0}}}, ErrorCode::kBadAlignment,
                 0, "0 0");
  expect_refused({{{.lower = 0, .upper = 1, .size = 1, .alignment = INT64_MIN}}},
                 ErrorCode::kBadAlignment, 0, "0 -9223372036854775808");
}

TEST(Problem, RefusesOffsetsThatCannotBe) {
  expect_refused({{{.lower = 0, .upper = 1, .size = 1, .fixed = -8}}}, ErrorCode::kBadBuffer, 0,
                 "0 -8");
  expect_refused({{{.lower = 0, .upper = 1, .size = 1, .hint = -1}}}, ErrorCode::kBadBuffer, 0,
                 "0 -1");
  expect_refused({{{.lower = 0, .upper = 1, .size = 1, .alignment = 16, .fixed = 40}}},
                 ErrorCode::kBadBuffer, 0, "0 40 16");
}

TEST(Problem, RefusesFixedBuffersThatMeet) {
  const Problem problem{{
      {.lower = 0, .upper = 9, .size = 4},
      {.lower = 0, .upper = 4, .size = 8, .fixed = 0},
      {.lower = 3, .upper = 6, .size = 8, .fixed = 4},
  }};
  expect_refused(problem, ErrorCode::kBadBuffer, 2, "2 1 [4 8 3");
  expect_refused(problem, ErrorCode::kBadBuffer, 2, "[4 8 3", {"free", "in", "out"});
  // Equal ones, neither of which is above the other.
  expect_refused({{{.lower = 0, .upper = 2, .size = 3, .fixed = 5},
                   {.lower = 0, .upper = 2, .size = 3, .fixed = 5}}},
                 ErrorCode::kBadBuffer, 1, "1 0 [5 8 0");
}

TEST(Problem, RefusesAliasesThatCannotBe) {
  expect_refused({{{.lower = 0, .upper = 1, .size = 1, .alias = Alias{3, 0}},
                   {.lower = 0, .upper = 1, .size = 1}}},
                 ErrorCode::kBadBuffer, 0, "0 3 2");
  expect_refused({{{.lower = 0, .upper = 1, .size = 4},
                   {.lower = 0, .upper = 1, .size = 1, .alias = Alias{0, -1}}}},
                 ErrorCode::kBadBuffer, 1, "1 -1");
  expect_refused({{{.lower = 0, .upper = 1, .size = 1, .alias = Alias{0, 0}}}},
                 ErrorCode::kBadBuffer, 0, "0");
  expect_refused({{{.lower = 0, .upper = 1, .size = 1, .alias = Alias{1, 0}},
                   {.lower = 0, .upper = 1, .size = 1, .alias = Alias{2, 0}},
                   {.lower = 0, .upper = 1, .size = 1, .alias = Alias{1, 0}}}},
                 ErrorCode::kBadBuffer, 1, "1");
  expect_refused({{{.lower = 0, .upper = 1, .size = 8, .fixed = 16},
                   {.lower = 0, .upper = 1, .size = 4, .fixed = 16, .alias = Alias{0, 4}}}},
                 ErrorCode::kBadBuffer, 1, "1 16 0 20");
  expect_refused({{{.lower = 0, .upper = 1, .size = 8},
                   {.lower = 0, .upper = 1, .size = 4, .fixed = 2, .alias = Alias{0, 4}}}},
                 ErrorCode::kBadBuffer, 1, "1 2 4");
  expect_refused({{{.lower = 0, .upper = 1, .size = 8},
                   {.lower = 0, .upper = 1, .size = 4, .alignment = 8, .alias = Alias{0, 4}}}},
                 ErrorCode::kBadBuffer, 1, "1 4 8");
}

TEST(Problem, RefusesAFixedOffsetThatAnAliasCannotFollow) {
  // Each matches its own alignment; the whole has that of its part, 16, and 8 is not a multiple of
  // it.
  const Problem problem{{
      {.lower = 0, .upper = 1, .size = 32, .alignment = 8, .fixed = 8},
      {.lower = 0, .upper = 1, .size = 8, .alignment = 16, .alias = Alias{0, 16}},
  }};
  const Status status = check(problem);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(code_name(status.error().code), "bad_buffer");
}

TEST(Problem, RefusesSumsThatDoNotFit) {
  const auto figures = [](int buffer) { return std::to_string(buffer) + " 2^61"; };
  const Buffer half{.lower = 0, .upper = 1, .size = kMost / 2};
  EXPECT_TRUE(check({{half, half}}).ok());
  expect_refused({{half, half, {.lower = 0, .upper = 1, .size = 1}}}, ErrorCode::kOverflow, 2,
                 figures(2));
  expect_refused({{{.lower = 0, .upper = 1, .size = INT64_MAX}}}, ErrorCode::kOverflow, 0,
                 figures(0));
  expect_refused({{{.lower = 0, .upper = 1, .size = 1, .alignment = INT64_MAX}}},
                 ErrorCode::kOverflow, 0, figures(0));
  expect_refused({{{.lower = 0, .upper = 1, .size = 1, .fixed = INT64_MAX}}}, ErrorCode::kOverflow,
                 0, figures(0));
  // A hint is not a requirement.
  const Problem hinted{{{.lower = 0, .upper = 1, .size = 1, .hint = INT64_MAX}}};
  EXPECT_TRUE(check(hinted).ok());
  EXPECT_EQ(solve(hinted, {})->peak, 1);
  expect_refused({{{.lower = 0, .upper = 1, .size = 1},
                   {.lower = 0, .upper = 1, .size = 1, .alias = Alias{0, INT64_MAX}}}},
                 ErrorCode::kOverflow, 1, figures(1));
  expect_refused({{{.lower = 0, .upper = 1, .size = 1},
                   {.lower = 0, .upper = 1, .size = 1, .alias = Alias{0, kMost / 2}},
                   {.lower = 0, .upper = 1, .size = 1, .alias = Alias{1, kMost / 2 + 1}}}},
                 ErrorCode::kOverflow, 2, figures(2));
  // Two alignments without a common factor, whose product does not fit.
  expect_refused({{{.lower = 0, .upper = 1, .size = 1, .alignment = (std::int64_t{1} << 31) - 1},
                   {.lower = 0,
                    .upper = 1,
                    .size = 1,
                    .alignment = (std::int64_t{1} << 31) - 3,
                    .alias = Alias{0, 0}}}},
                 ErrorCode::kOverflow, 1, figures(1));
}

TEST(Problem, KeepsHostileNamesOffTheTerminal) {
  const Status status = check({{{.lower = 1, .upper = 0}}}, {"\x1b[31mred"});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(test::figures(status.error().message), "?[31mred [1 0");
}

TEST(Problem, KnowsTheMostThatLives) {
  EXPECT_EQ(max_live({})->bytes, 0);
  // 4 in [0, 3), 4 + 6 in [3, 5), 6 + 8 from 5 on.
  const Problem problem{{{.lower = 0, .upper = 5, .size = 4},
                         {.lower = 3, .upper = 9, .size = 6},
                         {.lower = 5, .upper = 9, .size = 8}}};
  const Result<MaxLive> live = max_live(problem);
  ASSERT_TRUE(live.ok());
  EXPECT_EQ(live->bytes, 14);
  EXPECT_EQ(live->moment, 5);
}

TEST(Problem, CountsWhatSharesMemoryOnce) {
  const Problem problem{{{.lower = -4, .upper = 5, .size = 16},
                         {.lower = 3, .upper = 9, .size = 16, .alias = Alias{0, 0}},
                         {.lower = 8, .upper = 9, .size = 4}}};
  const Result<MaxLive> live = max_live(problem);
  ASSERT_TRUE(live.ok());
  EXPECT_EQ(live->bytes, 20);
  EXPECT_EQ(live->moment, 8);
}

TEST(Problem, CountsAlignmentsThatAreCertainToCost) {
  // Three of 5 bytes at multiples of 8: two take 8 each, the highest only 5.
  const Buffer five{.lower = 0, .upper = 1, .size = 5, .alignment = 8};
  EXPECT_EQ(max_live({{five, five, five}})->bytes, 21);
  EXPECT_EQ(max_live({{five}})->bytes, 5);
  // A single byte that may go into any hole prevents this argument from being certain.
  const Problem problem{{five, {.lower = 0, .upper = 1, .size = 1}}};
  EXPECT_EQ(max_live(problem)->bytes, 6);
}

}  // namespace
}  // namespace tessera::memory
