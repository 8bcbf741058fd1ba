// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tools/testing/command_testing.h"

namespace tessera::tools {
namespace {

const std::string kInterleaved =
    "tensor<64x128xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, "
    "memref<2x4x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<dram>>, <interleaved>>>";
const std::string kOnHost =
    "tensor<64x128xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, "
    "memref<2x4x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<system_memory>>>>";
const std::string kBlocks =
    "tensor<64x128xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <2x2>, "
    "memref<1x2x!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<l1>>, <block_sharded>, core_ranges = "
    "<[#ttnn.core_range<(0,0), (1,1)>]>>>";

Json ask(std::vector<std::string> args) {
  args.insert(args.begin(), "reshard");
  args.insert(args.end(), {"--json"});
  const Answer answer = run(args);
  EXPECT_EQ(answer.status, 0) << answer.out;
  return answer.json();
}

TEST(ReshardSpaces, HostToCoresIsAScatterWithAPrice) {
  const Json json = ask({kOnHost, kBlocks, "--target", "wormhole"});
  EXPECT_EQ(json["kind"], "SCATTER");
  EXPECT_EQ(json["space_a"], "system");
  EXPECT_EQ(json["space_b"], "l1");
  EXPECT_EQ(json["bytes"], 64 * 128 * 2);
  EXPECT_EQ(json["local_bytes"], 0);
  ASSERT_EQ(json["steps"].size(), 1U);
  EXPECT_EQ(json["steps"][0]["step"], "exchange");
  EXPECT_GT(json["seconds"].get<double>(), 64 * 128 * 2 / 14e9);
}

TEST(ReshardSpaces, PagesComeFromTheirBanks) {
  const Json json = ask({kInterleaved, kBlocks, "--target", "wormhole", "--pairs"});
  EXPECT_EQ(json["messages"], 8);
  ASSERT_EQ(json["pairs"].size(), 8U);
  for (std::size_t tile = 0; tile < 8; ++tile) {
    const Json& pair = json["pairs"][tile];
    EXPECT_EQ(pair["source"], (Json{{"space", "dram"}, {"bank", tile}}));
    const std::size_t row = tile / 4;
    const std::size_t column = tile % 4 / 2;
    EXPECT_EQ(pair["destination"], (Json{row, column}));
    EXPECT_EQ(pair["bytes"], 2048);
  }
}

TEST(ReshardSpaces, WithoutATargetNoPlaceIsInvented) {
  const Json json = ask({kInterleaved, kBlocks});
  EXPECT_TRUE(json["kind"].is_null());
  EXPECT_TRUE(json["bytes"].is_null());
  EXPECT_EQ(json["warnings"][0]["code"], "needs_target");
  EXPECT_EQ(ask({kInterleaved, kInterleaved})["kind"], "IDENTITY");
}

TEST(ReshardSpaces, MemoriesAreNamedByFlags) {
  const std::string plain = "tensor<64x128xbf16, strided<[128, 1]>>";
  const Json json =
      ask({plain, plain, "--target", "wormhole", "--space-a", "system", "--space-b", "dram"});
  EXPECT_EQ(json["space_a"], "system");
  EXPECT_EQ(json["space_b"], "dram");
  EXPECT_EQ(json["kind"], "SCATTER");
  const Answer unknown =
      run({"reshard", plain, plain, "--target", "wormhole", "--space-a", "drum", "--json"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_EQ(unknown.error_code(), "unknown_name");
  const Answer alone = run({"reshard", plain, plain, "--space-a", "dram", "--json"});
  EXPECT_EQ(alone.status, 2);
  EXPECT_EQ(alone.error_code(), "usage");
}

TEST(ReshardSpaces, TypesMayChangeOnATarget) {
  const std::string wide = "tensor<64x128xf32, pyflame.Grid(2, 2)>";
  const std::string narrow = "tensor<64x128xbf16, pyflame.Grid(2, 2)>";
  const Json json = ask({wide, narrow, "--target", "wormhole"});
  EXPECT_NE(json["kind"], "IDENTITY");
  ASSERT_EQ(json["steps"].size(), 1U);
  EXPECT_EQ(json["steps"][0]["step"], "cast");
  EXPECT_EQ(json["steps"][0]["dominated_by"], "memory");
  const Answer without = run({"reshard", wide, narrow, "--json"});
  EXPECT_EQ(without.error_code(), "bad_dtype");
}

TEST(ReshardSpaces, AssumedFiguresAreListed) {
  const std::string grid = "tensor<64x64xf32, pyflame.Grid(2, 2)>";
  const std::string one = "tensor<64x64xf32, pyflame.SinglePE()>";
  const Json json = ask({one, grid, "--target", "wse2", "--space-a", "host", "--space-b", "sram"});
  EXPECT_FALSE(json["assumed"].empty());
  const Answer text =
      run({"reshard", one, grid, "--target", "wse2", "--space-a", "host", "--space-b", "sram"});
  EXPECT_NE(text.out.find("assumed"), std::string::npos);
  EXPECT_NE(text.out.find("from host to sram"), std::string::npos);
}

bool warns(const Json& json, std::string_view code) {
  for (const Json& warning : json["warnings"]) {
    if (warning["code"] == code) return true;
  }
  return false;
}

TEST(ReshardSpaces, WhatDoesNotFitItsMemoryIsSaid) {
  const std::string rows = "tensor<2048x2048xbf16, strided<[2048, 1]>>";
  // 8 MB in one L1 of 1364 KB; 65 GB in 12 GB of DRAM.
  EXPECT_TRUE(
      warns(ask({rows, rows, "--target", "wormhole", "--space-a", "system", "--space-b", "l1"}),
            "does_not_fit"));
  const std::string large = "tensor<4000000x8192xbf16, strided<[8192, 1]>>";
  EXPECT_TRUE(
      warns(ask({large, large, "--target", "wormhole", "--space-a", "system", "--space-b", "dram"}),
            "does_not_fit"));
  EXPECT_FALSE(
      warns(ask({rows, rows, "--target", "wormhole", "--space-a", "system", "--space-b", "dram"}),
            "does_not_fit"));
  const Answer gathered =
      run({"reshard", rows, "tensor<2048x2048xbf16, pyflame.SinglePE()>", "--target", "wormhole",
           "--space-a", "dram", "--space-b", "l1", "--json"});
  EXPECT_EQ(gathered.status, 1);
  EXPECT_EQ(gathered.error_code(), "does_not_fit");
}

/// 10 GB in 5,120,000 tiles, from a host that reads 14 GB/s.
TEST(ReshardSpaces, TensorsOfMillionsOfPagesAreCounted) {
  const std::string tiles =
      "tensor<80000x65536xbf16, native<mesh=[], {d0} / (32 -> mem*2097152!tile, 1 -> "
      "mem*32!tile), {d1} / (32 -> mem*1024!tile, 1 -> mem!tile), atom=tile(32x32, bf16)>>";
  const std::vector<std::string> move = {tiles,       tiles,    "--target",  "wormhole",
                                         "--space-a", "system", "--space-b", "dram"};
  const Json json = ask(move);
  EXPECT_EQ(json["kind"], "SCATTER");
  EXPECT_EQ(json["bytes"], std::int64_t{80000} * 65536 * 2);
  EXPECT_EQ(json["messages"], 12);
  EXPECT_NEAR(json["seconds"].get<double>(), 80000.0 * 65536 * 2 / 14e9, 1e-5);
  std::vector<std::string> pairs = move;
  pairs.emplace_back("--pairs");
  EXPECT_EQ(ask(pairs)["pairs"].size(), 12U);
  const Json same =
      ask({tiles, tiles, "--target", "wormhole", "--space-a", "dram", "--space-b", "dram"});
  EXPECT_EQ(same["kind"], "IDENTITY");
  EXPECT_EQ(same["seconds"], 0.0);
  // What needs the list of pages says that they are too many.
  std::vector<std::string> rounds = move;
  rounds.insert(rounds.begin(), "reshard");
  rounds.insert(rounds.end(), {"--staging", "65536", "--json"});
  EXPECT_EQ(run(rounds).error_code(), "too_large");
}

/// 1 MB of f32 and 512 KB of bf16 on each place, of 1364 KB.
TEST(ReshardSpaces, BothTypesOfACastMustFit) {
  const std::string wide = "tensor<4096x4096xf32, pyflame.Grid(8, 8)>";
  const std::string narrow = "tensor<4096x4096xbf16, pyflame.Grid(8, 8)>";
  EXPECT_TRUE(warns(ask({wide, narrow, "--target", "wormhole"}), "does_not_fit"));
  const std::string half = "tensor<2048x4096xf32, pyflame.Grid(8, 8)>";
  const std::string quarter = "tensor<2048x4096xbf16, pyflame.Grid(8, 8)>";
  EXPECT_FALSE(warns(ask({half, quarter, "--target", "wormhole"}), "does_not_fit"));
}

TEST(ReshardSpaces, TheAssumedBandwidthThatDecidesIsListed) {
  const std::string sticks = "tensor<2048x2048xf16, spyre.default()>";
  const Json json =
      ask({sticks, sticks, "--target", "spyre", "--space-a", "host", "--space-b", "hbm"});
  bool listed = false;
  for (const Json& path : json["assumed"]) listed = listed || path == "/memory/2/read";
  EXPECT_TRUE(listed);
}

}  // namespace
}  // namespace tessera::tools
