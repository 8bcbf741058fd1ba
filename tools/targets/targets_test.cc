// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tessera/target/machine.h"
#include "tools/testing/command_testing.h"
#include "tools/testing/folder_testing.h"
#include "tools/testing/message_facts.h"

namespace tessera::tools {
namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Targets, ListsAllOfThem) {
  const Answer answer = run({"targets"}, "", {false, false, 200});
  EXPECT_EQ(answer.status, 0);
  ASSERT_EQ(answer.lines().size(), machines().size());
  for (const char* part : {"wse2: 994x750 ", "sram: 48 KB ", "36 KB ", "8 KB code, 4 KB stack"}) {
    EXPECT_TRUE(has(answer.lines()[3], part)) << part << "\n" << answer.out;
  }
  const Json json = run({"targets", "--json"}).json();
  ASSERT_EQ(json["targets"].size(), machines().size());
  EXPECT_EQ(json["targets"][3]["name"], "wse2");
  EXPECT_EQ(json["targets"][3]["mesh"][0]["extents"], Json({994, 750}));
}

TEST(Targets, ExplainsOne) {
  const std::string wse2 = run({"targets", "wse2"}, "", {false, false, 200}).out;
  for (const char* part : {"wafer: 994x750 (row, col)", "745500", "clock: 0.85 GHz",
                           "links: mesh (north, south, east, west, ramp), 1 ", "sram: 48 KB ",
                           "36 KB ", "8 KB code, 4 KB stack", "21, 22, 23", "x = 4, y = 1 "}) {
    EXPECT_TRUE(has(wse2, part)) << part << "\n" << wse2;
  }
  const std::string facts = facts_in(wse2);
  EXPECT_TRUE(has(facts, "1 32 2")) << wse2;   // cycles per hop, bits per cycle, cycles of a ramp
  EXPECT_TRUE(has(facts, "757 996")) << wse2;  // the fabric
  EXPECT_FALSE(has(run({"targets", "wse3"}).out, " GHz"));
  const std::string spyre = run({"targets", "spyre"}, "", {false, false, 200}).out;
  for (const char* part : {"cores: 32 (core)", "links: ring, ", "hbm: ", "128 bytes", "256 MB"}) {
    EXPECT_TRUE(has(spyre, part)) << part << "\n" << spyre;
  }
  const std::string wormhole = run({"targets", "wormhole"}).out;
  EXPECT_TRUE(has(wormhole, "dram: 12 banks, 1 GB ")) << wormhole;
}

TEST(Targets, JsonOfOneIsAFileForTarget) {
  for (const Machine& machine : machines()) {
    const Answer answer = run({"targets", machine.name, "--json"});
    const auto again = parse_machine(answer.out);
    ASSERT_TRUE(again.ok()) << answer.out;
    EXPECT_EQ(*again, machine);
  }
}

class TargetFiles : public testing::Test, public TestFolder {};

TEST_F(TargetFiles, AMachineFromAFile) {
  write("box.json", R"({"name": "box", "mesh": [4, 4], "dead": [[0, 1]],
                        "memory": [{"name": "ram", "bytes": 100}]})");
  const Answer answer = run({"targets", path("box.json")});
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_TRUE(has(facts_in(answer.out), "16 1")) << answer.out;  // places, dead places
  EXPECT_TRUE(has(answer.out, "ram: 100 bytes ")) << answer.out;
}

TEST(Targets, UnknownNames) {
  const Answer answer = run({"targets", "blakchole"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_TRUE(has(answer.err, "'blackhole'")) << answer.err;
  EXPECT_EQ(run({"targets", "no_such", "--json"}).error_code(), "unknown_target");
}

TEST(Targets, NoLineIsWiderThanTheTerminal) {
  for (const int width : {20, 40, 80}) {
    for (const Machine& machine : machines()) {
      for (const auto& args : {std::vector<std::string>{"targets"}, {"targets", machine.name}}) {
        for (const std::string& line : run(args, "", {false, false, width}).lines()) {
          EXPECT_LE(columns_of(line), static_cast<std::size_t>(width)) << line;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tessera::tools
