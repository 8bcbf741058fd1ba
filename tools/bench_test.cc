// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "tools/bench_clock.h"
#include "tools/bench_memory.h"
#include "tools/bench_report.h"
#include "tools/command_testing.h"

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
