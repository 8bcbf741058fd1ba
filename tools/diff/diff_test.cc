// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tools/testing/command_testing.h"
#include "tools/testing/message_facts.h"

namespace tessera::tools {
namespace {

TEST(Diff, EqualFunctionsInOtherNotations) {
  const std::string collapsed = "tensor<4x6xf32, native<{6*d0 + d1} / (6 -> mem*6, 1 -> mem)>>";
  const Answer answer = run({"diff", kRowMajor, collapsed, "--json"});
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.json(), parsed(R"({"equal": true, "first_difference": null,
                                      "moved_elements": 0, "moved_bytes": 0})"));
  EXPECT_EQ(run({"diff", kRowMajor, collapsed}).status, 0);
}

TEST(Diff, DifferentFunctions) {
  // 6·r + c = r + 4·c ⇔ 5·r = 3·c: only (0, 0) and (3, 5) stay. 22 others move, 4 bytes each.
  const Answer answer = run({"diff", kRowMajor, kColumnMajor, "--json"});
  EXPECT_EQ(answer.status, 1);
  EXPECT_EQ(answer.json(), parsed(R"({"equal": false, "first_difference": [0, 1],
                                      "moved_elements": 22, "moved_bytes": 88})"));
  const Answer text = run({"diff", kRowMajor, kColumnMajor});
  EXPECT_EQ(text.status, 1);
  // The first difference, A: slot, B: slot, moved, of all, bytes.
  EXPECT_EQ(facts_in(text.out), "0 1 1 4 22 24 88");
}

TEST(Diff, BytesAreThoseOfTheSecondStorageType) {
  // [0] stays in slot 0; [1] and [2] move: 2 · 4 bits are one byte.
  const Answer answer =
      run({"diff", "tensor<3xf32, strided<[1]>>", "tensor<3xi4, strided<[2]>>", "--json"});
  EXPECT_EQ(answer.json(), parsed(R"({"equal": false, "first_difference": [1],
                                      "moved_elements": 2, "moved_bytes": 1})"));
}

TEST(Diff, TextDependsOnWhetherDataCross) {
  const std::string rows = "tensor<4xf32, native<mesh=[2], {d0} / (2 -> m0, 1 -> mem)>>";
  const Answer crossing =
      run({"diff", rows, "tensor<4xf32, native<mesh=[2], {d0} / (2 -> mem, 1 -> m0)>>"});
  EXPECT_EQ(crossing.status, 1);
  const Answer inside =
      run({"diff", rows, "tensor<4xf32, native<mesh=[2], {d0} / (2 -> m0, 1 -> mem*2)>>"});
  EXPECT_EQ(inside.status, 1);
  EXPECT_NE(crossing.lines().back(), inside.lines().back());
}

TEST(Diff, IncomparableTensors) {
  const Answer shapes = run({"diff", kRowMajor, "tensor<6x4xf32, strided<[4, 1]>>", "--json"});
  EXPECT_EQ(shapes.status, 2);
  EXPECT_EQ(shapes.error_code(), "shape_mismatch");
}

TEST(Diff, PlacesAreTheSameByOneRule) {
  // The tiles of both are 256x192 in the same order; DTensor counts its mesh row by row.
  const std::string devices = "tensor<512x384xf32, gspmd{devices=[2,2]<=[4]}>";
  const std::string mesh = "tensor<512x384xf32, dtensor<mesh=[2,2], [Shard(0), Shard(1)]>>";
  const std::string grid = "tensor<512x384xf32, pyflame.Grid(2, 2)>";
  for (const std::string& a : {devices, mesh, grid}) {
    for (const std::string& b : {devices, mesh, grid}) {
      EXPECT_EQ(run({"diff", a, b, "--json"}).json(),
                parsed(R"({"equal": true, "first_difference": null, "moved_elements": 0,
                           "moved_bytes": 0})"))
          << a << " against " << b;
    }
  }
  // 4 devices with 128 rows of 384 each, against 2x2 cores with 256x192 each, in 32x32 tiles. In
  // slot s of device 0 are row s div 384, column s mod 384; core [0, 0] has its tile rows in the
  // same slots only where both orders agree: elements [0, 0] to [0, 31], and whatever the reshard
  // leaves on its place in the same slot.
  const std::string rows = "tensor<512x384xf32, gspmd{devices=[4,1]<=[4]}>";
  const std::string cores =
      "tensor<512x384xf32, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <2x2>, "
      "memref<8x6x!tt.tile<32x32, "
      "f32>, #ttnn.buffer_type<l1>>, <block_sharded>, core_ranges = <[#ttnn.core_range<(0,0), "
      "(1,1)>]>>>";
  const Answer moved = run({"diff", rows, cores, "--json"});
  EXPECT_EQ(moved.status, 1);
  EXPECT_EQ(moved.json()["first_difference"], parsed("[0, 32]"));
  // Half of the bytes stay on their place: device 0 has rows 0 to 127, core [0, 0] rows 0 to 255 of
  // 192 columns; so 128x192 elements stay there, and as many on each of the other three.
  const Answer reshard = run({"reshard", rows, cores, "--json"});
  EXPECT_EQ(reshard.json()["bytes"], 4 * 128 * 192 * 4);
  EXPECT_EQ(reshard.json()["local_bytes"], 4 * 128 * 192 * 4);
}

TEST(Diff, OnePlaceAgainstManyIsDifferent) {
  const Answer answer =
      run({"diff", kRowMajor, "tensor<4x6xf32, pyflame.RowPartition(2)>", "--json"});
  // Rows 0 and 1 are in slots 0 to 11 of the first place in both.
  EXPECT_EQ(answer.status, 1);
  EXPECT_EQ(answer.json(), parsed(R"({"equal": false, "first_difference": [2, 0],
                                      "moved_elements": 12, "moved_bytes": 48})"));
}

TEST(Diff, ABadTextIsNamed) {
  const Answer answer = run({"diff", kRowMajor, "tensor<4x6xf32, strided<[6, x]>>"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_NE(answer.err.find("in B: "), std::string::npos) << answer.err;
}

TEST(Diff, AnOriginMovesPlaces) {
  const std::string at_zero = "tensor<8x8xf32, pyflame.Grid(2, 2)>";
  const std::string at_four = "tensor<8x8xf32, pyflame.Grid(2, 2, origin=(4, 4))>";
  const Answer moved = run({"diff", at_zero, at_four, "--json"});
  EXPECT_EQ(moved.status, 1);
  EXPECT_EQ(moved.json()["moved_elements"], 64);
  EXPECT_EQ(moved.json()["first_difference"], parsed("[0, 0]"));
  // An origin of (0, 0) is another description of the same map.
  const std::string origin_zero = "tensor<8x8xf32, pyflame.Grid(2, 2, origin=(0, 0))>";
  EXPECT_EQ(run({"diff", at_zero, origin_zero}).status, 0);
}

}  // namespace
}  // namespace tessera::tools
