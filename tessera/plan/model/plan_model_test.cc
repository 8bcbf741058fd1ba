// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <iostream>

#include "tessera/base/text.h"
#include "tessera/graph/models/models.h"
#include "tessera/plan/model/model_plan.h"

namespace tessera::plan {
namespace {

TEST(PlanModel, Figures) {
  const auto graph = *graph::make_model("mlp", {});
  for (const auto* name : {"wse2", "wormhole", "wormhole-8", "spyre"}) {
    const auto plan = plan_model(graph, **target::find_machine(name));
    if (!plan) {
      std::cout << name << " " << plan.error().message << "\n";
      continue;
    }
    std::cout << name << " cycles " << plan->cycles << " bound " << plan->lower_bound_cycles
              << " s " << plan->plan_seconds << " W " << plan->work_candidates << " L "
              << plan->layout_candidates << " P " << plan->moves_priced << " rounds "
              << plan->memory_rounds << "\n";
    for (const auto& b : plan->baselines)
      std::cout << "  " << b.name << " " << b.cycles.value_or(-1) << "\n";
    for (const auto& op : plan->ops)
      std::cout << "    " << op.work_text << " " << op.bring_cycles << " " << op.compute_cycles
                << " " << op.settle_cycles << " / " << (op.runner_up ? op.runner_up->work : "")
                << " " << (op.runner_up ? op.runner_up->more_cycles : 0) << "\n";
  }
}

}  // namespace
}  // namespace tessera::plan
