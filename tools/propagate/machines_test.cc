// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/testing/ops/machine_tensors.h"
#include "tools/testing/command_testing.h"

/// What the kernels of machines allow, asked through the command with tensors as their makers
/// write them.
namespace tessera::tools {
namespace {

using test::block;
using test::dense;
using test::dram;
using test::height;
using test::l1_interleaved;
using test::row_major;
using test::sparse;
using test::width;
using Words = std::vector<std::string>;

struct Call {
  std::string op;
  Words inputs;
  std::string out;  ///< empty: not asked
  Words attributes;
};

Json asked(const std::string& target, const Call& call) {
  Words words = {"propagate", call.op, "--target", target, "--json"};
  for (const std::string& input : call.inputs) words.insert(words.end(), {"--in", input});
  if (!call.out.empty()) words.insert(words.end(), {"--out", call.out});
  for (const std::string& text : call.attributes) words.insert(words.end(), {"--attr", text});
  const Answer answer = run(words);
  EXPECT_NE(answer.status, 2) << answer.out << answer.err;
  const Json json = answer.json();
  EXPECT_EQ(answer.status == 0, json["legal"].get<bool>()) << answer.out;
  return json;
}

/// The rule that allows the call, or "no: " and the one that does not; "factors" where the loops
/// refuse what the rules allow.
std::string rule_of(const std::string& target, const Call& call) {
  const Json json = asked(target, call);
  std::string rule = json["rule"].get<std::string>();
  if (json["legal"].get<bool>()) return rule;
  const bool by_rule = json["reason"].get<std::string>().starts_with("predicate '" + rule + "'");
  return by_rule ? "no: " + rule : "factors";
}

/// Without the spaces, of which makers write different numbers.
std::string plain(std::string text) {
  std::erase(text, ' ');
  return text;
}

void expect_output(const std::string& target, const Call& call, const std::string& expected) {
  const Json json = asked(target, call);
  ASSERT_EQ(json["outputs"].size(), 1U) << dump(json);
  EXPECT_EQ(plain(json["outputs"][std::size_t{0}].get<std::string>()), plain(expected));
}

TEST(PropagateOnTtnn, TheFiveFormsOfMatmul) {
  const std::string weights = dram(512, 256);
  const auto form = [&](const std::string& a, const std::string& c) {
    return rule_of("wormhole", {"matmul", {a, weights}, c, {}});
  };
  EXPECT_EQ(form(dram(256, 512), dram(256, 256)), "matmul interleaved");
  EXPECT_EQ(form(block(256, 512, 4, 4), block(256, 256, 4, 4)), "matmul block");
  EXPECT_EQ(form(width(256, 512, 8), width(256, 256, 8)), "matmul width");
  EXPECT_EQ(form(dram(256, 512), width(256, 256, 8)), "matmul width");
  EXPECT_EQ(form(height(256, 512, 8), height(256, 256, 8)), "matmul height");
  EXPECT_EQ(
      rule_of("wormhole",
              {"matmul", {width(32, 512, 8), width(512, 256, 8, "dram")}, width(32, 256, 8), {}}),
      "matmul decode");
  // And what they exclude.
  EXPECT_EQ(form(height(256, 512, 8), dram(256, 256)), "no: matmul interleaved");
  EXPECT_EQ(form(dram(256, 512), l1_interleaved(256, 256)), "no: matmul interleaved");
  EXPECT_EQ(form(block(256, 512, 4, 4), block(256, 256, 2, 4)), "no: matmul block");
  EXPECT_EQ(form(height(256, 512, 8), width(256, 256, 8)), "no: matmul width");
  EXPECT_EQ(form(dram(256, 512), height(256, 256, 8)), "no: matmul height");
  EXPECT_EQ(rule_of("wormhole", {"matmul", {dram(256, 512), height(512, 256, 8)}, "", {}}),
            "no: matmul weights");
  EXPECT_EQ(rule_of("wormhole", {"matmul", {row_major(256, 512), weights}, "", {}}),
            "no: matmul tiled");
}

TEST(PropagateOnTtnn, OutputsAreTiledAndOfTheKindThatKernelsMake) {
  const std::string weights = dram(512, 256);
  const auto expect_product = [&](const std::string& a, const std::string& c) {
    expect_output("wormhole", {"matmul", {a, weights}, "", {}}, c);
  };
  expect_product(dram(256, 512), dram(256, 256));
  expect_product(height(256, 512, 8), height(256, 256, 8));
  expect_product(width(256, 512, 8), width(256, 256, 8));
  expect_product(block(256, 512, 4, 4), block(256, 256, 4, 4));
  expect_output("wormhole", {"relu", {height(256, 64, 8)}, "", {}}, height(256, 64, 8));
  expect_output("wormhole", {"add", {height(256, 64, 8), dram(256, 64)}, "", {}},
                height(256, 64, 8));
  expect_output("wormhole", {"softmax", {height(256, 64, 8)}, "", {}}, height(256, 64, 8));
  expect_output("wormhole", {"rms_norm", {width(256, 256, 8)}, "", {}}, width(256, 256, 8));
  expect_output("wormhole", {"transpose", {height(256, 64, 8)}, "", {}}, dram(64, 256));
}

TEST(PropagateOnTtnn, WhatKernelsBringIsSaid) {
  const Json json = asked("wormhole", {"matmul", {block(256, 512, 4, 4), dram(512, 256)}, "", {}});
  EXPECT_EQ(dump(json["brought"]),
            R"(["multicast along mesh axis 1","read by all places from dram"])");
  // 64 rows and 64 columns of the output on each core, added up in f32; a shard of A is under way.
  EXPECT_EQ(dump(json["scratch"]),
            R"([{"name":"accumulator","bytes":16384},{"name":"panel of input 0","bytes":16384}])");
  EXPECT_EQ(json["local"][std::size_t{0}]["count"].get<std::int64_t>(), 16);
  // Interleaved operands are divided by the kernel alone.
  const Json all = asked("wormhole", {"relu", {dram(256, 64)}, "", {}});
  EXPECT_EQ(dump(all["work"]), "null");
  EXPECT_EQ(dump(all["local"]), "[]");
}

TEST(PropagateOnTtnn, AlternativesAreLegalAndPriced) {
  const Json json = asked("wormhole", {"matmul", {dram(256, 512), height(512, 256, 8)}, "", {}});
  ASSERT_GT(json["alternatives"].size(), 0U);
  double before = 0;
  for (std::size_t a = 0; a < json["alternatives"].size(); ++a) {
    const Json& inputs = json["alternatives"][a];
    EXPECT_EQ(rule_of("wormhole", {"matmul",
                                   {inputs[std::size_t{0}].get<std::string>(),
                                    inputs[std::size_t{1}].get<std::string>()},
                                   "",
                                   {}})
                  .find("no"),
              std::string::npos);
    const double seconds = json["alternative_seconds"][a].get<double>();
    EXPECT_GE(seconds, before);
    before = seconds;
  }
  EXPECT_EQ(json["alternatives"][std::size_t{0}][std::size_t{0}].get<std::string>(),
            dram(256, 512));
}

TEST(PropagateOnTtnn, InputsWithoutLayoutsGetOneThatKernelsKnow) {
  const Json json = asked("wormhole", {"matmul", {height(256, 512, 8), "512x256xbf16"}, "", {}});
  EXPECT_EQ(plain(json["inputs"][std::size_t{1}].get<std::string>()), plain(dram(512, 256)));
  const Json back =
      asked("wormhole", {"matmul", {"256x512xbf16", "512x256xbf16"}, height(256, 256, 8), {}});
  EXPECT_EQ(plain(back["inputs"][std::size_t{0}].get<std::string>()), plain(height(256, 512, 8)));
}

TEST(PropagateOnSpyre, MatmulReductionsAndTransposes) {
  expect_output("spyre", {"matmul", {dense("512x256"), dense("256x128")}, "", {}},
                "tensor<512x128xf16, spyre<device_size=[2, 512, 64], dim_map=[1, 0, 1]>>");
  EXPECT_EQ(rule_of("spyre", {"matmul", {dense("512x256", "[1, 0]"), dense("256x128")}, "", {}}),
            "no: matmul sticks");
  const Words rows = {"axes=[0]", "keepdims=0"};
  const Words columns = {"axes=[1]", "keepdims=0"};
  EXPECT_EQ(rule_of("spyre", {"reduce_sum", {dense("512x256")}, "", columns}), "reduce stick dim");
  EXPECT_EQ(rule_of("spyre", {"reduce_sum", {dense("512x256")}, sparse("512"), columns}),
            "reduce stick dim");
  EXPECT_EQ(rule_of("spyre", {"reduce_sum", {dense("512x256")}, dense("512"), columns}),
            "no: reduce stick dim");
  EXPECT_EQ(rule_of("spyre", {"reduce_sum", {dense("512x256")}, "", rows}), "reduce other dim");
  expect_output("spyre", {"reduce_sum", {dense("512x256")}, "", rows},
                "tensor<256xf16, spyre<device_size=[4, 64], dim_map=[0, 0]>>");
  // A transpose is a view: sticks move with their dim.
  expect_output("spyre", {"transpose", {dense("512x256")}, "", {}},
                "tensor<256x512xf16, spyre<device_size=[4, 512, 64], dim_map=[0, 1, 0]>>");
  EXPECT_EQ(rule_of("spyre", {"transpose", {dense("512x256")}, dense("256x512"), {}}),
            "no: transpose");
  EXPECT_EQ(rule_of("spyre", {"layout_transform", {dense("8x64")}, sparse("8x64"), {}}),
            "no: restickify");
  // The output has the layout of the operand of the largest rank.
  expect_output("spyre", {"add", {dense("256"), dense("512x256")}, "", {}}, dense("512x256"));
}

TEST(PropagateOnSpyre, ARefusalOffersRestickified) {
  const Json json = asked("spyre", {"add", {dense("512x256"), dense("512x256", "[1, 0]")}, "", {}});
  EXPECT_FALSE(json["legal"].get<bool>());
  ASSERT_GT(json["alternatives"].size(), 1U);
  for (const Json& inputs : json["alternatives"]) {
    EXPECT_EQ(rule_of("spyre", {"add",
                                {inputs[std::size_t{0}].get<std::string>(),
                                 inputs[std::size_t{1}].get<std::string>()},
                                "",
                                {}}),
              "elementwise");
  }
}

TEST(PropagateOnSpyre, CoresDivideOutputDimsInWholeSticks) {
  const auto work = [](const Call& call) { return dump(asked("spyre", call)["work"]); };
  // 512 rows by 32; 2 sticks are left whole.
  EXPECT_EQ(work({"matmul", {dense("512x256"), dense("256x128")}, "", {}}),
            R"(["i over mesh axis 0, 16 on each"])");
  // 8 sticks of 64 columns come before 6 rows; 4 cores are left for these, of which 3 divide 6.
  EXPECT_EQ(work({"relu", {dense("6x512")}, "", {}}),
            R"(["b over mesh axis 0, 64 on each","a over mesh axis 0 (every 8), 2 on each"])");
  // Only a matmul divides what is summed: k has 4 sticks.
  EXPECT_EQ(work({"matmul", {dense("8x256"), dense("256x64")}, "", {}}),
            R"(["i over mesh axis 0, 1 on each","k over mesh axis 0 (every 8), 64 on each"])");
  EXPECT_EQ(work({"reduce_sum", {dense("8x256")}, "", {"axes=[1]"}}),
            R"(["a over mesh axis 0, 1 on each"])");
  // Tensors that are divided already.
  const auto on = [](const std::string& cores) {
    return cat("tensor<512x256xf16, spyre<device_size=[4, 512, 64], dim_map=[1, 0, 1], cores=[",
               cores, "]>>");
  };
  expect_output("spyre", {"relu", {on("2, 4, 1")}, "", {}}, on("2, 4, 1"));
  EXPECT_EQ(rule_of("spyre", {"relu", {on("3, 1, 1")}, "", {}}), "no: core division");
  EXPECT_EQ(rule_of("spyre", {"relu", {on("1, 3, 1")}, "", {}}), "no: core division");
  EXPECT_EQ(rule_of("spyre", {"reduce_sum", {on("2, 1, 1")}, "", {"axes=[1]"}}),
            "no: core division");
  EXPECT_EQ(rule_of("spyre", {"matmul", {on("1, 8, 1"), dense("256x128")}, "", {}}), "matmul");
}

const std::string kPanelA = "tensor<64x32xf32, pyflame.Grid(4, 4)>";
const std::string kPanelB = "tensor<32x16xf32, pyflame.Grid(4, 4)>";

TEST(PropagateOnWafer, PanelsAreMulticast) {
  // Without a machine, k must be on the place; with one, panels travel along rows and columns.
  EXPECT_EQ(run({"propagate", "matmul", "--in", kPanelA, "--in", kPanelB}).status, 1);
  const Json json = asked("wse2", {"matmul", {kPanelA, kPanelB}, "", {}});
  EXPECT_EQ(json["rule"].get<std::string>(), "matmul panels");
  EXPECT_EQ(dump(json["outputs"]), R"(["tensor<64x16xf32, pyflame.Grid(4, 4)>"])");
  EXPECT_EQ(dump(json["brought"]),
            R"(["multicast along mesh axis 1","multicast along mesh axis 0"])");
  // A piece of 16x8 of A and one of 8x4 of B.
  EXPECT_EQ(dump(json["scratch"]), R"([{"name":"panel of input 0","bytes":512},)"
                                   R"({"name":"panel of input 1","bytes":128}])");
  EXPECT_EQ(
      rule_of(
          "wse2",
          {"matmul", {"tensor<64x32xf32, pyflame.Grid(4, 4, dim_to_pe=[1, 0])>", kPanelB}, "", {}}),
      "no: matmul panels");
}

TEST(PropagateOnWafer, SoftmaxExchangesStatistics) {
  EXPECT_EQ(run({"propagate", "softmax", "--in", kPanelA}).status, 1);
  EXPECT_EQ(rule_of("wse2", {"softmax", {kPanelA}, "", {}}), "exchanged statistics");
  expect_output("wse2", {"softmax", {kPanelA}, "", {}}, kPanelA);
  EXPECT_EQ(rule_of("wse2", {"rms_norm", {kPanelA}, "", {"axis=0"}}), "no: whole dim");
}

TEST(PropagateOnWafer, AlternativesOfTheSeedsMatmulAreLegalOnTheMachine) {
  // PyFlame document 5.1: A by rows on column 0, B by columns on row 0.
  const Json json = asked("wse2", {"matmul",
                                   {"tensor<64x32xf32, pyflame.RowPartition(4)>",
                                    "tensor<32x16xf32, pyflame.ColPartition(4)>"},
                                   "",
                                   {}});
  EXPECT_FALSE(json["legal"].get<bool>());
  ASSERT_GT(json["alternatives"].size(), 0U);
  bool panels = false;
  for (const Json& inputs : json["alternatives"]) {
    const std::string a = inputs[std::size_t{0}].get<std::string>();
    const std::string b = inputs[std::size_t{1}].get<std::string>();
    EXPECT_EQ(rule_of("wse2", {"matmul", {a, b}, "", {}}), "matmul panels") << a << " " << b;
    panels = panels || (a == kPanelA && b == kPanelB);
  }
  EXPECT_TRUE(panels) << dump(json["alternatives"]);
}

}  // namespace
}  // namespace tessera::tools
