// SPDX-License-Identifier: Apache-2.0
// A graph planned for all 745,500 PEs of a wafer: what does not fit, what would help, and the plan
// after following that advice.
#include <cstdio>
#include <map>
#include <string>

#include "tessera/pyflame/pe_memory_planner.h"

using tessera::pyflame::MemoryPlan;
using tessera::pyflame::MeshLayout;
using tessera::pyflame::PEGraph;
using tessera::pyflame::PEMemoryPlanner;
using tessera::pyflame::TensorId;

namespace {

/// y = relu(x · w1) · w2 on 60x60 PEs.
PEGraph two_layers(std::map<TensorId, MeshLayout>& layouts) {
  PEGraph graph;
  const auto given = [&](const char* name, tessera::graph::Kind kind) {
    return graph.add({name, {4096, 4096}, tessera::DType::kF32, kind});
  };
  const TensorId x = given("x", tessera::graph::Kind::kInput);
  const TensorId w1 = given("w1", tessera::graph::Kind::kParameter);
  const TensorId w2 = given("w2", tessera::graph::Kind::kParameter);
  const TensorId hidden = graph.compute("hidden", {x, w1}, {4096, 4096});
  const TensorId relu = graph.compute_in_place("relu", {hidden}, {4096, 4096});
  const TensorId y = graph.compute("y", {relu, w2}, {4096, 4096});
  graph.set_output(y);
  for (TensorId id = 0; id < graph.tensors(); ++id) layouts[id] = MeshLayout::Grid(60, 60);
  return graph;
}

}  // namespace

int main() {
  std::map<TensorId, MeshLayout> layouts;
  const PEGraph graph = two_layers(layouts);
  const PEMemoryPlanner planner;  // for wse2: 36 KB of 48 KB are for data
  const MemoryPlan tight = planner.plan(graph, layouts);
  std::printf("%s\n", tight.error_message.c_str());
  for (const tessera::memory::Advice& advice : tight.advice) {
    std::printf("  %s: %lld bytes less%s\n", advice.text.c_str(),
                static_cast<long long>(advice.saves_bytes), advice.enough ? ", enough" : "");
    if (!advice.enough) continue;
    const MemoryPlan plan =
        planner.plan(planner.followed(graph, advice), PEMemoryPlanner::followed(layouts, advice));
    std::printf("%zu classes of PEs, %zu of %zu bytes on the fullest, %.0f %% saved by reuse\n",
                plan.classes().size(), plan.max_pe_memory_used(), planner.AVAILABLE_FOR_DATA(),
                plan.saved_percent());
    return plan.valid ? 0 : 1;
  }
  return 1;  // no advice was enough
}
