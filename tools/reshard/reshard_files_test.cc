// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tools/testing/command_testing.h"
#include "tools/testing/folder_testing.h"

/// Reshards that read or write files, and their bench.
namespace tessera::tools {
namespace {

std::string flame(const std::string& type, const std::string& layout) {
  return cat("tensor<", type, ", pyflame.", layout, ">");
}

Json ask(const std::string& a, const std::string& b, const std::vector<std::string>& flags) {
  std::vector<std::string> args = {"reshard", a, b, "--json"};
  args.insert(args.end(), flags.begin(), flags.end());
  const Answer answer = run(args);
  EXPECT_EQ(answer.status, 0) << answer.out;
  return answer.json();
}

/// 15 messages of 16 bytes, 128 wavelet-hops: the derivation is in reshard_test.cc.
const std::string kWide = flame("8x8xf32", "Grid(2, 4)");
const std::string kTall = flame("8x8xf32", "Grid(4, 2)");

class ReshardFiles : public TestFolder, public testing::Test {};

/// A dead place, under A or B, is an error that names it.
TEST_F(ReshardFiles, DeadPlaces) {
  write("mine.json",
        "{\"name\": \"mine\", \"title\": \"a small wafer\", \"mesh\": [{\"name\": \"w\", "
        "\"extents\": [4, 4], \"links\": {\"network\": \"mesh\", \"hop_cycles\": 1, "
        "\"bits_per_cycle\": 32, \"ramp_cycles\": 2}}], \"memory\": [{\"name\": \"sram\", "
        "\"bytes\": 4096}], \"data_space\": \"sram\", \"rules\": {\"wavelet_bits\": 32}, "
        "\"dead\": [{\"from\": [3, 1], \"to\": [3, 1]}]}");
  const Answer answer = run({"reshard", kWide, kTall, "--target", path("mine.json"), "--json"});
  EXPECT_EQ(answer.status, 2) << answer.out;
  EXPECT_EQ(answer.error_code(), "out_of_range");
  EXPECT_NE(answer.out.find("[3, 1]"), std::string::npos) << answer.out;
  // The route from [0, 0] to [2, 1] does not pass a dead place.
  const Json json = ask(kWide, flame("8x8xf32", "Grid(3, 2)"), {"--target", path("mine.json")});
  EXPECT_EQ(json["mesh"], Json({4, 4}));
}

/// The trace has a slice for each message sent and received, and they end when the simulation does.
TEST_F(ReshardFiles, TraceOfTheSimulatedMessages) {
  const Json json = ask(kWide, kTall, {"--target", "wse2", "--trace", path("t.json")});
  const Json trace = parsed(read("t.json"));
  ASSERT_TRUE(trace.is_object());
  std::map<std::string, std::int64_t> slices;
  std::int64_t first = INT64_MAX;
  std::int64_t last = 0;
  std::int64_t bytes = 0;
  std::int64_t hops = 0;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const auto from = event["ts"].get<std::int64_t>();
    const auto to = from + event["dur"].get<std::int64_t>();
    first = std::min(first, from);
    last = std::max(last, to);
    EXPECT_EQ(event["args"]["cycles"], to - from);
    ++slices[event["cat"].get<std::string>()];
    if (event["cat"] != "receive") continue;
    bytes += event["args"]["bytes"].get<std::int64_t>();
    hops +=
        event["args"]["wavelets"].get<std::int64_t>() * event["args"]["hops"].get<std::int64_t>();
  }
  EXPECT_EQ(slices["send"], 15);
  EXPECT_EQ(slices["receive"], 15);
  EXPECT_EQ(bytes, 240);
  EXPECT_EQ(hops, 128);
  EXPECT_EQ(last - first, json["simulated_cycles"]);
  const Answer refused =
      run({"reshard", kWide, kTall, "--trace", path("missing/t.json"), "--json"});
  EXPECT_EQ(refused.error_code(), "io");
  EXPECT_EQ(refused.status, 2);
}

/// Seven replicas are one message that leaves and seven that arrive.
TEST_F(ReshardFiles, TraceOfAMulticast) {
  ask(flame("4xf32", "SinglePE()"), flame("4xf32", "Grid(1, 8, replicate=[1], dim_to_pe=[-1])"),
      {"--trace", path("t.json")});
  std::map<std::string, std::int64_t> slices;
  const Json trace = parsed(read("t.json"));
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") ++slices[event["cat"].get<std::string>()];
  }
  EXPECT_EQ(slices["send"], 1);
  EXPECT_EQ(slices["receive"], 7);
}

TEST(BenchReshard, QuickSuiteHasAllCases) {
  const Answer answer = run({"bench", "reshard", "--quick", "--json"});
  ASSERT_EQ(answer.status, 0) << answer.out << answer.err;
  const Json json = answer.json();
  EXPECT_EQ(json["suite"], "reshard");
  // Five changes of two types on five meshes, three expansions, five patterns of traffic.
  EXPECT_EQ(json["cases"].size(), 5U * 2 * 5 + 3 + 5);
  std::int64_t peers = 0;
  for (const Json& c : json["cases"]) {
    EXPECT_GT(c["seconds"].get<double>(), 0) << c["name"];
    EXPECT_TRUE(c.contains("peak_bytes")) << c["name"];
    EXPECT_TRUE(c.contains("met")) << c["name"];
    peers += c["peers"].contains("pairs_map") ? 1 : 0;
  }
  EXPECT_EQ(peers, 2 * 2 * 5);
  EXPECT_EQ(json["growth"].size(), 10U);
  EXPECT_EQ(json["geometric_means"].size(), 10U);
  EXPECT_TRUE(json["growth"].contains("transpose/bf16"));
  EXPECT_EQ(run({"bench", "reshard", "--only", "x", "--json"}).error_code(), "usage");
}

}  // namespace
}  // namespace tessera::tools
