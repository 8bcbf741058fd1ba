// SPDX-License-Identifier: Apache-2.0
#include "tessera/pyflame/layout_planner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tessera/pyflame/layout_transform.h"
#include "tessera/testing/generate.h"

namespace tessera::pyflame {
namespace {

using Extents = std::vector<std::int64_t>;
using test::Dice;

LayoutConstraints within(std::size_t bytes) {
  LayoutConstraints constraints;
  constraints.max_memory_per_pe = bytes;
  return constraints;
}

/// The shapes for which the algorithm of the PyFlame document gives nothing, or tiles that are too
/// large, with 32 KB.
TEST(LayoutPlanner, PlansTheShapesThatNeedCare) {
  const LayoutPlanner planner(within(32768));
  for (const Extents& shape : std::vector<Extents>{{181, 181},
                                                   {1048, 1024},
                                                   {16384, 2},
                                                   {65536, 16},
                                                   {100000, 100},
                                                   {512, 64, 64},
                                                   {8388608},
                                                   {64, 3, 224, 224}}) {
    const Result<MeshLayout> layout = planner.plan_layout(shape, DType::kF32);
    ASSERT_TRUE(layout) << layout.error().message;
    EXPECT_TRUE(planner.validate_layout(*layout, shape, DType::kF32));
    EXPECT_LE(*layout->memory_per_pe(shape, 4), 32 * 1024);
    EXPECT_GE(layout->total_pes(), *planner.min_pes_required(shape, DType::kF32));
  }
  // 8388608 f32 are 1024 times 32 KB: more than the 994 PEs of a column.
  EXPECT_EQ(*planner.min_pes_required({8388608}, DType::kF32), 1024);
  const MeshLayout line = *planner.plan_layout({8388608}, DType::kF32);
  EXPECT_EQ(line.dim_to_pe, (std::vector<int>{MeshLayout::kBothAxes}));
  EXPECT_EQ(line.total_pes(), 1024);
  // 1048·1024·4 bytes fill 131 PEs, a prime number.
  EXPECT_EQ(*planner.min_pes_required({1048, 1024}, DType::kF32), 131);
  EXPECT_EQ(*planner.plan_layout({64, 128}, DType::kF32), MeshLayout::SinglePE());
}

/// Every grid and every pair of dims, checked and scored one by one.
TEST(LayoutPlanner, FindsTheBestOfAllGrids) {
  std::uint64_t found = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Dice dice(seed);
    LayoutConstraints constraints = within(static_cast<std::size_t>(dice.between(16, 400)));
    constraints.min_tile_elements = static_cast<std::size_t>(dice.between(1, 6));
    constraints.max_pe_rows = static_cast<std::int32_t>(dice.between(1, 6));
    constraints.max_pe_cols = static_cast<std::int32_t>(dice.between(1, 6));
    constraints.prefer_square_tiles = dice.chance(70);
    Extents shape;
    for (std::int64_t d = dice.between(1, 3); d > 0; --d) shape.push_back(dice.between(1, 20));
    const DType dtype = dice.chance(50) ? DType::kF32 : DType::kBF16;
    const LayoutPlanner planner(constraints);
    std::optional<std::int64_t> fewest;
    double best = std::numeric_limits<double>::infinity();
    const auto rank = static_cast<int>(shape.size());
    for (std::int32_t rows = 1; rows <= 6; ++rows) {
      for (std::int32_t cols = 1; cols <= 6; ++cols) {
        for (int r = -1; r < rank; ++r) {
          for (int c = -1; c < rank; ++c) {
            MeshLayout layout = MeshLayout::Grid(rows, cols);
            layout.dim_to_pe.assign(shape.size(), -1);
            if (c >= 0) layout.dim_to_pe[static_cast<std::size_t>(c)] = 1;
            if (r >= 0) {
              layout.dim_to_pe[static_cast<std::size_t>(r)] = r == c ? MeshLayout::kBothAxes : 0;
            }
            if (!planner.validate_layout(layout, shape, dtype)) continue;
            fewest = std::min(fewest.value_or(layout.total_pes()), layout.total_pes());
            best = std::min(best, *planner.score_layout(layout, shape, dtype));
          }
        }
      }
    }
    const Result<MeshLayout> planned = planner.plan_layout(shape, dtype);
    ASSERT_EQ(planned.ok(), fewest.has_value()) << "seed " << seed;
    const Result<std::int64_t> required = planner.min_pes_required(shape, dtype);
    ASSERT_EQ(required.ok(), fewest.has_value());
    if (!planned) {
      EXPECT_EQ(planned.error().code, ErrorCode::kDoesNotFit);
      continue;
    }
    ++found;
    EXPECT_EQ(*required, *fewest) << "seed " << seed;
    EXPECT_TRUE(planner.validate_layout(*planned, shape, dtype)) << "seed " << seed;
    if (*fewest > 1) {
      EXPECT_DOUBLE_EQ(*planner.score_layout(*planned, shape, dtype), best) << "seed " << seed;
    } else {
      EXPECT_EQ(*planned, MeshLayout::SinglePE());
    }
  }
  EXPECT_GT(found, 80U);
}

TEST(LayoutPlanner, EveryConstraintChangesAResult) {
  const Extents shape = {256, 64};  // 64 KB
  const MeshLayout usual = *LayoutPlanner().plan_layout(shape, DType::kF32);
  const auto planned = [&](const auto& change) {
    LayoutConstraints constraints;
    change(constraints);
    return LayoutPlanner(constraints).plan_layout(shape, DType::kF32);
  };
  EXPECT_EQ(usual, MeshLayout::RowPartition(4));  // 64x64
  EXPECT_EQ(*planned([](LayoutConstraints& c) { c.max_memory_per_pe = 64 * 1024; }),
            MeshLayout::SinglePE());
  EXPECT_FALSE(planned([](LayoutConstraints& c) { c.min_tile_elements = 9217; }));
  EXPECT_EQ(*planned([](LayoutConstraints& c) { c.min_tile_elements = 8192; }),
            MeshLayout::RowPartition(2));
  EXPECT_NE(*planned([](LayoutConstraints& c) { c.max_pe_rows = 3; }), usual);
  MeshLayout turned = MeshLayout::Grid(1, 4);
  turned.dim_to_pe = {1, -1};
  EXPECT_EQ(*planned([](LayoutConstraints& c) { c.max_pe_rows = 1; }), turned);
  EXPECT_EQ(*planned([](LayoutConstraints& c) { c.prefer_square_tiles = false; }),
            MeshLayout::RowPartition(2));
  const auto fails = [&](const auto& change) { return !planned(change).ok(); };
  EXPECT_TRUE(fails([](LayoutConstraints& c) {
    c.max_pe_rows = 1;
    c.max_pe_cols = 1;
  }));
  EXPECT_EQ(*planned([](LayoutConstraints& c) {
               c.max_pe_rows = 1;
               c.max_pe_cols = 3;
             })->memory_per_pe(shape, 4),
            86 * 64 * 4);
}

TEST(LayoutPlanner, ScoresByHand) {
  const LayoutPlanner planner;
  const double on_one = *planner.score_layout(MeshLayout::SinglePE(), {64, 32}, DType::kF32);
  EXPECT_DOUBLE_EQ(on_one, (1 - 8192.0 / 36864) + std::log(2.0));
  // Tiles of 32x32, half as large.
  EXPECT_DOUBLE_EQ(*planner.score_layout(MeshLayout::RowPartition(2), {64, 32}, DType::kF32),
                   1 - 4096.0 / 36864);
  EXPECT_EQ(planner.check_layout(MeshLayout::Grid(995, 1), {1000, 64}, DType::kF32).error().code,
            ErrorCode::kOutOfRange);
  EXPECT_EQ(planner.check_layout(MeshLayout::SinglePE(), {1000, 64}, DType::kF32).error().code,
            ErrorCode::kDoesNotFit);
  EXPECT_EQ(planner.check_layout(MeshLayout::Grid(4, 4), {8, 8}, DType::kF32).error().code,
            ErrorCode::kDoesNotFit);
}

/// y = relu(x·w + b), z = y·v.
struct Mlp {
  ir::Graph graph;
  ir::Node* x = graph.create_input({{8, 32}}, "x");
  ir::Node* w = graph.create_parameter({{32, 16}}, "w");
  ir::Node* b = graph.create_parameter({{16}}, "b");
  ir::Node* v = graph.create_parameter({{16, 24}}, "v");
  ir::Node* h = graph.create_op(ir::OpType::MATMUL, {x, w}, {{8, 16}}, "h");
  ir::Node* sum = graph.create_op(ir::OpType::ADD, {h, b}, {{8, 16}}, "sum");
  ir::Node* y = graph.create_op(ir::OpType::RELU, {sum}, {{8, 16}}, "y");
  ir::Node* z = graph.create_op(ir::OpType::MATMUL, {y, v}, {{8, 24}}, "z");
  Mlp() { graph.add_output(z); }
};

TEST(LayoutPlanner, InputsOfAMatmulAreReplicated) {
  const Mlp mlp;
  MeshLayout rows = MeshLayout::Grid(2, 4);
  rows.replicate = {1};
  MeshLayout cols = MeshLayout::Grid(2, 4);
  cols.replicate = {0};
  const MeshLayout grid = MeshLayout::Grid(2, 4);
  EXPECT_TRUE(get_required_input_layout(*mlp.h, 0, grid)->compatible_with(rows));
  EXPECT_TRUE(get_required_input_layout(*mlp.h, 1, grid)->compatible_with(cols));
  EXPECT_TRUE(get_required_input_layout(*mlp.sum, 0, grid)->compatible_with(grid));
  // A bias lies along the columns, and each PE row has it.
  MeshLayout bias = MeshLayout::Grid(2, 4);
  bias.dim_to_pe = {1};
  bias.replicate = {0};
  EXPECT_TRUE(get_required_input_layout(*mlp.sum, 1, grid)->compatible_with(bias));
  EXPECT_FALSE(get_required_input_layout(*mlp.x, 0, grid));
}

/// Every input of every op is in the layout that it requires.
void expect_in_place(const ir::Graph& graph) {
  for (const ir::Node* const node : graph.topological_order()) {
    if (!node->is_operation() || node->op_type() == ir::OpType::LAYOUT_TRANSFORM) continue;
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      const auto required = get_required_input_layout(*node, i, node->output_spec().layout);
      ASSERT_TRUE(required) << required.error().message;
      EXPECT_FALSE(
          LayoutTransformer::needs_transform(node->inputs()[i]->output_spec().layout, *required))
          << node->name() << " input " << i;
    }
  }
}

TEST(LayoutPlanner, TransformsAreInsertedOnceForAllConsumers) {
  Mlp mlp;
  ir::Node* const g = mlp.graph.create_op(ir::OpType::MATMUL, {mlp.x, mlp.w}, {{8, 16}}, "g");
  mlp.graph.add_output(g);
  std::map<ir::NodeId, MeshLayout> layouts;
  for (const ir::Node* const node : mlp.graph.topological_order()) {
    layouts[node->id()] = node->is_operation() ? MeshLayout::Grid(2, 4) : MeshLayout::SinglePE();
  }
  const std::size_t before = mlp.graph.size();
  const Result<std::size_t> inserted = insert_transforms(mlp.graph, layouts);
  ASSERT_TRUE(inserted) << inserted.error().message;
  // x, w (for h and g), b, v, and y from its grid to rows.
  EXPECT_EQ(*inserted, 5U);
  EXPECT_EQ(mlp.graph.size(), before + 5);
  EXPECT_EQ(mlp.h->inputs()[0], g->inputs()[0]);
  EXPECT_EQ(mlp.h->inputs()[0]->op_type(), ir::OpType::LAYOUT_TRANSFORM);
  EXPECT_EQ(mlp.h->inputs()[0]->metadata().at("transform_type"),
            static_cast<int>(
                LayoutTransformer::create_transform(
                    MeshLayout::SinglePE(), mlp.h->inputs()[0]->output_spec().layout, {8, 32})
                    ->type));
  expect_in_place(mlp.graph);
  EXPECT_TRUE(mlp.graph.lower());
  layouts.erase(mlp.x->id());
  EXPECT_EQ(insert_transforms(mlp.graph, layouts).error().code, ErrorCode::kBadGraph);
}

/// An op that cannot make its result in the layout of its node makes it in another, from which a
/// transform takes it to what reads it and to the output.
TEST(LayoutPlanner, TransformsFollowAnOpThatCannotMakeTheLayout) {
  MeshLayout turned = MeshLayout::Grid(2, 4);
  turned.dim_to_pe = {1, 0};
  const std::vector<MeshLayout> targets = {MeshLayout::SinglePE(),      MeshLayout::Grid(2, 4),
                                           MeshLayout::Grid(3, 2),      MeshLayout::RowPartition(5),
                                           MeshLayout::ColPartition(8), turned};
  int others = 0;
  for (const MeshLayout& of_x : targets) {
    for (const MeshLayout& target : targets) {
      for (const ir::OpType op :
           {ir::OpType::SOFTMAX, ir::OpType::RESHAPE, ir::OpType::TRANSPOSE}) {
        ir::Graph graph;
        const std::vector<std::int64_t> shape = op == ir::OpType::SOFTMAX
                                                    ? std::vector<std::int64_t>{12, 10}
                                                    : std::vector<std::int64_t>{10, 12};
        ir::Node* const x = graph.create_input({{12, 10}}, "x");
        ir::Node* const s = graph.create_op(op, {x}, {shape}, "s");
        if (op == ir::OpType::TRANSPOSE) {
          s->set_attribute("perm", std::vector<std::int64_t>{1, 0});
        }
        ir::Node* const y = graph.create_op(ir::OpType::RELU, {s}, {shape}, "y");
        graph.add_output(s);
        graph.add_output(y);
        const bool can_make = get_required_input_layout(*s, 0, target).ok();
        const Result<std::size_t> inserted =
            insert_transforms(graph, {{x->id(), of_x}, {s->id(), target}, {y->id(), target}});
        ASSERT_TRUE(inserted) << inserted.error().message;
        expect_in_place(graph);
        EXPECT_TRUE(graph.lower());
        for (const ir::Node* const output : graph.outputs()) {
          EXPECT_TRUE(output->output_spec().layout.compatible_with(target));
        }
        if (can_make) continue;
        ++others;
        EXPECT_EQ(graph.outputs()[0]->op_type(), ir::OpType::LAYOUT_TRANSFORM);
        EXPECT_EQ(y->inputs()[0], graph.outputs()[0]);
      }
    }
  }
  EXPECT_GT(others, 0);
}

/// Plans an MLP, and makes it run on that.
void expect_planned(const LayoutConstraints& constraints) {
  const LayoutPlanner planner(constraints);
  Mlp mlp;
  const auto layouts = planner.plan_graph_layouts(mlp.graph);
  ASSERT_TRUE(layouts) << layouts.error().message;
  EXPECT_EQ(layouts->size(), mlp.graph.size());
  for (const ir::Node* const node : mlp.graph.topological_order()) {
    const ir::TensorSpec& spec = node->output_spec();
    const Status status = planner.check_layout(layouts->at(node->id()), spec.shape, spec.dtype);
    EXPECT_TRUE(status) << node->name();
  }
  const Result<std::size_t> inserted = insert_transforms(mlp.graph, *layouts);
  ASSERT_TRUE(inserted) << inserted.error().message;
  expect_in_place(mlp.graph);
  EXPECT_TRUE(mlp.graph.lower());
}

TEST(LayoutPlanner, PlansAGraphTogether) {
  LayoutConstraints constraints = within(8192);
  constraints.max_pe_rows = 4;
  constraints.max_pe_cols = 4;
  constraints.min_tile_elements = 4;
  expect_planned(constraints);
  constraints.min_tile_elements = 64;  // what is divided further is planned alone
  expect_planned(constraints);
}

TEST(LayoutPlanner, PlansAGraphOnAWafer) { expect_planned({}); }

}  // namespace
}  // namespace tessera::pyflame
