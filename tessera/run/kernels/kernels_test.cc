// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tessera/run/kernels/kernel.h"
#include "tessera/testing/run/kernel_law.h"

namespace tessera::run {
namespace {

using test::Dice;
using test::OpCase;

TEST(Kernels, EveryOpOfTheTableHasOne) {
  for (const std::string_view op : test::ops_with_loops()) EXPECT_TRUE(has_kernel(op)) << op;
  EXPECT_FALSE(has_kernel("opaque"));
}

TEST(Kernels, PartsOfEveryOpGiveTheWhole) {
  std::uint64_t cases = 0;
  for (const std::string_view op : test::ops_with_loops()) {
    for (std::uint64_t seed = 0; seed < test::tries(200); ++seed) {
      Dice dice(seed * 1013 + 7);
      const OpCase made = test::random_call(dice, op);
      const Result<graph::Types> outputs = made.infer();
      ASSERT_TRUE(outputs) << made.text();
      const auto types = made.types();
      const graph::Call call(made.op, types, made.attributes, made.outputs);
      const Result<ops::Loops> loops = ops::loops_of(call, *outputs);
      ASSERT_TRUE(loops) << made.text();
      const std::string wrong = test::kernel_law(dice, made, *loops);
      EXPECT_EQ(wrong, "") << made.text() << "\n" << loops->to_string() << " seed " << seed;
      if (!wrong.empty()) break;
      ++cases;
    }
  }
  EXPECT_GE(cases, test::tries(20'000));
}

/// One task that does all of a call on f32 tensors.
struct Whole {
  std::vector<graph::TensorType> types;
  std::vector<std::vector<float>> inputs;

  Status run(std::string_view op, const graph::Attributes& attributes, std::vector<float>& out) {
    std::vector<const graph::TensorType*> list;
    for (const graph::TensorType& type : types) list.push_back(&type);
    const graph::Call call(*graph::Op::find(op), list, attributes, 1);
    TESSERA_TRY(const graph::Types outputs, graph::infer(call));
    TESSERA_TRY(const ops::Loops loops, ops::loops_of(call, outputs));
    TESSERA_TRY(const Shape iterations, loops.iterations());
    const auto tile = [](const Shape& shape, void* data) {
      return Tile{static_cast<std::byte*>(data), Box::whole(shape), shape.row_major_strides()};
    };
    Task task{&call, &outputs, &loops, {Box::whole(iterations)}, {}, {}};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      task.inputs.push_back(tile(types[i].shape, inputs[i].data()));
    }
    out.resize(static_cast<std::size_t>(outputs[0].shape.elements()));
    task.results.push_back(tile(outputs[0].shape, out.data()));
    return perform(task);
  }
};

graph::TensorType f32(std::vector<std::int64_t> extents) {
  return {*Shape::make(std::move(extents)), DType::kF32};
}

TEST(Kernels, NumbersThatAreNotPassThrough) {
  Whole whole{{f32({4})}, {{1, NAN, -2, INFINITY}}};
  std::vector<float> out;
  ASSERT_TRUE(whole.run("relu", {}, out));
  EXPECT_EQ(out[0], 1);
  EXPECT_TRUE(std::isnan(out[1]));
  EXPECT_EQ(out[2], 0);
  EXPECT_TRUE(std::isinf(out[3]));
  ASSERT_TRUE(whole.run("reduce_max", {}, out));
  EXPECT_TRUE(std::isnan(out[0]));
}

TEST(Kernels, LargeNumbersDoNotOverflowInside) {
  Whole whole{{f32({3})}, {{1000, 0, -1000}}};
  std::vector<float> out;
  ASSERT_TRUE(whole.run("softmax", {}, out));
  EXPECT_EQ(out, (std::vector<float>{1, 0, 0}));
  ASSERT_TRUE(whole.run("softplus", {}, out));
  EXPECT_EQ(out[0], 1000);
  EXPECT_EQ(out[2], 0);
  ASSERT_TRUE(whole.run("reduce_log_sum_exp", {}, out));
  EXPECT_EQ(out[0], 1000);
}

TEST(Kernels, APositionOutsideTheTableIsNamed) {
  const graph::TensorType indices{*Shape::make({1}), DType::kI64};
  std::vector<std::int64_t> position = {7};
  const graph::TensorType table = f32({3, 2});
  const std::vector<const graph::TensorType*> types = {&table, &indices};
  const graph::Attributes none;
  const graph::Call call(*graph::Op::find("gather"), types, none, 1);
  const Result<graph::Types> outputs = graph::infer(call);
  ASSERT_TRUE(outputs);
  const Result<ops::Loops> loops = ops::loops_of(call, *outputs);
  ASSERT_TRUE(loops);
  std::vector<float> rows(6);
  std::vector<float> out(2);
  const auto tile = [](const Shape& shape, void* data) {
    return Tile{static_cast<std::byte*>(data), Box::whole(shape), shape.row_major_strides()};
  };
  const Task task{&call,
                  &*outputs,
                  &*loops,
                  {Box::whole(*loops->iterations())},
                  {tile(table.shape, rows.data()), tile(indices.shape, position.data())},
                  {tile((*outputs)[0].shape, out.data())}};
  const Status status = perform(task);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kOutOfRange);
  EXPECT_NE(status.error().message.find('7'), std::string::npos);
}

}  // namespace
}  // namespace tessera::run
