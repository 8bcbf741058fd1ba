// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "tools/bench/bench_relayout.h"
#include "tools/bench/bench_report.h"
#include "tools/bench/measure.h"
#include "tools/testing/command_testing.h"

namespace tessera::tools {
namespace {

TEST(Bench, QuickSuiteHasAllCases) {
  const Answer answer = run({"bench", "layout", "--quick", "--json"});
  EXPECT_EQ(answer.status, 0) << answer.out;
  const Json json = answer.json();
  EXPECT_EQ(json["suite"], "layout");
  // Three layouts at random (one and many at a time) and in bulk, nine questions on three meshes.
  EXPECT_EQ(json["cases"].size(), 6U + 3U + 27U);
  for (const Json& c : json["cases"]) {
    EXPECT_GT(c["seconds"].get<double>(), 0) << c["name"];
    EXPECT_TRUE(c["peers"].is_object());
    EXPECT_TRUE(c.contains("ratio") || c.contains("peak_bytes"));
  }
  EXPECT_EQ(json["geometric_means"].size(), 2U);
  EXPECT_EQ(json["growth"].size(), 9U);
}

TEST(Bench, QuickRelayoutHasAllCases) {
  const Answer answer = run({"bench", "relayout", "--quick", "--json"});
  ASSERT_EQ(answer.status, 0) << answer.out << answer.err;
  const Json json = answer.json();
  EXPECT_EQ(json["suite"], "relayout");
  // 16 moves of three types and 20 permutations, with 1 and 2 threads.
  EXPECT_EQ(json["cases"].size(), 2U * (16 * 3 + 20));
  for (const Json& c : json["cases"]) {
    EXPECT_GT(c["seconds"].get<double>(), 0) << c["name"];
    EXPECT_GT(c["share_of_memcpy"].get<double>(), 0) << c["name"];
    EXPECT_GE(c["bytes"].get<std::int64_t>(), 1 << 10) << c["name"];
    EXPECT_LE(c["bytes"].get<std::int64_t>(), (1 << 16) + 1024) << c["name"];
    EXPECT_TRUE(c["peers"].is_object());
    EXPECT_EQ(c.contains("goal"), c.contains("met"));
    EXPECT_EQ(c["peers"].empty(), !c.contains("keeps_up_with_peers"));
  }
  EXPECT_TRUE(json["geometric_means"].contains("64KiB/2/all"));
}

/// Twenty moves on each of seven machines, every one of which has a price by some algorithm.
TEST(Bench, QuickMovesHasAllCases) {
  const Answer answer = run({"bench", "moves", "--quick", "--json"});
  ASSERT_EQ(answer.status, 0) << answer.out << answer.err;
  const Json json = answer.json();
  EXPECT_EQ(json["suite"], "moves");
  EXPECT_EQ(json["cases"].size(), 7U * 20);
  for (const Json& c : json["cases"]) {
    EXPECT_GT(c["seconds"].get<double>(), 0) << c["name"];
    EXPECT_GE(c["algorithms"].get<std::int64_t>(), 1) << c["name"];
    EXPECT_FALSE(c.contains("met")) << c["name"];
  }
}

/// Sixteen calls on a small mesh and on a wafer; whether a call is legal does not depend on it.
TEST(Bench, QuickPropagateHasAllCases) {
  const Answer answer = run({"bench", "propagate", "--quick", "--json"});
  ASSERT_EQ(answer.status, 0) << answer.out << answer.err;
  const Json json = answer.json();
  EXPECT_EQ(json["suite"], "propagate");
  EXPECT_EQ(json["cases"].size(), 2U * 16);
  for (const Json& c : json["cases"]) {
    const std::string name = c["name"].get<std::string>();
    EXPECT_GT(c["seconds"].get<double>(), 0) << name;
    EXPECT_EQ(c["outcome"] == "refused", name.ends_with("/refused")) << name;
  }
}

TEST(Bench, QuickPlanHasACaseOfEachKind) {
  const Answer answer = run({"bench", "plan", "--quick", "--json"});
  ASSERT_EQ(answer.status, 0) << answer.out << answer.err;
  const Json json = answer.json();
  EXPECT_EQ(json["suite"], "plan");
  ASSERT_EQ(json["cases"].size(), 3U);
  for (const Json& c : json["cases"]) {
    ASSERT_EQ(c["outcome"], "planned") << c["name"];
    EXPECT_GT(c["seconds"].get<double>(), 0) << c["name"];
    EXPECT_GE(c["greedy_forward"].get<double>() + 0.1, c["cycles"].get<double>()) << c["name"];
  }
}

/// The sizes that the goals refer to, without moving anything.
TEST(Bench, RelayoutCasesHaveTheRequestedSizes) {
  for (const std::int64_t size : {std::int64_t{256} << 20, std::int64_t{4} << 20}) {
    const auto cases = relayout_cases(size);
    ASSERT_TRUE(cases.ok());
    std::int64_t goals = 0;
    for (const RelayoutCase& c : *cases) {
      EXPECT_GT(c.bytes(), size * 3 / 4) << c.name;
      EXPECT_LT(c.bytes(), size * 5 / 4) << c.name;
      goals += c.goal.has_value() ? 1 : 0;
    }
    // Beyond the caches all but odd-even; inside the caches tiles and transposes.
    EXPECT_EQ(goals, size > (16 << 20) ? 15 * 3 + 20 : 5 * 3);
  }
}

TEST(Bench, RelayoutIsGroupedAndComparedWithPeers) {
  RelayoutRow row;
  row.size = "4MiB";
  row.group = "tiles";
  row.seconds = 2;
  row.memcpy_seconds = 1;
  row.goal = 0.5;
  EXPECT_EQ(row.met(), true);
  EXPECT_EQ(row.keeps_up(), std::nullopt);
  RelayoutRow other = row;
  other.seconds = 8;
  other.peers = {{"a", 9}, {"b", 7}};
  EXPECT_EQ(other.met(), false);
  EXPECT_EQ(other.keeps_up(), false);
  EXPECT_EQ(other.best_peer()->first, "b");
  const auto means = share_means({row, other});
  ASSERT_EQ(means.size(), 6U);
  EXPECT_EQ(means[0].first, "4MiB/1/tiles");
  EXPECT_DOUBLE_EQ(means[0].second, 0.25);
  EXPECT_EQ(means[2].first, "4MiB/1/a");
  EXPECT_DOUBLE_EQ(means[2].second, 1.0 / 9);
  EXPECT_EQ(means[3].first, "4MiB/1/all_with_a");
  EXPECT_DOUBLE_EQ(means[3].second, 0.125);
}

TEST(Bench, QuickRunHasAllCases) {
  const Answer answer = run({"bench", "run", "--quick", "--json"});
  ASSERT_EQ(answer.status, 0) << answer.out << answer.err;
  const Json json = answer.json();
  EXPECT_EQ(json["suite"], "run");
  // A matmul, two convolutions, twelve other ops, a transfer there and back, a run of an MLP, and
  // one of a chain.
  EXPECT_EQ(json["cases"].size(), 1U + 2 + 12 + 2 + 1 + 1);
  for (const Json& c : json["cases"]) {
    EXPECT_GT(c["seconds"].get<double>(), 0) << c["name"];
    if (c.contains("outcome")) {
      EXPECT_NE(c["outcome"], "plain") << c["name"];
    }
  }
  EXPECT_EQ(run({"bench", "run", "--only", "nothing", "--json"}).error_code(), "usage");
}

TEST(Bench, RelayoutTakesSomeCasesOnly) {
  const Answer one = run({"bench", "relayout", "--quick", "--only", "untile/128x128/f32",
                          "--threads", "1", "--no-peers", "--size", "65536"});
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_NE(one.out.find("1 row;"), std::string::npos) << one.out;
  EXPECT_EQ(run({"bench", "relayout", "--only", "nothing", "--json"}).error_code(), "usage");
  EXPECT_EQ(run({"bench", "layout", "--only", "bulk", "--json"}).error_code(), "usage");
  EXPECT_EQ(run({"bench", "relayout", "--threads", "0", "--json"}).error_code(), "out_of_range");
  EXPECT_EQ(run({"bench", "relayout", "--size", "1", "--json"}).error_code(), "out_of_range");
}

TEST(Bench, MovesTakesSomeCasesOnly) {
  const Answer one = run({"bench", "moves", "--quick", "--only", "spyre/gather", "--json"});
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_EQ(one.json()["cases"].size(), 1U) << one.out;
  EXPECT_EQ(run({"bench", "moves", "--only", "nothing", "--json"}).error_code(), "usage");
}

TEST(Bench, TextIsATable) {
  const Answer answer = run({"bench", "layout", "--quick"});
  EXPECT_EQ(answer.status, 0);
  EXPECT_NE(answer.out.find("place_classes/994x750"), std::string::npos);
}

TEST(Bench, PeakBytesSeeWhatIsAllocatedAtOneTime) {
  const std::int64_t peak = peak_bytes_of([] {
    for (int i = 0; i < 10; ++i) {
      std::vector<char> memory(100'000);
      keep(memory);
    }
  });
  EXPECT_GE(peak, 100'000);
  EXPECT_LT(peak, 200'000);
  EXPECT_EQ(peak_bytes_of([] {}), 0);
}

TEST(Bench, MediansAreOfOneCall) {
  int calls = 0;
  const std::vector<double> seconds =
      median_seconds({{"a", [&] { ++calls; }}, {"b", [&] { keep(calls); }}}, {3, 1e-6});
  EXPECT_EQ(seconds.size(), 2U);
  EXPECT_GT(calls, 3);
}

TEST(Bench, GeometricMean) {
  EXPECT_DOUBLE_EQ(geometric_mean({2, 8}), 4);
  EXPECT_DOUBLE_EQ(geometric_mean({}), 1);
}

}  // namespace
}  // namespace tessera::tools
