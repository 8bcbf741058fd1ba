// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/bench_ranks.h"

#include <gtest/gtest.h>

#include "tessera/notation/notation.h"
#include "tools/testing/command_testing.h"

namespace tessera::tools {
namespace {

TEST(BenchRanks, QuickSuiteHasAllCases) {
  const Answer answer = run({"bench", "ranks", "--quick", "--json"});
  ASSERT_EQ(answer.status, 0) << answer.out << answer.err;
  const Json json = answer.json();
  EXPECT_EQ(json["suite"], "ranks");
  EXPECT_EQ(json["cases"].size(), 3U * 7);  // 4, 16 and 64 ranks
  for (const Json& c : json["cases"]) {
    EXPECT_GT(c["seconds"].get<double>(), 0) << c["name"];
    EXPECT_GE(c["largest_seconds"].get<double>(), c["seconds"].get<double>()) << c["name"];
    EXPECT_LT(c["partners"].get<int>(), c["ranks"].get<int>()) << c["name"];
    EXPECT_GT(c["parcels"].get<std::int64_t>(), 0) << c["name"];
    EXPECT_GT(c["plan_bytes"].get<std::int64_t>(), 0) << c["name"];
    if (c["name"] == "rows-to-columns") {
      EXPECT_EQ(c["partners"], c["ranks"].get<int>() - 1);
    }
  }
  EXPECT_EQ(json["growth_exponents"].size(), 7U);
}

TEST(BenchRanks, TakesSomeCasesOnly) {
  const Answer one = run({"bench", "ranks", "--quick", "--only", "grid-change/16"});
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_EQ(one.lines().size(), 2U + 1U + 1U) << one.out;
  EXPECT_EQ(run({"bench", "ranks", "--only", "nothing", "--json"}).error_code(), "usage");
  EXPECT_EQ(run({"bench", "ranks", "--threads", "1", "--json"}).error_code(), "usage");
  EXPECT_EQ(run({"bench", "ranks", "--ranks", "8", "--json"}).error_code(), "out_of_range");
  EXPECT_EQ(run({"bench", "ranks", "--ranks", "262144", "--json"}).error_code(), "out_of_range");
  EXPECT_EQ(run({"bench", "ranks", "--ranks", "0", "--json"}).error_code(), "out_of_range");
}

TEST(BenchRanks, GrowthIsAnExponentBetweenTheTwoLargest) {
  const auto row = [](std::string name, std::int64_t ranks, double seconds, std::int64_t bytes) {
    RanksRow made;
    made.name = std::move(name);
    made.ranks = ranks;
    made.seconds = seconds;
    made.largest_seconds = 2 * seconds;
    made.plan_bytes = bytes;
    return made;
  };
  const auto growth =
      ranks_growth({row("line", 4, 9, 9), row("line", 16, 1, 100), row("square", 16, 1, 10),
                    row("line", 64, 4, 200), row("square", 64, 16, 10), row("alone", 64, 1, 1)});
  ASSERT_EQ(growth.size(), 2U);
  EXPECT_EQ(growth[0].name, "line");
  EXPECT_DOUBLE_EQ(growth[0].seconds, 1);
  EXPECT_DOUBLE_EQ(growth[0].largest_seconds, 1);
  EXPECT_DOUBLE_EQ(growth[0].plan_bytes, 0.5);
  EXPECT_TRUE(growth[0].met());
  EXPECT_DOUBLE_EQ(growth[1].seconds, 2);
  EXPECT_FALSE(growth[1].met());
}

std::vector<exchange::RankPlan> plans_of(const RanksCase& ranks_case) {
  const auto from = parse_tensor(ranks_case.from);
  const auto to = parse_tensor(ranks_case.to);
  reshard::PhysicalMesh physical;
  physical.mesh = from->placement.mesh();
  const auto reshard = reshard::Reshard::make(from->placement, to->placement, physical);
  const auto shared = std::make_shared<const reshard::Reshard>(*reshard);
  const auto map = exchange::RankMap::blocks(ranks_case.ranks, static_cast<int>(ranks_case.ranks));
  std::vector<exchange::RankPlan> plans;
  for (int rank = 0; rank < ranks_case.ranks; ++rank) {
    plans.push_back(*exchange::RankPlan::make(shared, *map, *map, rank));
  }
  return plans;
}

/// Shows that the check behind the numbers can fail.
TEST(BenchRanks, PlansOfOtherReshardsContradictEachOther) {
  const std::vector<RanksCase> cases = ranks_cases(4);
  for (const RanksCase& c : cases) EXPECT_TRUE(check_rank_plans(c, plans_of(c)).ok()) << c.name;
  std::vector<exchange::RankPlan> mixed = plans_of(cases[0]);
  mixed[2] = plans_of(cases[1])[2];
  const Status differ = check_rank_plans(cases[0], mixed);
  ASSERT_FALSE(differ.ok());
  EXPECT_EQ(differ.error().code, ErrorCode::kContradiction);
  EXPECT_NE(differ.error().message.find("rank 2"), std::string::npos) << differ.error().message;
  RanksCase more = cases[0];
  ++more.arriving_elements;
  EXPECT_FALSE(check_rank_plans(more, plans_of(cases[0])).ok());
}

}  // namespace
}  // namespace tessera::tools
