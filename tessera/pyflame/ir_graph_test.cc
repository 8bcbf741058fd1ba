// SPDX-License-Identifier: Apache-2.0
#include "tessera/pyflame/ir_graph.h"

#include <gtest/gtest.h>

#include "tessera/pyflame/pe_memory_planner.h"
#include "tessera/testing/memory/pe_graphs.h"

namespace tessera::pyflame {
namespace {

/// A matmul and an addition, with the layouts that PyFlame's document gives them.
struct Linear {
  ir::Graph graph;
  ir::Node* x;
  ir::Node* w;
  ir::Node* product;
  ir::Node* sum;

  Linear() {
    const MeshLayout grid = MeshLayout::Grid(2, 2);
    x = graph.create_input({{8, 16}, DType::kF32, grid}, "x");
    w = graph.create_parameter({{16, 4}, DType::kF32, grid}, "w");
    product = graph.create_op(ir::OpType::MATMUL, {x, w}, {{8, 4}, DType::kF32, grid}, "product");
    sum = graph.create_op(ir::OpType::ADD, {product, product}, {{8, 4}, DType::kF32, grid});
    graph.add_output(sum);
  }
};

TEST(IrGraph, LowersToTheOneGraph) {
  const Linear linear;
  const Result<graph::Graph> lowered = linear.graph.lower();
  ASSERT_TRUE(lowered) << lowered.error().message;
  EXPECT_TRUE(graph::check(*lowered));
  EXPECT_EQ(graph::to_string(*lowered),
            "graph\n  x: input f32[8, 16]\n  w: parameter f32[16, 4]\n"
            "  product: f32[8, 4] = matmul(x, w)\n  node_3: f32[8, 4] = add(product, product)\n"
            "  outputs node_3\n");
}

/// A transform that is created last and inserted before the op that needs it.
TEST(IrGraph, InsertsTransforms) {
  Linear linear;
  ir::TensorSpec spec = linear.x->output_spec();
  spec.layout = MeshLayout::Grid(2, 1);
  ir::Node* const transform =
      linear.graph.create_op(ir::OpType::LAYOUT_TRANSFORM, {linear.x}, spec, "transform_0");
  transform->set_metadata("transform_type", 3);
  linear.product->replace_input(0, transform);
  const std::vector<ir::Node*> order = linear.graph.topological_order();
  ASSERT_EQ(order.size(), 5U);
  EXPECT_EQ(order[2], transform);
  EXPECT_EQ(order[3], linear.product);
  EXPECT_TRUE(transform->is_operation());
  EXPECT_FALSE(linear.x->is_operation());
  EXPECT_EQ(transform->metadata().at("transform_type"), 3);
  const Result<graph::Graph> lowered = linear.graph.lower();
  ASSERT_TRUE(lowered) << lowered.error().message;
  EXPECT_EQ(lowered->nodes[0].op.name(), "layout_transform");
  EXPECT_EQ(linear.graph.layouts().at(2), MeshLayout::Grid(2, 1));

  transform->replace_input(0, linear.sum);
  EXPECT_EQ(linear.graph.lower().error().code, ErrorCode::kBadGraph);
}

TEST(IrGraph, SpecsMustBeWhatTheOpGives) {
  Linear linear;
  linear.graph.create_op(ir::OpType::SUM, {linear.sum}, {{8, 4}});
  const Result<graph::Graph> lowered = linear.graph.lower();
  ASSERT_FALSE(lowered);
  EXPECT_EQ(lowered.error().code, ErrorCode::kShapeMismatch);
}

/// The planner takes the same graph: what it plans is derived by graph::program_of.
TEST(IrGraph, IsPlannedAsAPEGraph) {
  const Linear linear;
  const graph::Graph lowered = *linear.graph.lower();
  const PEGraph planned = PEGraph::of(lowered);
  ASSERT_EQ(planned.tensors(), lowered.values.size());
  EXPECT_TRUE(planned.program().values.back().output);
  const PEMemoryPlanner planner(small_machine(4096));
  const MemoryPlan plan = planner.plan(planned, linear.graph.layouts());
  EXPECT_TRUE(plan.valid);
}

}  // namespace
}  // namespace tessera::pyflame
