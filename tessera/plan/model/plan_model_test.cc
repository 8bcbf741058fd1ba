// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tessera/graph/builder.h"
#include "tessera/plan/model/validate_plan.h"
#include "tessera/testing/plan/plan_law.h"

namespace tessera::plan {
namespace {

using test::small_wafer;

const std::vector<std::pair<std::int64_t, std::int64_t>> kMeshes = {{1, 1}, {2, 2}, {2, 3}, {4, 4}};

/// y = relu(x·w + b).
graph::Graph layer(std::int64_t rows = 8, std::int64_t k = 32, std::int64_t columns = 16) {
  graph::GraphBuilder builder("layer");
  const auto x = *builder.input("x", {rows, k});
  const auto w = *builder.parameter("w", {k, columns});
  const auto b = *builder.parameter("b", {columns});
  const auto h = *builder.add("matmul", {x, w}, {}, "h");
  const auto a = *builder.add("add", {h, b}, {}, "a");
  const auto y = *builder.add("relu", {a}, {}, "y");
  (void)builder.output(y);
  return std::move(builder).finish();
}

TEST(PlanModel, IsNeverSlowerThanTheDefaultOrAGreedyChoice) {
  const graph::Graph graph = layer(32, 64, 48);
  for (const auto& [rows, cols] : kMeshes) {
    const auto plan = plan_model(graph, small_wafer(rows, cols, 1 << 20));
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_EQ(plan->baselines.size(), 3U);
    for (const Baseline& each : plan->baselines) {
      ASSERT_TRUE(each.cycles) << each.name;
      EXPECT_LE(plan->cycles, *each.cycles + 0.1) << each.name;
    }
    EXPECT_GE(plan->cycles + 0.1, plan->lower_bound_cycles);
  }
}

/// A matmul [4096, 4]·[4, 4] on 4x4 places: the rows are the work, 4096/16 of them on each place,
/// 256·4·4 multiply-adds; 4096·4 of an elementwise op on 16 places.
TEST(PlanModel, DividesLongRowsOverBothAxes) {
  const auto plan = plan_model(layer(4096, 4, 4), small_wafer(4, 4));
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->ops[0].compute_cycles, 256 * 4 * 4);
  EXPECT_EQ(plan->ops[1].compute_cycles, 4096 * 4 / 16);
  EXPECT_EQ(plan->cycles, 256 * 4 * 4 + 2 * 4096 * 4 / 16);
  EXPECT_EQ(plan->moves, 0);
}

TEST(PlanModel, KeepsWithinMemoryOrSaysWhatIsMissing) {
  const graph::Graph graph = layer(32, 64, 48);  // x 8 KB, w 12 KB, each result 6 KB
  const auto roomy = plan_model(graph, small_wafer(2, 2));
  ASSERT_TRUE(roomy);
  for (const std::int64_t bytes : {16384, 12288, 9216}) {
    const Machine machine = small_wafer(2, 2, bytes);
    const auto plan = plan_model(graph, machine);
    if (!plan) {
      EXPECT_EQ(plan.error().code, ErrorCode::kDoesNotFit) << plan.error().message;
      continue;
    }
    EXPECT_LE(plan->spaces[0].peak_bytes, bytes);
    EXPECT_GE(plan->cycles + 0.1, roomy->lower_bound_cycles);
    EXPECT_TRUE(validate(*plan, graph, machine).empty());
  }
  EXPECT_TRUE(plan_model(graph, small_wafer(2, 2, 16384)));
}

TEST(PlanModel, NeedsLessMemoryIfAsked) {
  const graph::Graph graph = layer(32, 64, 48);
  const Machine machine = small_wafer(2, 2);
  const auto fast = plan_model(graph, machine);
  PlanOptions options;
  options.objective = Objective::kMemory;
  const auto small = plan_model(graph, machine, options);
  ASSERT_TRUE(fast);
  ASSERT_TRUE(small) << small.error().message;
  EXPECT_LT(small->spaces[0].peak_bytes, fast->spaces[0].peak_bytes);
  EXPECT_GE(small->cycles + 0.1, fast->cycles);
  EXPECT_TRUE(validate(*small, graph, machine).empty());
}

/// Graphs whose prices once depended on the mesh that all layouts of a plan have in common (415: a
/// slice, whose operand reached beyond the places that work), and whose ops share moves that were
/// priced for another.
TEST(PlanModel, IsTheBestByThePricesThatARunPredicts) {
  for (const std::uint64_t seed : {415, 130, 317, 486, 519, 737}) {
    test::PlanLawCounts counts;
    EXPECT_EQ(test::best_plan_mistake(seed, counts), "") << seed;
    EXPECT_GT(counts.choices, 0) << seed;
  }
}

TEST(PlanModel, HonoursPinsOrRefusesThem) {
  const graph::Graph graph = layer();
  const Machine machine = small_wafer(2, 2);
  PlanOptions options;
  options.pins.resize(graph.values.size());
  options.pins[3] = *Layout::row_major(graph.values[3].type.shape, DType::kF32);
  const auto plan = plan_model(graph, machine, options);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->layouts[3].mesh().elements(), 1);
  EXPECT_GE(plan->cycles + 0.1, plan_model(graph, machine)->cycles);
  options.pins[3] = *Layout::row_major(graph.values[0].type.shape, DType::kF32);
  EXPECT_EQ(plan_model(graph, machine, options).error().code, ErrorCode::kShapeMismatch);
}

TEST(PlanModel, NamesEveryOpThatCannotBePlanned) {
  graph::GraphBuilder builder("opaque");
  const auto x = *builder.input("x", {4});
  const graph::TensorType type = builder.type(x);
  const auto y = builder.add_node("first", "opaque", {x}, {"y"}, {}, {type});
  ASSERT_TRUE(y) << y.error().message;
  const auto r = *builder.add("relu", {(*y)[0]});
  const auto z = builder.add_node("second", "opaque", {r}, {"z"}, {}, {type});
  ASSERT_TRUE(z) << z.error().message;
  (void)builder.output((*z)[0]);
  const auto plan = plan_model(std::move(builder).finish(), small_wafer(2, 2));
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::kNotSupported);
  for (const char* const name : {"opaque", "first", "second"}) {
    EXPECT_NE(plan.error().message.find(name), std::string::npos) << plan.error().message;
  }
}

/// Each of these pins can be kept, but not both: x and w on one place each, of 8 and 12 KB.
TEST(PlanModel, RefusesPinsThatDoNotFitTogether) {
  const graph::Graph graph = layer(32, 64, 48);
  const Machine machine = small_wafer(4, 4, 20400);
  for (const std::vector<std::size_t>& pinned :
       std::vector<std::vector<std::size_t>>{{0}, {1}, {0, 1}}) {
    PlanOptions options;
    options.pins.resize(graph.values.size());
    for (const std::size_t v : pinned) {
      options.pins[v] = *Layout::row_major(graph.values[v].type.shape, DType::kF32);
    }
    const auto plan = plan_model(graph, machine, options);
    if (pinned.size() == 1) {
      EXPECT_TRUE(plan) << plan.error().message;
    } else {
      ASSERT_FALSE(plan);
      EXPECT_EQ(plan.error().code, ErrorCode::kDoesNotFit) << plan.error().message;
    }
  }
}

/// A plan with one thing changed is found to be wrong, by the right name.
TEST(ValidatePlan, FindsEveryFlaw) {
  const graph::Graph graph = layer();
  const Machine machine = small_wafer(2, 2);
  const auto right = plan_model(graph, machine);
  ASSERT_TRUE(right);
  EXPECT_TRUE(validate(*right, graph, machine).empty());
  const auto flaws_of = [&](const auto& change) {
    ModelPlan plan = *right;
    change(plan);
    std::vector<PlanFlaw> flaws;
    for (const PlanFinding& finding : validate(plan, graph, machine)) {
      flaws.push_back(finding.flaw);
    }
    return flaws;
  };
  const auto has = [&](PlanFlaw flaw, const auto& change) {
    const std::vector<PlanFlaw> flaws = flaws_of(change);
    EXPECT_NE(std::ranges::find(flaws, flaw), flaws.end()) << flaw_name(flaw);
  };
  has(PlanFlaw::kOtherModel, [](ModelPlan& plan) { plan.model_hash = "0"; });
  has(PlanFlaw::kOtherTarget, [](ModelPlan& plan) { plan.target_hash = "0"; });
  has(PlanFlaw::kWrongCount, [](ModelPlan& plan) { plan.ops.pop_back(); });
  has(PlanFlaw::kWrongCount, [](ModelPlan& plan) { plan.layouts.pop_back(); });
  has(PlanFlaw::kWrongLayout, [](ModelPlan& plan) { std::swap(plan.layouts[0], plan.layouts[1]); });
  has(PlanFlaw::kOverlap, [](ModelPlan& plan) { plan.buffers[1].offset = plan.buffers[2].offset; });
  has(PlanFlaw::kTooMuchMemory, [](ModelPlan& plan) { plan.buffers[0].offset = 36864; });
  has(PlanFlaw::kTooMuchMemory, [](ModelPlan& plan) { plan.buffers[0].offset = -16; });
  has(PlanFlaw::kTooMuchMemory, [](ModelPlan& plan) { plan.buffers[0].bytes += 16; });
  has(PlanFlaw::kTooMuchMemory, [](ModelPlan& plan) { plan.buffers[0].places.to[0] = 0; });
  has(PlanFlaw::kDoesNotRun, [](ModelPlan& plan) { std::swap(plan.ops[0], plan.ops[2]); });
  has(PlanFlaw::kWrongPrice, [](ModelPlan& plan) { plan.ops[0].compute_cycles += 1; });
  has(PlanFlaw::kWrongSum, [](ModelPlan& plan) { plan.cycles += 1; });
  has(PlanFlaw::kWrongBound, [](ModelPlan& plan) { plan.lower_bound_cycles = plan.cycles + 1; });
}

TEST(ExecutionOf, RefusesOtherModelsAndMachines) {
  const graph::Graph graph = layer();
  const auto plan = plan_model(graph, small_wafer(2, 2));
  ASSERT_TRUE(plan);
  EXPECT_TRUE(execution_of(*plan, graph, small_wafer(2, 2)));
  EXPECT_EQ(execution_of(*plan, layer(16), small_wafer(2, 2)).error().code,
            ErrorCode::kContradiction);
  EXPECT_EQ(execution_of(*plan, graph, small_wafer(2, 3)).error().code, ErrorCode::kContradiction);
}

}  // namespace
}  // namespace tessera::plan
