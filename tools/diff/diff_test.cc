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
  const Answer meshes =
      run({"diff", "tensor<4xf32, native<mesh=[2], {d0} / (2 -> m0, 1 -> mem)>>",
           "tensor<4xf32, native<mesh=[2, 2], {d0} / (2 -> m0, 1 -> m1)>>", "--json"});
  EXPECT_EQ(meshes.status, 2);
  EXPECT_EQ(meshes.error_code(), "mesh_mismatch");
}

TEST(Diff, ABadTextIsNamed) {
  const Answer answer = run({"diff", kRowMajor, "tensor<4x6xf32, strided<[6, x]>>"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_NE(answer.err.find("in B: "), std::string::npos) << answer.err;
}

TEST(Diff, EqualPlacesElsewhereOnTheDeviceAreListed) {
  const std::string at_zero = "tensor<8x8xf32, pyflame.Grid(2, 2)>";
  const std::string at_four = "tensor<8x8xf32, pyflame.Grid(2, 2, origin=(4, 4))>";
  const Answer moved = run({"diff", at_zero, at_four});
  EXPECT_EQ(moved.status, 0);
  EXPECT_EQ(moved.lines().size(), 2U) << moved.out;
  EXPECT_NE(moved.out.find("[0, 0]"), std::string::npos) << moved.out;
  // An origin of (0, 0) is another description of the same map.
  const std::string origin_zero = "tensor<8x8xf32, pyflame.Grid(2, 2, origin=(0, 0))>";
  const Answer same = run({"diff", at_zero, origin_zero});
  EXPECT_EQ(same.lines().size(), 1U) << same.out;
}

}  // namespace
}  // namespace tessera::tools
