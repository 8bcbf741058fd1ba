// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tessera/graph/builder.h"
#include "tessera/notation/tensor.h"
#include "tessera/run/default_layouts.h"
#include "tessera/run/execute.h"
#include "tessera/testing/run/run_law.h"

namespace tessera::run {
namespace {

Layout layout_of(const std::string& text) {
  const Result<Tensor> tensor = parse_tensor(text);
  EXPECT_TRUE(tensor) << text;
  return tensor->layout();
}

/// y = matmul(x, w) of [8, 16] and [16, 4], w a parameter without elements.
graph::Graph product(DType dtype = DType::kF32) {
  graph::GraphBuilder builder("product");
  const graph::ValueId x = *builder.input("x", {8, 16}, dtype);
  const graph::ValueId w = *builder.parameter("w", {16, 4}, dtype);
  (void)builder.output(*builder.add("matmul", {x, w}, {}, "y"));
  return std::move(builder).finish();
}

HostTensor ones(const graph::TensorType& type) {
  test::NaiveTensor tensor{type, {}};
  tensor.elements.assign(static_cast<std::size_t>(type.shape.elements()), 1);
  return test::host_tensor(tensor);
}

std::vector<Layout> product_layouts() {
  return {layout_of("tensor<8x16xf32, pyflame.Grid(2, 3)>"),
          layout_of("tensor<16x4xf32, pyflame.Grid(2, 2)>"),
          layout_of("tensor<8x4xf32, pyflame.RowPartition(2)>")};
}

TEST(RunErrors, LayoutsOfOtherTensorsAreNamed) {
  const graph::Graph graph = product();
  const Machine machine = test::small_machine({2, 3});
  std::vector<Layout> layouts = product_layouts();
  layouts[1] = layout_of("tensor<16x5xf32, pyflame.Grid(2, 2)>");
  const auto shape = compile(graph, machine, layouts);
  ASSERT_FALSE(shape);
  EXPECT_EQ(shape.error().code, ErrorCode::kShapeMismatch);
  EXPECT_NE(shape.error().message.find("'w'"), std::string::npos);
  layouts[1] = layout_of("tensor<16x4xf16, pyflame.Grid(2, 2)>");
  const auto dtype = compile(graph, machine, layouts);
  ASSERT_FALSE(dtype);
  EXPECT_EQ(dtype.error().code, ErrorCode::kBadDType);
  layouts.pop_back();
  ASSERT_FALSE(compile(graph, machine, layouts));
}

TEST(RunErrors, LayoutsThatTheMachineDoesNotHaveAreNamed) {
  const graph::Graph graph = product();
  const Machine machine = test::small_machine({2, 3});
  std::vector<Layout> layouts = product_layouts();
  layouts[0] = layout_of("tensor<8x16xf32, pyflame.Grid(4, 2)>");
  const auto places = compile(graph, machine, layouts);
  ASSERT_FALSE(places);
  EXPECT_EQ(places.error().code, ErrorCode::kMeshTooSmall);
  EXPECT_NE(places.error().message.find("4 places along axis 0"), std::string::npos)
      << places.error().message;
  layouts[0] = layout_of("tensor<8x16xf32, gspmd{devices=[4,1]<=[4]}>");
  const auto rank = compile(graph, machine, layouts);
  ASSERT_FALSE(rank);
  EXPECT_EQ(rank.error().code, ErrorCode::kMeshMismatch);
}

TEST(RunErrors, WhatDoesNotFitNamesTensorsAndBytes) {
  const graph::Graph graph = product();
  const Result<Machine> machine = parse_machine(
      R"({"name": "tiny", "mesh": [2, 3], "memory": [{"name": "sram", "bytes": 256}]})");
  ASSERT_TRUE(machine);
  const auto made = compile(graph, *machine, product_layouts());
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::kDoesNotFit);
  EXPECT_NE(made.error().message.find("256"), std::string::npos) << made.error().message;
  const auto none = compile_with_defaults(graph, *machine, {});
  EXPECT_FALSE(none && none->spaces[0].peak_bytes > 256);
}

TEST(RunErrors, InputsThatAreMissingOrOfAnotherTypeAreNamed) {
  const graph::Graph graph = product();
  const auto made = compile(graph, test::small_machine({2, 3}), product_layouts());
  ASSERT_TRUE(made) << made.error().message;
  ThreadPool pool(1);
  const auto code_of = [&](const std::map<std::string, HostTensor>& given) {
    const auto device = device_for(*made, true);
    EXPECT_TRUE(device);
    const auto result = execute(*made, **device, given, pool);
    EXPECT_EQ((*device)->use().buffers, 0);
    return result ? std::string("fine") : std::string(code_name(result.error().code));
  };
  const HostTensor x = ones({*Shape::make({8, 16}), DType::kF32});
  const HostTensor w = ones({*Shape::make({16, 4}), DType::kF32});
  EXPECT_EQ(code_of({{"x", x}, {"w", w}}), "fine");
  EXPECT_EQ(code_of({{"x", x}}), "bad_graph");
  EXPECT_EQ(code_of({{"w", w}}), "bad_graph");
  EXPECT_EQ(code_of({{"x", x}, {"w", w}, {"z", w}}), "bad_graph");
  EXPECT_EQ(code_of({{"x", w}, {"w", w}}), "shape_mismatch");
  EXPECT_EQ(code_of({{"x", ones({*Shape::make({8, 16}), DType::kF64})}, {"w", w}}), "bad_dtype");
  HostTensor cut = x;
  cut.bytes.pop_back();
  EXPECT_EQ(code_of({{"x", cut}, {"w", w}}), "contradiction");
}

TEST(RunErrors, NodesRunOnlyAfterWhatTheyRead) {
  graph::GraphBuilder builder("chain");
  const graph::ValueId x = *builder.input("x", {4});
  const graph::ValueId a = *builder.add("relu", {x});
  (void)builder.output(*builder.add("neg", {a}));
  const graph::Graph graph = std::move(builder).finish();
  const std::vector<Layout> layouts(graph.values.size(),
                                    layout_of("tensor<4xf32, pyflame.SinglePE()>"));
  const Machine machine = test::small_machine({1, 1});
  EXPECT_TRUE(compile(graph, machine, layouts, {{0, 1}}));
  const auto turned = compile(graph, machine, layouts, {{1, 0}});
  ASSERT_FALSE(turned);
  EXPECT_EQ(turned.error().code, ErrorCode::kBadGraph);
  EXPECT_FALSE(compile(graph, machine, layouts, {{0, 0}}));
}

TEST(RunErrors, NumbersThatAreNotPassThrough) {
  const graph::Graph graph = product();
  const auto made = compile(graph, test::small_machine({2, 3}), product_layouts());
  ASSERT_TRUE(made);
  test::NaiveTensor x{{*Shape::make({8, 16}), DType::kF32}, std::vector<long double>(128, 1)};
  x.elements[17] = NAN;  // row 1
  ThreadPool pool(1);
  const auto device = device_for(*made, true);
  const auto result = execute(
      *made, **device,
      {{"x", test::host_tensor(x)}, {"w", ones({*Shape::make({16, 4}), DType::kF32})}}, pool);
  ASSERT_TRUE(result) << result.error().message;
  const test::NaiveTensor y = test::naive_of(result->outputs[0]);
  for (std::size_t e = 0; e < y.elements.size(); ++e) {
    EXPECT_EQ(std::isnan(y.elements[e]), e / 4 == 1) << e;
  }
}

/// x [2, 64] by columns over 4 places and y on one: every place has a share of all of y.
TEST(Shares, OfNarrowFloatsAreKeptWide) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    graph::GraphBuilder builder("sum");
    const graph::ValueId x = *builder.input("x", {2, 64}, dtype);
    (void)builder.output(
        *builder.add("reduce_sum", {x},
                     {{"axes", std::vector<std::int64_t>{1}}, {"keepdims", std::int64_t{0}}}, "y"));
    const graph::Graph graph = std::move(builder).finish();
    const std::string type(dtype_name(dtype));
    const std::vector<Layout> layouts = {
        layout_of("tensor<2x64x" + type + ", pyflame.ColPartition(4)>"),
        layout_of("tensor<2x" + type + ", pyflame.SinglePE()>")};
    const auto made = compile(graph, test::small_machine({1, 4}), layouts);
    ASSERT_TRUE(made) << made.error().message;
    ASSERT_EQ(made->steps.size(), 1U);
    EXPECT_EQ(made->buffers[made->steps[0].results[0]].layout.dtype(), DType::kF32);
    // 256 and 63 ones: bf16 has no number between 256 and 258, so narrow shares would lose.
    test::NaiveTensor numbers{graph.values[0].type, std::vector<long double>(128, 1)};
    numbers.elements[0] = 256;
    ThreadPool pool(2);
    const auto device = device_for(*made, true);
    const auto result = execute(*made, **device, {{"x", test::host_tensor(numbers)}}, pool);
    ASSERT_TRUE(result) << result.error().message;
    const test::NaiveTensor y = test::naive_of(result->outputs[0]);
    EXPECT_EQ(static_cast<double>(y.elements[0]), dtype == DType::kF16 ? 319 : 320);
    EXPECT_EQ(static_cast<double>(y.elements[1]), 64);
    EXPECT_GT(result->steps[0].messages, 0);
  }
}

TEST(Execution, ReadsOperandsWhereTheyAreIfItCan) {
  graph::GraphBuilder builder("in place");
  const graph::ValueId x = *builder.input("x", {8, 8});
  const graph::ValueId b = *builder.input("b", {8});
  (void)builder.output(*builder.add("add", {x, b}, {}, "y"));
  const graph::Graph graph = std::move(builder).finish();
  const std::string grid = "tensor<8x8xf32, pyflame.Grid(2, 2)>";
  const std::string along = "tensor<8xf32, pyflame.Grid(2, 2, dim_to_pe=[1], replicate=[0])>";
  const Result<Tensor> bias = parse_tensor(along);
  ASSERT_TRUE(bias) << bias.error().message;
  const auto made = compile(graph, test::small_machine({2, 2}),
                            {layout_of(grid), bias->layout(), layout_of(grid)});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->buffers.size(), graph.values.size());
  EXPECT_TRUE(made->steps[0].bring.empty());
  EXPECT_TRUE(made->steps[0].settle.empty());
  EXPECT_EQ(made->steps[0].results, (std::vector<BufferNumber>{2}));
}

/// x [5] in blocks of 2 leaves place 3 without a block. It computes y[6], which reads x[4].
TEST(Execution, BringsHalosBehindTheLastBlock) {
  graph::GraphBuilder builder("wide");
  const graph::ValueId x = *builder.input("x", {1, 1, 5});
  const graph::ValueId w = *builder.input("w", {1, 1, 3});
  (void)builder.output(
      *builder.add("conv", {x, w}, {{"pads", std::vector<std::int64_t>{2, 2}}}, "y"));
  const graph::Graph graph = std::move(builder).finish();
  const std::string blocks = "xf32, pyflame.Grid(1, 4, dim_to_pe=[-1, -1, 1], replicate=[0])>";
  const std::string everywhere =
      "tensor<1x1x3xf32, pyflame.Grid(1, 4, dim_to_pe=[-1, -1, -1], replicate=[0, 1])>";
  const auto made = compile(graph, test::small_machine({1, 4}),
                            {layout_of("tensor<1x1x5" + blocks), layout_of(everywhere),
                             layout_of("tensor<1x1x7" + blocks)});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_NE(made->steps[0].inputs[0]->extended, nullptr);
  test::NaiveTensor numbers{graph.values[0].type, {1, 2, 3, 4, 5}};
  ThreadPool pool(2);
  const auto device = device_for(*made, true);
  const auto result = execute(
      *made, **device,
      {{"x", test::host_tensor(numbers)}, {"w", ones({*Shape::make({1, 1, 3}), DType::kF32})}},
      pool);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(test::naive_of(result->outputs[0]).elements,
            (std::vector<long double>{1, 3, 6, 9, 12, 9, 5}));
}

}  // namespace
}  // namespace tessera::run
