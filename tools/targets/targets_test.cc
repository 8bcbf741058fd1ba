// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tessera/target/machine_json.h"
#include "tools/testing/command_testing.h"
#include "tools/testing/folder_testing.h"

namespace tessera::tools {
namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Targets, ListsAllOfThem) {
  const Answer answer = run({"targets"}, "", {false, false, 200});
  EXPECT_EQ(answer.status, 0);
  ASSERT_EQ(answer.lines().size(), machines().size());
  EXPECT_TRUE(has(answer.out,
                  "wse2: 994x750 places, sram: 48 KB a place, 36 KB of it for data (taken: 8 KB "
                  "code, 4 KB stack); Cerebras WSE-2"))
      << answer.out;
  const Json json = run({"targets", "--json"}).json();
  ASSERT_EQ(json["targets"].size(), machines().size());
  EXPECT_EQ(json["targets"][3]["name"], "wse2");
  EXPECT_EQ(json["targets"][3]["mesh"][0]["extents"], Json({994, 750}));
}

TEST(Targets, ExplainsOne) {
  const std::string wse2 = run({"targets", "wse2"}, "", {false, false, 200}).out;
  for (const char* part :
       {"wafer: 994x750 (row, col)", "745500 places in all", "clock: 0.85 GHz",
        "links: mesh (north, south, east, west, ramp), 1 cycle a hop, 32 bits a cycle in each ",
        "direction, 2 cycles between processor and router",
        "sram: 48 KB a place, 36 KB of it for data (taken: 8 KB code, 4 KB stack)",
        "wavelets of 32 bits", "24 colours, of which 21, 22, 23 are reserved",
        "the mesh begins at x = 4, y = 1 of a fabric 757 wide and 996 high"}) {
    EXPECT_TRUE(has(wse2, part)) << part << "\n" << wse2;
  }
  EXPECT_TRUE(has(run({"targets", "wse3"}).out, "clock: not given"));
  const std::string spyre = run({"targets", "spyre"}, "", {false, false, 200}).out;
  for (const char* part :
       {"cores: 32 (core)", "links: ring, figures not given",
        "hbm: shared by all places, size not given, aligned to 128 bytes",
        "tensors live in hbm unless their layout says otherwise", "sticks of 128 bytes",
        "one place reaches at most 256 MB of one tensor"}) {
    EXPECT_TRUE(has(spyre, part)) << part << "\n" << spyre;
  }
  EXPECT_TRUE(has(run({"targets", "wormhole"}).out, "dram: 12 banks, 1 GB a bank, aligned to 32"));
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

TEST_F(TargetFiles, AFileOfOnesOwn) {
  write("box.json", R"({"name": "box", "mesh": [4, 4], "dead": [[0, 1]],
                        "memory": [{"name": "ram", "bytes": 100}]})");
  const Answer answer = run({"targets", path("box.json")});
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_TRUE(has(answer.out, "16 places in all, 1 of them dead")) << answer.out;
  EXPECT_TRUE(has(answer.out, "ram: 100 bytes a place")) << answer.out;
}

TEST(Targets, UnknownNames) {
  const Answer answer = run({"targets", "blakchole"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_TRUE(has(answer.err, "did you mean 'blackhole'?; a file is named by its path"))
      << answer.err;
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
