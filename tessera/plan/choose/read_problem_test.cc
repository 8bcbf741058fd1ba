// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/choose/read_problem.h"

#include <gtest/gtest.h>

#include <string>

namespace tessera::choose {
namespace {

constexpr std::string_view kExample =
    R"({"problem": {"name": "x", "nodes": {"intervals": [[0, 4], [2, 6]], "costs": [[5, 1], [0, 2]],
  "usages": [[4, 8], [5, 1]]}, "edges": {"nodes": [[0, 1]], "costs": [[0, 0, 3, 0]]},
  "usage_limit": 10, "more": [1.5e3, {"a": null}, "\"", true]}})";

/// The example with `from` replaced by `to`.
std::string changed(std::string_view from, std::string_view to) {
  std::string text(kExample);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(ReadProblem, ReadsTheExample) {
  const Problem problem = *read_problem(kExample);
  ASSERT_EQ(problem.nodes.size(), 2U);
  EXPECT_EQ(problem.nodes[1].life, (Interval{2, 6}));
  EXPECT_EQ(problem.nodes[1].costs, (std::vector<std::int64_t>{0, 2}));
  EXPECT_EQ(problem.nodes[0].usages, (std::vector<std::int64_t>{4, 8}));
  ASSERT_EQ(problem.edges.size(), 1U);
  EXPECT_EQ(problem.edges[0].costs, (std::vector<std::int64_t>{0, 0, 3, 0}));
  EXPECT_EQ(problem.usage_limit, 10);
}

TEST(ReadProblem, EdgesAndLimitMayBeMissing) {
  const Problem problem =
      *read_problem(R"({"problem":{"nodes":{"costs":[[1]],"usages":[[2]],"intervals":[[0,0]]}}})");
  EXPECT_EQ(problem.nodes.size(), 1U);
  EXPECT_TRUE(problem.edges.empty());
  EXPECT_FALSE(problem.usage_limit);
}

TEST(ReadProblem, LargeCostsAreForbidden) {
  for (const std::string_view cost : {"1000000000000000000", "9223372036854775807",
                                      "9223372036854775808", "123456789012345678901234567890"}) {
    const Problem problem =
        *read_problem(changed("[5, 1]", std::string("[") + std::string(cost) + ", 1]"));
    EXPECT_GE(problem.nodes[0].costs[0], kForbidden) << cost;
  }
}

TEST(ReadProblem, PointsAtWhatIsWrong) {
  struct Case {
    std::string_view from, to;
    ErrorCode code;
    std::string_view marked;  ///< what the span covers
  };
  using enum ErrorCode;
  const Case cases[] = {
      {"[5, 1]", "[5; 1]", kSyntax, ";"},
      {"[5, 1]", "[5, 1", kSyntax, "["},  // where a number is expected
      {"[5, 1]", "5", kSyntax, "5"},
      {"{\"intervals\"", "[\"intervals\"", kSyntax, "["},
      {"\"usage_limit\": 10", "\"usage_limit\": true", kSyntax, "t"},
      {"\"costs\": [[0, 0", "\"nodes\": [[0, 0", kSyntax, "\"nodes\""},  // twice
      {"[5, 1]", "[5, 1.5]", kBadNumber, "1.5"},
      {"[5, 1]", "[5, 01]", kBadNumber, "01"},
      {"[4, 8]", "[4, 9223372036854775808]", kBadNumber, "9223372036854775808"},
      {"\"usages\"", "\"uses\"", kBadProblem, "\"nodes\""},
      {"\"costs\": [[0, 0", "\"prices\": [[0, 0", kBadProblem, "\"edges\""},
      {"\"nodes\": [[0, 1]]", "\"pairs\": [[0, 1]]", kBadProblem, "\"edges\""},
      {"[[5, 1], [0, 2]]", "[[5, 1]]", kBadProblem, "\"intervals\""},
      {"[4, 8]", "[4, 8, 9]", kBadProblem, "[4, 8, 9]"},
      {"[4, 8]", "[4, -8]", kBadProblem, "[4, -8]"},
      {"[5, 1]", "[]", kBadProblem, "[]"},
      {"[5, 1]", "[5, -1]", kBadProblem, "[5, -1]"},
      {"[2, 6]", "[2, 6, 7]", kBadProblem, "[2, 6, 7]"},
      {"[[0, 1]]", "[[0, 2]]", kBadProblem, "[0, 2]"},
      {"[[0, 1]]", "[[0, -1]]", kBadProblem, "[0, -1]"},
      {"[[0, 1]]", "[[1, 1]]", kBadProblem, "[1, 1]"},
      {"[0, 0, 3, 0]", "[0, 0, 3]", kBadProblem, "[0, 0, 3]"},
      {"[0, 0, 3, 0]", "[0, 0, -3, 0]", kBadProblem, "[0, 0, -3, 0]"},
      {"\"usage_limit\": 10", "\"usage_limit\": -10", kBadProblem, "-10"},
      {"[5, 1]", "[999999999999999999, 1]", kOverflow, "10"},
  };
  for (const Case& each : cases) {
    const std::string text = changed(each.from, each.to);
    const Result<Problem> problem = read_problem(text);
    ASSERT_FALSE(problem) << each.to;
    EXPECT_EQ(problem.error().code, each.code) << each.to << ": " << problem.error().message;
    EXPECT_FALSE(problem.error().help.empty()) << each.to;
    ASSERT_TRUE(problem.error().span) << each.to;
    const Span span = *problem.error().span;
    EXPECT_EQ(text.substr(static_cast<std::size_t>(span.from),
                          static_cast<std::size_t>(span.to - span.from)),
              each.marked)
        << each.to << ": " << problem.error().message;
  }
}

TEST(ReadProblem, NoPrefixIsAProblem) {
  for (std::size_t size = 0; size < kExample.size(); ++size) {
    const Result<Problem> problem = read_problem(kExample.substr(0, size));
    ASSERT_FALSE(problem) << size;
    EXPECT_EQ(problem.error().code, ErrorCode::kSyntax) << size;
  }
  EXPECT_FALSE(read_problem(std::string(kExample) + "x"));
  EXPECT_FALSE(read_problem(std::string(100000, '[')));
  EXPECT_FALSE(read_problem("{\"a\":" + std::string(100000, '[')));
}

}  // namespace
}  // namespace tessera::choose
