// SPDX-License-Identifier: Apache-2.0
#include "tools/show/show_notation.h"

#include <gtest/gtest.h>

#include "tools/testing/command_testing.h"

namespace tessera::tools {
namespace {

Json shown(const std::string& tensor) { return run({"show", tensor, "--json"}).json(); }

// 5 rows on 4 PEs are tiles of 2, 2, 1 and 0 rows; 6 columns on 2 PEs are 3 each.
TEST(ShowNotation, PyflameTileShapes) {
  EXPECT_EQ(shown("tensor<5x6xf32, pyflame.Grid(4, 2)>")["pyflame"], parsed(R"({"tile_shapes": [
      {"places": 4, "shape": [2, 3]}, {"places": 2, "shape": [1, 3]},
      {"places": 2, "shape": [0, 3]}]})"));
  // 5 in blocks of 2 on 2 PEs: the first has blocks 0 and 2 (2 + 1), the second block 1.
  EXPECT_EQ(shown("tensor<5x1xf32, pyflame.BlockCyclic(2, 1, 2, 1)>")["pyflame"],
            parsed(R"({"tile_shapes": [
      {"places": 1, "shape": [3, 1]}, {"places": 1, "shape": [2, 1]}]})"));
  // Replicas hold the same tile; places next to a fixed coordinate hold none.
  EXPECT_EQ(shown("tensor<4xf32, pyflame.Grid(2, 3, dim_to_pe=[0], replicate=[1])>")["pyflame"],
            parsed(R"({"tile_shapes": [{"places": 6, "shape": [2]}]})"));
  EXPECT_EQ(
      shown("tensor<4xf32, pyflame.Grid(2, 3, dim_to_pe=[0])>")["pyflame"],
      parsed(R"({"tile_shapes": [{"places": 2, "shape": [2]}, {"places": 4, "shape": [0]}]})"));
}

// [512, 240] f16 has three full columns of sticks and one of 48 elements.
TEST(ShowNotation, SpyreNests) {
  EXPECT_EQ(shown("tensor<512x240xf16, spyre.default()>")["spyre"], parsed(R"({
      "device_size": [4, 512, 64], "dim_map": [1, 0, 1], "stride_map": [64, 240, 1],
      "elements_per_stick": 64, "device_bytes": 262144, "nests": [
        {"extent": [3, 512, 64], "host_stride": [64, 240, 1], "device_stride": [32768, 64, 1],
         "host_offset": 0, "device_offset": 0},
        {"extent": [1, 512, 48], "host_stride": [64, 240, 1], "device_stride": [32768, 64, 1],
         "host_offset": 192, "device_offset": 98304}],
      "nest_count": 2})"));
}

TEST(ShowNotation, Metal) {
  const Json json = shown(
      "tensor<2x3x64x128xf32, #tt.metal_layout<(d0, d1, d2, d3) -> (d0 * 192 + d1 * 64 + d2, d3), "
      "undef, <2x4>, memref<192x32xf32, #tt.memory_space<l1>>>>");
  EXPECT_EQ(json["metal"]["linear"], "(d0, d1, d2, d3) -> (d0 * 192 + d1 * 64 + d2, d3)");
  EXPECT_EQ(json["metal"]["collapsed_intervals"], parsed("[[0, 3], [3, 4]]"));
  EXPECT_EQ(json["metal"]["grid"], parsed("[2, 4]"));
  EXPECT_EQ(json["metal"]["memref"], "memref<192x32xf32, #tt.memory_space<l1>>");
  EXPECT_EQ(json["shard_shape"], parsed("[192, 32]"));
}

TEST(ShowNotation, MetalTodayKeepsTheShardOfItsType) {
  const Json json = shown(
      "tensor<2x1x48x64xf32, #ttcore.metal_layout<logical_shape = 53x63, dim_alignments = 96x64, "
      "collapsed_intervals = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>, l1, sharded>>");
  EXPECT_EQ(json["notation"], "metal-today");
  EXPECT_EQ(json["shape"], parsed("[53, 63]"));
  EXPECT_EQ(json["shard_shape"], parsed("[48, 64]"));
  EXPECT_EQ(json["metal"]["grid"], parsed("[2, 1]"));
}

// An interleaved tensor in L1 is one place, and its share is that of one core: 2x4 tiles on 8x8
// cores are one tile per core.
TEST(ShowNotation, TtnnInterleavedHasTheShareOfACore) {
  const Json json = shown(
      "tensor<64x128xf32, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <8x8>, "
      "memref<1x1x!ttcore.tile<32x32, f32>, #ttnn.buffer_type<l1>>, <interleaved>>>");
  EXPECT_EQ(json["places"], 1);
  EXPECT_EQ(json["shard_bytes"], 4096);
  EXPECT_EQ(json["atoms_shape"], parsed("[1, 1]"));
  EXPECT_EQ(json["allocated_bytes"], 32768);
  EXPECT_EQ(json["ttnn"]["physical_shape"], parsed("[64, 128]"));
}

TEST(ShowNotation, Morello) {
  EXPECT_EQ(
      shown("tensor<6x8xf32, morello[(1, Dynamic), (0, Dynamic), (1, Packed(4))]>")["morello"],
      parsed(R"({"physical_sizes": [2, 6, 4], "expression": "4*d0 + 24*(d1/4) + d1%4",
                       "contiguous": false})"));
}

TEST(ShowNotation, NativeAndStridedHaveNoSpecificFacts) {
  const Json json = shown(kRowMajor);
  EXPECT_FALSE(json.contains("strided"));
}

/// Every notation's own example is accepted by show, locate and diff.
TEST(ShowNotation, EveryVerbReadsEveryNotation) {
  for (const Notation& notation : notations()) {
    SCOPED_TRACE(notation.name);
    const std::string example(notation.example);
    EXPECT_EQ(run({"show", example}).status, 0);
    const Json json = shown(example);
    EXPECT_EQ(json["notation"], notation.name);
    for (const char* list : {"--all", "--slots"}) {
      const Answer listed = run({"locate", example, list, "--json"});
      const bool small = json["allocated_bytes"].get<std::int64_t>() < (1 << 20);
      EXPECT_EQ(listed.error_code(), small ? "" : "too_large") << list;
    }
    const Answer diff = run({"diff", example, json["native"].get<std::string>(), "--json"});
    EXPECT_EQ(diff.status, 0) << diff.out;
  }
}

}  // namespace
}  // namespace tessera::tools
