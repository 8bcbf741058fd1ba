// SPDX-License-Identifier: Apache-2.0
// What is known of good plans, whatever the figures of a machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/graph/builder.h"
#include "tessera/notation/tensor.h"
#include "tessera/plan/model/model_plan.h"
#include "tessera/run/execution.h"
#include "tessera/run/predict.h"
#include "tessera/testing/plan/plan_law.h"

namespace tessera::plan {
namespace {

/// y = relu(x·a)·b, the two products of a transformer's feed-forward part. Values: x, a, b, h, r,
/// y.
graph::Graph feed_forward(std::int64_t rows, std::int64_t width, std::int64_t wide) {
  graph::GraphBuilder builder("feed_forward");
  const auto x = *builder.input("x", {rows, width});
  const auto a = *builder.parameter("a", {width, wide});
  const auto b = *builder.parameter("b", {wide, width});
  const auto h = *builder.add("matmul", {x, a}, {}, "h");
  const auto r = *builder.add("relu", {h}, {}, "r");
  const auto y = *builder.add("matmul", {r, b}, {}, "y");
  (void)builder.output(y);
  return std::move(builder).finish();
}

/// What it takes with every value in blocks over as many places as there are, and work that
/// follows.
double on_all_places(const graph::Graph& graph, std::int64_t side) {
  std::vector<Layout> layouts;
  for (const graph::Value& value : graph.values) {
    const Shape& shape = value.type.shape;
    const auto tensor =
        parse_tensor(cat("tensor<", shape[0], "x", shape[1], "xf32, pyflame.Grid(",
                         std::min(side, shape[0]), ", ", std::min(side, shape[1]), ")>"));
    if (!tensor) return 0;
    layouts.push_back(*tensor->placement.layout());
  }
  const auto execution = run::compile(graph, test::small_wafer(side, side, 1 << 20), layouts);
  if (!execution) return 0;
  const auto cycles = run::predict(*execution);
  return cycles ? run::total_cycles(*cycles).value_or(0) : 0;
}

/// The most places that work on an op.
std::int64_t places_of(const ModelPlan& plan) {
  std::int64_t most = 1;
  for (const PlannedOp& op : plan.ops) {
    most = std::max(most, op.work ? op.work->form().mesh.elements() : 1);
  }
  return most;
}

/// One token has less work than moving it costs; 256 tokens gain from more places.
TEST(PlanTrends, ADecodeStepLosesOnManyPlacesAndPrefillGains) {
  const graph::Graph decode = feed_forward(1, 16, 32);
  const graph::Graph prefill = feed_forward(256, 16, 32);
  const Machine few = test::small_wafer(4, 4, 1 << 20);
  const Machine many = test::small_wafer(32, 32, 1 << 20);
  EXPECT_GT(on_all_places(decode, 32), on_all_places(decode, 4));
  EXPECT_LT(on_all_places(prefill, 32), on_all_places(prefill, 4));
  const auto planned_decode = plan_model(decode, many);
  const auto planned_prefill = plan_model(prefill, many);
  ASSERT_TRUE(planned_decode) << planned_decode.error().message;
  ASSERT_TRUE(planned_prefill) << planned_prefill.error().message;
  EXPECT_LT(places_of(*planned_decode), places_of(*planned_prefill));
  EXPECT_LE(planned_decode->cycles, on_all_places(decode, 4) + 0.1);
  EXPECT_LT(planned_prefill->cycles, plan_model(prefill, few)->cycles);
}

/// Four devices in a ring with so much memory each. A message takes 1000 cycles and its bytes over
/// 32 per cycle.
Machine ring_of_four(std::int64_t bytes) {
  const auto machine = target::parse_machine(cat(R"({
    "name": "ring",
    "mesh": [{
      "name": "devices", "extents": [4], "axes": ["device"],
      "links": {"network": "ring", "ways": ["both"], "hop_cycles": 1, "bits_per_cycle": 256},
      "mechanisms": [
        {"name": "write", "overhead_cycles": 1000, "issue_cycles": 1, "bytes_per_cycle": 32}]}],
    "clock_hz": 1000000000,
    "memory": [{
      "name": "hbm", "bytes": )",
                                                 bytes, R"(,
      "read": {"bytes_per_cycle": 1024}, "write": {"bytes_per_cycle": 1024}}],
    "data_space": "hbm",
    "compute": [{"unit": "vector", "per_cycle": 64}]})"));
  EXPECT_TRUE(machine) << machine.error().message;
  return machine ? *machine : Machine();
}

/// With weights that do not fit a device as a whole, and rows that are needed everywhere before and
/// after: the first weight is cut by columns, the second by rows, nothing moves between them, and
/// the shares of the result are added up in all devices, which takes α + 2β(n - 1)/n · bytes.
TEST(PlanTrends, ColumnsThenRowsOverFourDevices) {
  std::vector<double> settle;
  for (const std::int64_t rows : {128, 256}) {
    const graph::Graph graph = feed_forward(rows, 512, 2048);
    const Machine machine = ring_of_four(4'600'000);  // 4 MB for one weight
    PlanOptions options;
    options.pins.resize(graph.values.size());
    for (const std::size_t v : {0U, 5U}) {
      LayoutSpec spec =
          Layout::row_major(graph.values[v].type.shape, graph.values[v].type.dtype)->spec();
      spec.form.mesh = *Shape::make({4});
      spec.form.fills = {Fill::replicate(0, 4)};
      options.pins[v] = *Layout::make(std::move(spec));
    }
    const auto plan = plan_model(graph, machine, options);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->ops[0].work_text, "j/4 on axis 0");
    EXPECT_EQ(plan->ops[2].work_text, "k/4 on axis 0");
    EXPECT_EQ(plan->ops[0].bring_cycles + plan->ops[0].settle_cycles, 0);
    EXPECT_EQ(plan->ops[1].bring_cycles + plan->ops[1].settle_cycles, 0);
    EXPECT_EQ(plan->ops[2].bring_cycles, 0);
    settle.push_back(plan->ops[2].settle_cycles);
    const double bytes = static_cast<double>(rows) * 512 * 4;
    EXPECT_GE(settle.back(), 2 * 0.75 * bytes / 32);
  }
  // What 128 more rows take, without α.
  const double more = 2 * 0.75 * 128 * 512 * 4 / 32;
  EXPECT_NEAR(settle[1] - settle[0], more, more / 4);
}

}  // namespace
}  // namespace tessera::plan
