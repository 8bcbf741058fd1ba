// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/default_layouts.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tessera/graph/builder.h"
#include "tessera/run/execute.h"
#include "tessera/testing/run/run_law.h"

namespace tessera::run {
namespace {

using Inputs = std::map<std::string, test::NaiveTensor>;

void give(Inputs& inputs, const std::string& name, std::vector<std::int64_t> shape, int step) {
  test::NaiveTensor tensor{{*Shape::make(std::move(shape)), DType::kF32}, {}};
  for (std::int64_t i = 0; i < tensor.type.shape.elements(); ++i) {
    tensor.elements.push_back(static_cast<long double>(i * step % 17) / 8 - 1);
  }
  inputs[name] = std::move(tensor);
}

/// What differs from the naive evaluator, or "".
std::string mistake(const Execution& made, const graph::Graph& graph, const Inputs& inputs) {
  std::map<std::string, HostTensor> given;
  for (const auto& [name, tensor] : inputs) given[name] = test::host_tensor(tensor);
  ThreadPool pool(2);
  const auto device = device_for(made, /*checked=*/true);
  if (!device) return device.error().message;
  const Result<RunResult> result = execute(made, **device, given, pool);
  if (!result) return result.error().message;
  const auto expected = test::naive_evaluate(graph, inputs);
  if (!expected) return "cannot be evaluated";
  std::string wrong;
  for (std::size_t o = 0; o < expected->size(); ++o) {
    wrong += test::apart(test::naive_of(result->outputs[o]), (*expected)[o],
                         test::tolerance_of(DType::kF32));
  }
  return wrong;
}

/// A layout of all of the tensor on one place of a mesh.
Layout on_place(const std::vector<std::int64_t>& shape, std::int64_t row, std::int64_t col) {
  const Layout flat = *Layout::row_major(*Shape::make(shape), DType::kF32);
  LayoutSpec spec = flat.spec();
  spec.form.mesh = *Shape::make({row + 1, col + 1});
  spec.form.fills = {Fill::fixed(0, row), Fill::fixed(1, col)};
  return *Layout::make(std::move(spec));
}

/// Rows 40 to 47 of 64 rows of 16 on place [0, 0], made on place [1, 1]: all rows are 4096 bytes,
/// those that are read 512.
TEST(DefaultLayouts, BringNoMoreThanIsReadWhereAllDoesNotFit) {
  graph::GraphBuilder builder("part");
  const graph::ValueId x = *builder.input("x", {64, 16});
  using Integers = std::vector<std::int64_t>;
  (void)builder.output(
      *builder.add("slice", {x},
                   {{"starts", Integers{40}}, {"ends", Integers{48}}, {"axes", Integers{0}}}, "y"));
  const graph::Graph graph = std::move(builder).finish();
  Inputs inputs;
  give(inputs, "x", {64, 16}, 3);
  const std::vector<Layout> layouts = {on_place({64, 16}, 0, 0), on_place({8, 16}, 1, 1)};
  const auto roomy = compile(graph, test::small_machine({2, 2}, 8192), layouts);
  ASSERT_TRUE(roomy) << roomy.error().message;
  EXPECT_FALSE(roomy->steps[0].inputs[0]->part);
  const auto tight = compile(graph, test::small_machine({2, 2}, 4352), layouts);
  ASSERT_TRUE(tight) << tight.error().message;
  ASSERT_TRUE(tight->steps[0].inputs[0]->part);
  EXPECT_EQ(tight->steps[0].inputs[0]->part->count, 8);
  EXPECT_EQ(tight->spaces[0].peak_bytes, 4096);
  EXPECT_EQ(mistake(*roomy, graph, inputs), "");
  EXPECT_EQ(mistake(*tight, graph, inputs), "");
}

/// Two heads with 64 keys of 16: keys and values of a head are 8192 bytes, which no place has.
TEST(DefaultLayouts, WriteAttentionWithSimplerOpsWhereItDoesNotFit) {
  graph::GraphBuilder builder("heads");
  Inputs inputs;
  std::vector<graph::ValueId> operands;
  for (const char* const name : {"q", "k", "v"}) {
    operands.push_back(*builder.input(name, {1, 2, 64, 16}));
    give(inputs, name, {1, 2, 64, 16}, static_cast<int>(operands.size()) + 4);
  }
  (void)builder.output(*builder.add("attention", operands, {}, "y"));
  const graph::Graph graph = std::move(builder).finish();
  const auto roomy = compile_with_defaults(graph, test::small_machine({32, 32}, 65536), {});
  ASSERT_TRUE(roomy) << roomy.error().message;
  EXPECT_EQ(roomy->graph.nodes.size(), 1U);
  const auto tight = compile_with_defaults(graph, test::small_machine({32, 32}, 4096), {});
  ASSERT_TRUE(tight) << tight.error().message;
  EXPECT_GT(tight->graph.nodes.size(), 1U);
  EXPECT_EQ(tight->graph.outputs, graph.outputs);
  EXPECT_LE(tight->spaces[0].peak_bytes, 4096);
  EXPECT_EQ(mistake(*roomy, graph, inputs), "");
  EXPECT_EQ(mistake(*tight, graph, inputs), "");
}

}  // namespace
}  // namespace tessera::run
