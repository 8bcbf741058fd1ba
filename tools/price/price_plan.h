// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/graph/graph.h"
#include "tessera/layout/layout.h"
#include "tessera/plan/model/model_plan.h"
#include "tessera/run/execution.h"
#include "tessera/target/machine.h"

/// tools/price/: the verb that says what a plan takes with other layouts. A plan and layouts come
/// in; its cycles and its memory go out. Nothing is chosen here, and every price is that of run/.
namespace tessera::tools {

/// Other layouts for values of a plan.
struct LayoutChange {
  std::vector<std::optional<Layout>> layouts;  ///< per value; empty: as planned
  /// Ops that read or make a changed value divide their work as their layouts suggest, as `run`
  /// does without a plan, and not as planned.
  bool divides_anew = false;
};

/// An op that reads or makes a changed value.
struct RepricedOp {
  std::size_t step = 0;  ///< in plan.ops
  std::string divided;   ///< as PlannedOp::work_text
  std::optional<double> bring_cycles;
  std::optional<double> compute_cycles;
  std::optional<double> settle_cycles;
  std::vector<plan::PlannedMove> moves;

  std::optional<double> cycles() const;
};

struct RepricedPlan {
  std::vector<std::size_t> changed;  ///< values whose layout is another than planned
  std::vector<RepricedOp> ops;
  std::optional<double> cycles;  ///< of the whole plan; empty where a figure is missing
  std::optional<double> seconds;
  std::vector<plan::PlannedBuffer> buffers;
  std::vector<run::SpaceNeed> spaces;
};

/// The plan with these layouts, carried out in the same order. Law: the cycles are those that
/// run::predict gives for the execution with these layouts, where the machine has every figure;
/// without a change they are the plan's. What the plan assumed stays assumed.
/// Errors: those of run::compile for the layouts, among them kDoesNotFit.
Result<RepricedPlan> price_plan(const plan::ModelPlan& plan, const graph::Graph& graph,
                                const Machine& machine, const LayoutChange& change);

}  // namespace tessera::tools
