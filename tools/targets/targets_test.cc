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
    EXPECT_TRUE(has(answer.lines()[5], part)) << part << "\n" << answer.out;
  }
  const Json json = run({"targets", "--json"}).json();
  ASSERT_EQ(json["targets"].size(), machines().size());
  EXPECT_EQ(json["targets"][5]["name"], "wse2");
  EXPECT_EQ(json["targets"][5]["mesh"][0]["extents"], Json({994, 750}));
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
  EXPECT_TRUE(has(run({"targets", "wse3"}).out, "clock: 1 GHz (assumed)"));
  const std::string spyre = run({"targets", "spyre"}, "", {false, false, 200}).out;
  for (const char* part :
       {"cores: 32 (core)", "links: ring, ", "hbm: ", "128 bytes", "262140 KB"}) {
    EXPECT_TRUE(has(spyre, part)) << part << "\n" << spyre;
  }
  const std::string wormhole = run({"targets", "wormhole"}).out;
  EXPECT_TRUE(has(wormhole, "dram: 12 banks, 1 GB ")) << wormhole;
}

TEST(Targets, ExplainsNetworksAndBandwidths) {
  const std::string n300 = run({"targets", "wormhole-n300"}, "", {false, false, 300}).out;
  for (const char* part :
       {"chips: 2 (chip)",
        "0.8 us ",
        "9.6 GB/s ",
        "2 parallel links",
        "[6, 1] [6, 9]",
        "routers: 12x10 (published)",
        "row 1-5, 7-9 (assumed)",
        "col 1-4, 6-9 (published)",
        "noc0: torus, routes take col, then row, one way: up row, up col, 9 cycles ",
        "8 KB (published)",
        "noc1: torus, routes take row, then col, one way: down row, down col, ",
        "read over noc0: 96 ",
        "25 cycles ",
        "28.6 bytes per cycle (fitted)",
        "write over noc1: 98.5 ",
        "between two ops: 2.05 us (measured)",
        "256 bytes per cycle ",
        "24 GB/s ",
        "router [0, 3, 0]",
        "matrix: lofi 2048, hifi2 1024, hifi3 682.667, hifi4 512 (published)",
        "vector f32: 32 (published)",
        "tiles of 32x32 (published)"}) {
    EXPECT_TRUE(has(n300, part)) << part << "\n" << n300;
  }
  // A figure says how it is known; figures that are known in the same way share the remark.
  const std::string spyre = run({"targets", "spyre"}, "", {false, false, 300}).out;
  EXPECT_TRUE(has(spyre, "1 cycle per hop (assumed), 1024 bits ")) << spyre;
  EXPECT_TRUE(has(spyre, "peak 1024 (published), sustained 760 (measured)")) << spyre;
  // Notes without a text only say how figures are known.
  EXPECT_FALSE(has(n300, "/op_gap_seconds")) << n300;
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

TEST_F(TargetFiles, FiguresThatAreNotGiven) {
  write("box.json", R"({"name": "box", "mesh": [{"name": "cores", "extents": [2, 2],
                        "networks": [{"name": "a", "network": "all_to_all"},
                                     {"name": "b", "network": "ring", "ways": ["up"]}],
                        "mechanisms": [{"name": "read", "network": "b"}]}],
                        "memory": [{"name": "ram"}, {"name": "host", "per": "shared",
                                    "at": [[[0, 1]]]}]})");
  const Answer answer = run({"targets", path("box.json")}, "", {false, false, 200});
  EXPECT_EQ(answer.status, 0) << answer.err;
  for (const char* part :
       {"a: all to all, figures not given", "b: ring, one way: up, figures not",
        "read over b: figures not given", "clock: not given", "host is reached at router [0, 1]"}) {
    EXPECT_TRUE(has(answer.out, part)) << part << "\n" << answer.out;
  }
  EXPECT_FALSE(has(answer.out, "(published)")) << answer.out;
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
