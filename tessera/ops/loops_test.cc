// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/loops.h"

#include <gtest/gtest.h>

#include <string>

#include "tessera/testing/ops/loops_law.h"
#include "tessera/testing/ops/random_calls.h"

namespace tessera::ops {
namespace {

using test::Dice;
using test::OpCase;

std::string loops_text(std::string_view op, std::vector<std::vector<std::int64_t>> shapes,
                       const graph::Attributes& attributes = {}) {
  std::vector<graph::TensorType> types;
  for (auto& extents : shapes) types.push_back({*Shape::make(std::move(extents)), DType::kF32});
  std::vector<const graph::TensorType*> inputs;
  for (const graph::TensorType& type : types) inputs.push_back(&type);
  const graph::Call call(*graph::Op::find(op), inputs, attributes, 1);
  const Result<graph::Types> outputs = graph::infer(call);
  if (!outputs) return outputs.error().message;
  const Result<Loops> loops = loops_of(call, *outputs);
  return loops ? loops->to_string() : loops.error().message;
}

TEST(Loops, AreTheRulesOfTheLiterature) {
  EXPECT_EQ(loops_text("matmul", {{2, 4}, {4, 3}}),
            "([i, k], [k, j]) -> [i, j], i=2, k=4 reduce sum, j=3");
  // FACTS: 6x4 -> 4x6 is ([i j], [m n]) -> ([i k], [l n]) with i=2, j=3, k=2, l=3, m=n=2.
  EXPECT_EQ(loops_text("reshape", {{6, 4}}, {{"shape", std::vector<std::int64_t>{4, 6}}}),
            "([3·a + b, 2·c + f]) -> [2·a + d, 2·e + f], a=2, b=3 whole, c=2 whole, d=2 whole, "
            "e=3 whole, f=2");
  EXPECT_EQ(loops_text("conv", {{1, 3, 224, 224}, {8, 3, 3, 3}},
                       {{"strides", std::vector<std::int64_t>{2, 2}},
                        {"pads", std::vector<std::int64_t>{1, 1, 1, 1}}}),
            "([n, c, 2·d + e - 1, 2·f + g - 1], [o, c, e, g]) -> [n, o, d, f], n=1, o=8, "
            "c=3 reduce sum, d=112, e=3 reduce sum, f=112, g=3 reduce sum");
  EXPECT_EQ(loops_text("softmax", {{2, 5}}), "([a, b]) -> [a, b], a=2, b=5 whole");
}

TEST(Loops, EveryOpObeysTheLaw) {
  std::uint64_t cases = 0;
  for (const std::string_view op : test::ops_with_loops()) {
    for (std::uint64_t seed = 0; seed < test::tries(100); ++seed) {
      Dice dice(seed * 977 + 5);
      const OpCase made = test::random_call(dice, op);
      const Result<graph::Types> outputs = made.infer();
      ASSERT_TRUE(outputs) << made.text() << ": " << outputs.error().message;
      const auto types = made.types();
      const graph::Call call(made.op, types, made.attributes, made.outputs);
      const Result<Loops> loops = loops_of(call, *outputs);
      ASSERT_TRUE(loops) << made.text() << ": " << loops.error().message;
      const std::string wrong = test::loops_law(dice, made, *loops);
      EXPECT_EQ(wrong, "") << made.text() << "\n" << loops->to_string() << " seed " << seed;
      if (!wrong.empty()) break;
      ++cases;
    }
  }
  EXPECT_GT(cases, test::tries(10000));
}

TEST(Loops, AnOpenOpHasNone) {
  const graph::Call call(*graph::Op::find("opaque"), {}, graph::Attributes{}, 0);
  const Result<Loops> loops = loops_of(call, {});
  ASSERT_FALSE(loops);
  EXPECT_EQ(loops.error().code, ErrorCode::kNotSupported);
}

}  // namespace
}  // namespace tessera::ops
