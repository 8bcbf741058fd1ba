// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tools/testing/command_testing.h"

namespace tessera::tools {
namespace {

using Words = std::vector<std::string>;

const std::string kGrid = "tensor<64x64xf32, pyflame.Grid(4, 4)>";

Json asked(Words words, int status) {
  words.insert(words.begin(), "propagate");
  words.emplace_back("--json");
  const Answer answer = run(words);
  EXPECT_EQ(answer.status, status) << answer.out << answer.err;
  return answer.json();
}

TEST(Propagate, SaysThatInIsGivenOnceForEachInput) {
  const Json once = asked({"add", "--in", kGrid, kGrid}, 2);
  const Json none = asked({"add", kGrid}, 2);
  EXPECT_EQ(once["error"]["code"].get<std::string>(), "usage");
  EXPECT_EQ(none["error"]["code"].get<std::string>(), "usage");
  EXPECT_NE(dump(once["error"]["help"]), dump(none["error"]["help"]));
}

TEST(Propagate, AnswersTheContract) {
  const Json json = asked({"relu", "--in", kGrid}, 0);
  EXPECT_TRUE(json["legal"].get<bool>());
  EXPECT_EQ(dump(json["reason"]), "null");
  EXPECT_EQ(dump(json["outputs"]), "[\"" + kGrid + "\"]");
  EXPECT_EQ(dump(json["partial"]), "[]");
  EXPECT_EQ(dump(json["halo"]), "[[0,0],[0,0]]");
  EXPECT_EQ(dump(json["alternatives"]), "[]");
  EXPECT_EQ(dump(json["local"]),
            R"([{"places":[{"from":[0,0],"to":[3,3]}],"count":16,"iterations":256,"flops":256,)"
            R"("read_bytes":1024,"made_bytes":1024,"example":[0,0],)"
            R"("boxes":[[{"from":[0,0],"to":[16,16]}]],)"
            R"("output_boxes":[[{"from":[0,0],"to":[16,16]}]],)"
            R"("elements":[256],"output_elements":[256],"scratch_bytes":0}])");
}

TEST(Propagate, MatmulOfThePyFlameDocumentNeedsReplicas) {
  // PyFlame document 5.1: A by rows, B by columns. A is on column 0 of the PEs only and B on row 0,
  // so one of them or both must be replicated along the other axis (FACTS 1, 10).
  const Words matmul = {"matmul", "--in", "tensor<1024x512xf32, pyflame.RowPartition(4)>",  //
                        "--in", "tensor<512x256xf32, pyflame.ColPartition(4)>"};
  const Json json = asked(matmul, 1);
  EXPECT_FALSE(json["legal"].get<bool>());
  EXPECT_NE(dump(json["reason"]), "null");
  EXPECT_EQ(dump(json["outputs"]), "[]");
  const std::string a = "tensor<1024x512xf32, pyflame.Grid(4, 4, replicate=[1])>";
  const std::string b = "tensor<512x256xf32, pyflame.Grid(4, 4, replicate=[0])>";
  // With both, 1024·512·4 bytes of A on 4 columns and 512·256·4 of B on 4 rows.
  const std::size_t last = json["alternatives"].size() - 1;
  EXPECT_EQ(dump(json["alternatives"][last]), "[\"" + a + "\",\"" + b + "\"]");
  EXPECT_EQ(json["alternative_bytes"][last].get<std::int64_t>(), 4 * (1 << 21) + 4 * (1 << 19));
  const Json legal = asked({"matmul", "--in", a, "--in", b}, 0);
  EXPECT_EQ(dump(legal["outputs"]), R"(["tensor<1024x256xf32, pyflame.Grid(4, 4)>"])");
}

TEST(Propagate, BackwardsFromTheOutputAsInThePyFlameDocument) {
  // PyFlame document 7.1: c = matmul(a, b) with c: Grid(4, 4) wants a by rows and b by columns.
  const std::string c = "tensor<64x64xf32, pyflame.Grid(4, 4)>";
  const Json json = asked({"matmul", "--in", "64x32xf32", "--in", "32x64xf32", "--out", c}, 0);
  EXPECT_EQ(dump(json["inputs"]), R"(["tensor<64x32xf32, pyflame.Grid(4, 4, replicate=[1])>",)"
                                  R"("tensor<32x64xf32, pyflame.Grid(4, 4, replicate=[0])>"])");
  // "If a was Grid(2, 8), insert transformation": it is not legal as it lies.
  const Json other = asked(
      {"matmul", "--in", "tensor<64x32xf32, pyflame.Grid(2, 8)>", "--in", "32x64xf32", "--out", c},
      1);
  EXPECT_GT(other["alternatives"].size(), 0U);
  // Alternatives give the output that was asked.
  EXPECT_EQ(dump(asked({"relu", "--in", kGrid, "--out", "tensor<64x64xf32, pyflame.Grid(2, 8)>"},
                       1)["alternatives"]),
            R"([["tensor<64x64xf32, pyflame.Grid(2, 8)>"]])");
  // Where types follow from the output, none is needed.
  EXPECT_EQ(dump(asked({"add", "--out", kGrid}, 0)["inputs"]),
            "[\"" + kGrid + "\",\"" + kGrid + "\"]");
  EXPECT_EQ(run({"propagate", "matmul", "--out", c, "--json"}).error_code(), "usage");
}

TEST(Propagate, AConvolutionNeedsOneRowOfItsNeighbour) {
  // FACTS 5: 14 output rows need 29 input rows, 28 owned and 1 of halo.
  const std::string rows =
      "tensor<1x3x224x224xf32, native<mesh=[8], {d2} / (28 -> m0, 1 -> mem*224), {d1} / (1 -> "
      "mem*6272), {d3} / (1 -> mem)>>";
  const Json json = asked({"conv", "--in", rows, "--in", "8x3x3x3xf32", "--attr", "strides=2,2",
                           "--attr", "pads=[1, 1, 1, 1]"},
                          0);
  EXPECT_EQ(dump(json["halo"]), "[[0,0],[0,0],[1,0],[0,0]]");
  EXPECT_EQ(json["local"].size(), 2U);
  // One row of 224 columns and 3 channels.
  EXPECT_EQ(dump(json["scratch"]), R"([{"name":"halo of input 0","bytes":2688}])");
  EXPECT_EQ(dump(json["local"][1]["boxes"][0]), R"([{"from":[0,0,27,0],"to":[1,3,56,224]}])");
}

TEST(Propagate, PartialSumsAndMixedNotations) {
  const Json json =
      asked({"matmul", "--in", "tensor<16x8xf32, dtensor<mesh=[2,2], [Shard(0), Shard(1)]>>",
             "--in", "tensor<8x16xf32, dtensor<mesh=[2,2], [Replicate(), Shard(0)]>>"},
            0);
  EXPECT_EQ(dump(json["partial"]), R"([{"output":0,"axis":1,"count":2,"reduction":"sum"}])");
  EXPECT_EQ(dump(json["outputs"]),
            R"(["tensor<16x16xf32, dtensor<mesh=[2,2], [Shard(0), Partial(sum)]>>"])");
  // Device 3 of GSPMD is [1, 1] of the others.
  const Json mixed = asked({"add", "--in", "tensor<16x8xf32, gspmd{devices=[2,2]<=[4]}>", "--in",
                            "tensor<16x8xf32, pyflame.Grid(2, 2)>"},
                           0);
  EXPECT_EQ(dump(mixed["outputs"]), R"(["tensor<16x8xf32, gspmd{devices=[2,2]<=[4]}>"])");
  // What is replicated in a part of the devices stays so in the result.
  const std::string half = "tensor<16x8xf32, gspmd{devices=[2,1,2]<=[4] last_tile_dim_replicate}>";
  EXPECT_EQ(dump(asked({"relu", "--in", half}, 0)["outputs"]), "[\"" + half + "\"]");
}

TEST(Propagate, SharesAreInputsOfLinearOps) {
  const std::string shares = "tensor<16x8xf32, dtensor<mesh=[2,2], [Shard(0), Partial(sum)]>>";
  const Json turned = asked({"transpose", "--in", shares}, 0);
  EXPECT_EQ(dump(turned["outputs"]),
            R"(["tensor<8x16xf32, dtensor<mesh=[2,2], [Shard(1), Partial(sum)]>>"])");
  EXPECT_EQ(dump(turned["partial"]), R"([{"output":0,"axis":1,"count":2,"reduction":"sum"}])");
  EXPECT_EQ(dump(asked({"add", "--in", shares, "--in", shares}, 0)["outputs"]),
            "[\"" + shares + "\"]");
  asked({"add", "--in", shares, "--in", "16x8xf32"}, 1);
  EXPECT_EQ(dump(asked({"matmul", "--in", shares, "--in", "8x4xf32"}, 0)["outputs"]),
            R"(["tensor<16x4xf32, dtensor<mesh=[2,2], [Shard(0), Partial(sum)]>>"])");
  // Columns over the axis of the shares would multiply each share with other columns.
  const Json crossed = asked({"matmul", "--in", shares, "--in",
                              "tensor<8x4xf32, dtensor<mesh=[2,2], [Replicate(), Shard(1)]>>"},
                             1);
  ASSERT_GT(crossed["alternatives"].size(), 0U);
  const Json relu = asked({"relu", "--in", shares}, 1);
  // Reduced and divided once more, or on both.
  EXPECT_EQ(dump(relu["alternatives"]),
            R"([["tensor<16x8xf32, dtensor<mesh=[2,2], [Shard(0), Shard(0)]>>"],)"
            R"(["tensor<16x8xf32, dtensor<mesh=[2,2], [Shard(0), Replicate()]>>"]])");
}

TEST(Propagate, BackwardsToAPartialOutput) {
  const std::string shares = "tensor<16x4xf32, dtensor<mesh=[2,2], [Shard(0), Partial(sum)]>>";
  const Json json = asked({"matmul", "--in", "16x8xf32", "--in", "8x4xf32", "--out", shares}, 0);
  EXPECT_EQ(dump(json["inputs"]),
            R"(["tensor<16x8xf32, dtensor<mesh=[2,2], [Shard(0), Shard(1)]>>",)"
            R"("tensor<8x4xf32, dtensor<mesh=[2,2], [Replicate(), Shard(0)]>>"])");
  EXPECT_EQ(dump(asked({"neg", "--out", shares}, 0)["inputs"]), "[\"" + shares + "\"]");
  asked({"relu", "--out", shares}, 1);
}

TEST(Propagate, ScratchIsStated) {
  const Json matmul = asked(
      {"matmul", "--in", "tensor<64x32xbf16, pyflame.Grid(4, 4, dim_to_pe=[0, -1], replicate=[1])>",
       "--in", "tensor<32x64xbf16, pyflame.Grid(4, 4, dim_to_pe=[-1, 1], replicate=[0])>"},
      0);
  // 16x16 sums in f32.
  EXPECT_EQ(dump(matmul["scratch"]), R"([{"name":"accumulator","bytes":1024}])");
  EXPECT_EQ(matmul["local"][std::size_t{0}]["scratch_bytes"].get<std::int64_t>(), 1024);
  const Json softmax = asked({"softmax", "--in", "tensor<64x64xbf16, pyflame.RowPartition(4)>"}, 0);
  // A maximum in bf16 and a sum in f32 for each of 16 rows.
  EXPECT_EQ(dump(softmax["scratch"]), R"([{"name":"maximum of a row","bytes":32},)"
                                      R"({"name":"sum of a row","bytes":64}])");
}

TEST(Propagate, AttributesHaveTheTypesOfTheTable) {
  EXPECT_EQ(dump(asked({"transpose", "--in", kGrid, "--attr", "perm=[1,0]"}, 0)["outputs"]),
            R"(["tensor<64x64xf32, pyflame.Grid(4, 4, dim_to_pe=[1, 0])>"])");
  EXPECT_EQ(asked({"einsum", "--in", "tensor<64x32xf32, pyflame.RowPartition(4)>", "--in",
                   "32x16xf32", "--attr", "equation=ik,kj->ij"},
                  0)["outputs"]
                .size(),
            1U);
  EXPECT_EQ(asked({"split", "--in", kGrid, "--attr", "sizes=32,32"}, 0)["outputs"].size(), 2U);
  EXPECT_EQ(asked({"clip", "--in", kGrid, "--in", "_", "--in", "f32"}, 0)["inputs"].size(), 3U);
  const Json softmax = asked({"softmax", "--in", kGrid, "--attr", "axis=1"}, 1);
  // 4 rows on each of 16 places, which PyFlame cannot write, or 16 rows on each place of a row.
  ASSERT_EQ(softmax["alternatives"].size(), 2U);
  EXPECT_EQ(dump(softmax["alternative_bytes"]), "[16384,65536]");
  EXPECT_EQ(dump(softmax["alternatives"][std::size_t{1}]),
            R"(["tensor<64x64xf32, pyflame.Grid(4, 4, replicate=[1])>"])");
  asked({"softmax", "--in",
         softmax["alternatives"][std::size_t{0}][std::size_t{0}].get<std::string>(), "--attr",
         "axis=1"},
        0);
}

TEST(Propagate, ATargetMustHoldTheOperands) {
  EXPECT_EQ(asked({"relu", "--in", kGrid, "--target", "wse2"}, 0)["legal"].get<bool>(), true);
  const Json large =
      asked({"relu", "--in", "tensor<4096x4096xf32, pyflame.Grid(4, 4)>", "--target", "wse2"}, 1);
  EXPECT_FALSE(large["legal"].get<bool>());
  EXPECT_EQ(dump(large["outputs"]), "[]");
  asked({"relu", "--in", "tensor<64x64xf32, pyflame.Grid(32, 32)>", "--target", "wormhole"}, 1);
}

TEST(Propagate, BadInputIsNamed) {
  const auto code = [](Words words) {
    words.insert(words.begin(), "propagate");
    words.emplace_back("--json");
    const Answer answer = run(words);
    EXPECT_EQ(answer.status, 2) << answer.out;
    return answer.error_code();
  };
  EXPECT_EQ(code({"matmull", "--in", "3x4xf32"}), "unknown_name");
  EXPECT_EQ(code({"relu"}), "usage");
  EXPECT_EQ(code({"relu", "--in", "3x4xf32"}), "usage");
  EXPECT_EQ(code({"relu", "--in", "3x4xf33"}), "syntax");
  EXPECT_EQ(code({"relu", "--in", "-3x4xf32"}), "bad_shape");
  EXPECT_EQ(code({"add", "--in", kGrid}), "bad_node");
  EXPECT_EQ(code({"softmax", "--in", kGrid, "--attr", "axes=1"}), "unknown_name");
  EXPECT_EQ(code({"softmax", "--in", kGrid, "--attr", "axis"}), "usage");
  EXPECT_EQ(code({"softmax", "--in", kGrid, "--attr", "axis=one"}), "bad_number");
  EXPECT_EQ(code({"softmax", "--in", kGrid, "--attr", "axis=7"}), "bad_node");
  EXPECT_EQ(code({"softmax", "--in", kGrid, "--attr", "axis=1", "--attr", "axis=0"}), "usage");
  EXPECT_EQ(code({"matmul", "--in", kGrid, "--in", "3x4xf32"}), "shape_mismatch");
  EXPECT_EQ(code({"relu", "--in", kGrid, "--out", "tensor<64x65xf32, pyflame.Grid(4, 4)>"}),
            "shape_mismatch");
  EXPECT_EQ(code({"relu", "--in", kGrid, "--out", "tensor<64x64xbf16, pyflame.Grid(4, 4)>"}),
            "bad_dtype");
  EXPECT_EQ(code({"relu", "--in", kGrid, "--out", kGrid, "--out", kGrid}), "usage");
  EXPECT_EQ(code({"relu", "--in", kGrid, "--outputs", "2"}), "usage");
  EXPECT_EQ(code({"relu", "--in", "tensor<4x6xf32, strided<[0, 1]>>"}), "not_supported");
  EXPECT_EQ(code({"opaque", "--in", kGrid}), "not_supported");
  EXPECT_EQ(code({"add", "--in", "tensor<8x8xf32, pyflame.Grid(2, 2, origin=(1, 1))>", "--in",
                  "tensor<8x8xf32, pyflame.Grid(2, 2)>"}),
            "mesh_mismatch");
  // The position in the text of the operand.
  const std::string wrong = "tensor<64x64xf32, pyflam.Grid(4, 4)>";
  const Answer answer = run({"propagate", "relu", "--in", wrong, "--json"});
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.json()["error"]["span"][std::size_t{0}].get<std::size_t>(),
            wrong.find("pyflam"));
}

TEST(Propagate, AnswersBatches) {
  const Answer answer =
      run({"propagate", "--batch"},
          R"({"op": "relu", "in": ")" + kGrid + R"("})" + "\n" + R"({"op": "add", "in": [")" +
              kGrid + R"(", "64x64xf32"]})" + "\n" + R"({"op": "add", "in": [3]})" + "\n" +
              R"({"op": "transpose", "in": ")" + kGrid + R"(", "attr": ["perm=1,0"]})" + "\n");
  EXPECT_EQ(answer.status, 0);
  const std::vector<std::string> lines = answer.lines();
  ASSERT_EQ(lines.size(), 4U) << answer.out;
  EXPECT_TRUE(parsed(lines[0])["legal"].get<bool>());
  EXPECT_EQ(parsed(lines[1])["inputs"].size(), 2U);
  EXPECT_EQ(parsed(lines[2])["error"]["code"].get<std::string>(), "bad_json");
  EXPECT_TRUE(parsed(lines[3])["legal"].get<bool>());
}

}  // namespace
}  // namespace tessera::tools
