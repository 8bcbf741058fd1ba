// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/bench_alloc.h"

#include <gtest/gtest.h>

#include "tools/bench/bench_alloc_reference.h"
#include "tools/testing/command_testing.h"
#include "tools/testing/folder_testing.h"

namespace tessera::tools {
namespace {

TEST(BenchMemory, QuickSuiteHasAllCases) {
  const Answer answer = run({"bench", "memory", "--quick", "--json"});
  ASSERT_EQ(answer.status, 0) << answer.out;
  const Json json = answer.json();
  EXPECT_EQ(json["suite"], "memory");
  // Five meshes with shared grids, own ones and own origins, two instances solved in two ways,
  // three traces, and four numbers of threads.
  EXPECT_EQ(json["cases"].size(), 15U + 4U + 3U + 4U);
  for (const Json& c : json["cases"]) {
    const auto name = c["name"].get<std::string>();
    EXPECT_GT(c["seconds"].get<double>(), 0) << name;
    EXPECT_EQ(c.contains("goal"), c.contains("met")) << name;
    if (name.starts_with("mesh/")) {
      EXPECT_GT(c["peak_bytes"].get<std::int64_t>(), 0) << name;
      EXPECT_LT(c["peak_bytes"].get<std::int64_t>(), 64 << 20) << name;
      EXPECT_LT(c["peak"].get<double>(), c["without_reuse"].get<double>()) << name;
      EXPECT_EQ(c["peers"].contains("map_per_place"), name.ends_with("grids/10x8")) << name;
    } else if (name.starts_with("hard/") || name.starts_with("trace/")) {
      EXPECT_TRUE(c["outcome"].is_string() && c.contains("nodes") && c.contains("gap")) << name;
    } else {
      EXPECT_EQ(c["peers"].size(), 2U) << name;
      EXPECT_EQ("pool/" + std::to_string(c["threads"].get<int>()), name);
    }
  }
  EXPECT_EQ(json["growth"].size(), 3U);
}

/// 5x3 on 4x2: rows 2, 2, 1, 0 and columns 2, 1; then 4x4 of bytes on 2x2: 2 by 2.
TEST(BenchMemory, ThePeerHasTheTilesOfEveryPlace) {
  const PlaceByPlace planned = plan_place_by_place({{5, 3, 4, 2, 4}, {4, 4, 2, 2, 1}});
  ASSERT_EQ(planned.plans.size(), 8U);
  const auto& first = planned.plans.at({0, 0});
  ASSERT_EQ(first.regions.size(), 2U);
  EXPECT_EQ(first.regions[0].size, 16U);
  EXPECT_EQ(first.regions[1].offset, 16U);
  EXPECT_EQ(first.regions[1].size, 4U);
  EXPECT_EQ(first.used, 20U);
  EXPECT_EQ(planned.plans.at({1, 1}).regions[0].size, 8U);
  EXPECT_EQ(planned.plans.at({2, 1}).regions[0].size, 4U);
  EXPECT_EQ(planned.plans.at({2, 1}).regions.size(), 1U);
  EXPECT_EQ(planned.plans.at({3, 0}).used, 0U);
  EXPECT_EQ(planned.most_used(), 20U);
}

class BenchMemoryData : public ::testing::Test, public TestFolder {};

TEST_F(BenchMemoryData, FilesOfAFolderArePlannedToo) {
  write("a.100.csv", "id,lower,upper,size\nx,0,2,60\ny,1,3,40\nz,2,4,60\n");
  write("b.csv", "id,lower,upper,size\nx,0,2,60\ny,1,3,40\n");
  write("c.txt", "no buffers");
  const Answer answer =
      run({"bench", "memory", "--quick", "--json", "--only", "data/", "--data", path("")});
  ASSERT_EQ(answer.status, 0) << answer.out;
  const Json json = answer.json();
  const Json& cases = json["cases"];
  ASSERT_EQ(cases.size(), 5U) << answer.out;
  EXPECT_EQ(cases[0]["name"], "data/a.100/exact");
  EXPECT_EQ(cases[0]["outcome"], "fits");
  EXPECT_EQ(cases[0]["met"], true);
  EXPECT_EQ(cases[1]["name"], "data/a.100/greedy");
  EXPECT_EQ(cases[2]["name"], "data/b/exact");
  EXPECT_FALSE(cases[2].contains("goal")) << "it has no capacity";
  EXPECT_EQ(cases[4]["name"], "data/all/exact");
}

TEST_F(BenchMemoryData, InvalidDataIsRefused) {
  const auto code = [](std::vector<std::string> args) {
    args.insert(args.end(), {"--quick", "--json", "--only", "data/"});
    return run(args).error_code();
  };
  EXPECT_EQ(code({"bench", "memory", "--data", path("none")}), "io");
  EXPECT_EQ(code({"bench", "memory", "--data", path("")}), "usage");
  write("bad.csv", "id,lower,upper,size\nx,0,0,60\n");
  EXPECT_EQ(code({"bench", "memory", "--data", path("")}), "bad_buffer");
  EXPECT_EQ(code({"bench", "memory"}), "usage") << "no case has data/ in its name";
  EXPECT_EQ(run({"bench", "layout", "--data", "x", "--json"}).error_code(), "usage");
}

}  // namespace
}  // namespace tessera::tools
