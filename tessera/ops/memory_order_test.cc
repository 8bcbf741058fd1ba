// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/memory_order.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tessera/base/text.h"
#include "tessera/notation/tensor.h"
#include "tessera/ops/propagate.h"
#include "tessera/ops/shares_of_sums.h"
#include "tessera/testing/ops/loops_law.h"
#include "tessera/testing/ops/random_calls.h"

namespace tessera::ops {
namespace {

/// The layout in which an op leaves its output, as native text; or why it is not legal.
std::string output_of(std::string_view op, const std::vector<std::string>& ins,
                      const graph::Attributes& attributes = {}) {
  graph::Types types;
  Question question;
  for (const std::string& text : ins) {
    const Result<Tensor> tensor = parse_tensor(text);
    EXPECT_TRUE(tensor) << text;
    if (!tensor) return "";
    question.inputs.emplace_back(*tensor->placement.layout());
    types.push_back({tensor->shape(), tensor->dtype()});
  }
  std::vector<const graph::TensorType*> inputs;
  for (const graph::TensorType& type : types) inputs.push_back(&type);
  const graph::Call call(*graph::Op::find(op), inputs, attributes, 1);
  question.call = &call;
  const Result<Answer> answer = propagate(question);
  EXPECT_TRUE(answer) << answer.error().message;
  if (!answer) return "";
  return answer->legal ? print_native(answer->outputs[0]) : answer->reason;
}

std::string native(const std::string& text) {
  const Result<Tensor> tensor = parse_tensor(text);
  EXPECT_TRUE(tensor) << text;
  return tensor ? print_native(*tensor->placement.layout()) : "";
}

const std::string kTiles =
    "tensor<64x96xbf16, native<mesh=[2], {d0} / (32 -> m0, 32 -> mem*3072 !tile, 1#32 -> mem*32), "
    "{d1} / (32 -> mem*1024, 1 -> mem), atom=tile(32x32, bf16), space=l1>>";
const std::string kSticks =
    "tensor<512x256xf16, spyre<device_size=[4, 512, 64], dim_map=[1, 0, 1]>>";

TEST(MemoryOrder, ElementwiseOpsKeepTilesAndSticks) {
  EXPECT_EQ(output_of("relu", {kTiles}), native(kTiles));
  EXPECT_EQ(output_of("relu", {kSticks}), native(kSticks));
  // The operand with the most dims decides, and a dim that is broadcast cannot.
  EXPECT_EQ(output_of("add", {"tensor<256xf16, strided<[1]>>", kSticks}), native(kSticks));
}

TEST(MemoryOrder, DimsMoveAsTheOpMovesThem) {
  EXPECT_EQ(output_of("transpose", {kSticks}),
            native("tensor<256x512xf16, spyre<device_size=[4, 512, 64], dim_map=[0, 1, 0]>>"));
  const graph::Attributes rows = {{"axes", std::vector<std::int64_t>{0}},
                                  {"keepdims", std::int64_t{0}}};
  EXPECT_EQ(output_of("reduce_sum", {kSticks}, rows),
            native("tensor<256xf16, spyre<device_size=[4, 64], dim_map=[0, 0]>>"));
  // Rows stay rows.
  EXPECT_EQ(output_of("transpose", {"tensor<6x8xf32, strided<[8, 1]>>"}),
            native("tensor<8x6xf32, strided<[6, 1]>>"));
  EXPECT_EQ(output_of("softmax", {"tensor<6x8xf32, strided<[1, 6]>>"}),
            native("tensor<6x8xf32, strided<[1, 6]>>"));
}

TEST(MemoryOrder, ProductsOfTilesAreTiled) {
  const std::string right =
      "tensor<96x40xbf16, native<mesh=[2], {d0} / (32 -> mem*2048, 1 -> mem*32), {d1} / (32 -> "
      "mem*1024, 1 -> mem), replicate(m0), atom=tile(32x32, bf16), space=l1>>";
  const std::string made = output_of("matmul", {kTiles, right});
  EXPECT_NE(made.find("atom=tile(32x32, bf16)"), std::string::npos) << made;
  const Result<Tensor> tensor = parse_tensor(made);
  ASSERT_TRUE(tensor) << made;
  // 32 rows and 40 columns on each place: two tiles.
  EXPECT_EQ(tensor->placement.layout()->slots(), 2 * 1024);
  EXPECT_EQ(tensor->placement.layout()->locate({33, 33})->slot, 1024 + 32 + 1);
}

TEST(SharesOfSums, RunWhereTheEvaluatorAddsUp) {
  using test::Dice;
  std::uint64_t runs = 0;
  for (const std::string_view op : test::ops_with_loops()) {
    for (std::uint64_t seed = 0; seed < test::tries(40); ++seed) {
      Dice dice(seed * 31 + 5);
      const test::OpCase made = test::random_call(dice, op);
      const auto types = made.types();
      const graph::Call call(made.op, types, made.attributes, made.outputs);
      std::vector<std::vector<bool>> markings = {shares_that_do(call, Reduction::kSum)};
      for (std::size_t i = 0; i < call.inputs(); ++i) {
        markings.emplace_back(call.inputs(), false);
        markings.back()[i] = true;
      }
      const auto whole = made.evaluate();
      for (const std::vector<bool>& partial : markings) {
        if (partial.empty() || !runs_on_shares(call, partial, Reduction::kSum)) continue;
        test::OpCase first = made;
        test::OpCase second = made;
        for (std::size_t i = 0; i < partial.size(); ++i) {
          if (!partial[i] || !made.inputs[i]) continue;
          for (std::size_t e = 0; e < made.inputs[i]->elements.size(); ++e) {
            first.inputs[i]->elements[e] = static_cast<long double>(dice.between(-3, 3));
            second.inputs[i]->elements[e] -= first.inputs[i]->elements[e];
          }
        }
        const auto a = first.evaluate();
        const auto b = second.evaluate();
        ASSERT_TRUE(whole && a && b) << made.text();
        for (std::size_t e = 0; e < (*whole)[0].elements.size(); ++e) {
          if (!std::isfinite((*whole)[0].elements[e])) continue;
          const long double sum = (*a)[0].elements[e] + (*b)[0].elements[e];
          ASSERT_TRUE(test::is_close(sum, (*whole)[0].elements[e])) << made.text();
        }
        ++runs;
      }
    }
  }
  EXPECT_GT(runs, test::tries(700));
}

}  // namespace
}  // namespace tessera::ops
