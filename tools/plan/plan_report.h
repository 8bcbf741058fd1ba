// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tessera/graph/graph.h"
#include "tessera/plan/model/model_plan.h"
#include "tessera/plan/model/validate_plan.h"
#include "tools/command/command.h"

namespace tessera::tools {

std::string plan_text(const plan::ModelPlan& plan, const graph::Graph& graph,
                      const Machine& machine, const Terminal& terminal);
std::string plan_answer(const plan::ModelPlan& plan, const graph::Graph& graph,
                        const Machine& machine);

/// What a check of a plan found.
std::string findings_text(const std::vector<plan::PlanFinding>& findings);
std::string findings_json(const std::vector<plan::PlanFinding>& findings);

}  // namespace tessera::tools
