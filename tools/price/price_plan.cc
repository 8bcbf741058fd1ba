// SPDX-License-Identifier: Apache-2.0
#include "tools/price/price_plan.h"

#include <algorithm>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/moves/price.h"
#include "tessera/plan/model/candidates.h"
#include "tessera/run/predict.h"

namespace tessera::tools {
namespace {

/// The positions in plan.ops of those that read or make a changed value.
std::vector<std::size_t> affected_ops(const plan::ModelPlan& plan, const graph::Graph& graph,
                                      const std::vector<std::size_t>& changed) {
  const auto touches = [&](const std::vector<graph::ValueId>& values) {
    return std::ranges::any_of(values, [&](graph::ValueId v) {
      return v != graph::kAbsent && std::ranges::binary_search(changed, std::size_t{v});
    });
  };
  std::vector<std::size_t> affected;
  for (std::size_t k = 0; k < plan.ops.size(); ++k) {
    const graph::Node& node = graph.nodes[plan.ops[k].node];
    if (touches(node.inputs) || touches(node.outputs)) affected.push_back(k);
  }
  return affected;
}

plan::PlannedMove priced_move(const run::Execution& execution, run::MovePrices& prices,
                              const run::Move& move) {
  const run::Buffer& from = execution.buffers[move.from];
  const run::Buffer& to = execution.buffers[move.to];
  plan::PlannedMove planned{from.name, to.name, "copy", std::nullopt};
  const std::optional<run::MovePrices::Number> number = run::number_of(execution, move, prices);
  if (!number) return planned;
  planned.cycles = prices.cycles(*number);
  for (const moves::Step& step : prices.steps(*number)) {
    if (step.kind == moves::Step::Kind::kExchange) planned.algorithm = step.algorithm;
  }
  return planned;
}

RepricedOp reprice(const run::Execution& execution, run::MovePrices& prices,
                   const plan::PlannedOp& planned, std::size_t k, bool is_divided_anew) {
  const run::Step& step = execution.steps[k];
  RepricedOp op;
  op.step = k;
  op.divided = plan::work_text(step.loops, step.work);
  // The same work takes what the plan says, which may be assumed.
  op.compute_cycles = planned.compute_cycles;
  if (is_divided_anew) {
    run::StepCycles found;
    run::add_compute(execution, step, found);
    op.compute_cycles = found.compute;
  }
  const auto price = [&](const std::vector<run::Move>& moves, double sum) {
    std::optional<double> cycles = sum;
    for (const run::Move& move : moves) {
      op.moves.push_back(priced_move(execution, prices, move));
      const std::optional<double>& one = op.moves.back().cycles;
      cycles = cycles && one ? std::optional(*cycles + *one) : std::nullopt;
    }
    return cycles;
  };
  op.bring_cycles = price(step.bring, 0);
  op.settle_cycles = price(step.settle, 0);
  if (op.settle_cycles) op.settle_cycles = price(step.deliver, *op.settle_cycles);
  return op;
}

}  // namespace

std::optional<double> RepricedOp::cycles() const {
  if (!bring_cycles || !compute_cycles || !settle_cycles) return std::nullopt;
  return *bring_cycles + *compute_cycles + *settle_cycles;
}

Result<RepricedPlan> price_plan(const plan::ModelPlan& plan, const graph::Graph& graph,
                                const Machine& machine, const LayoutChange& change) {
  RepricedPlan priced;
  std::vector<Layout> layouts = plan.layouts;
  for (std::size_t v = 0; v < change.layouts.size() && v < layouts.size(); ++v) {
    const std::optional<Layout>& other = change.layouts[v];
    if (!other || *other == layouts[v]) continue;
    layouts[v] = *other;
    priced.changed.push_back(v);
  }
  const std::vector<std::size_t> affected = affected_ops(plan, graph, priced.changed);
  run::CompileOptions options;
  options.work.resize(graph.nodes.size());
  for (const plan::PlannedOp& op : plan.ops) {
    options.order.push_back(op.node);
    options.work[op.node] = op.work;
  }
  if (change.divides_anew) {
    for (const std::size_t k : affected) options.work[plan.ops[k].node].reset();
  }
  TESSERA_TRY(const run::Execution execution, run::compile(graph, machine, layouts, options));
  TESSERA_TRY(moves::MoveModel model, moves::MoveModel::make(machine));
  run::MovePrices prices(std::move(model));
  priced.cycles = plan.cycles;
  for (const std::size_t k : affected) {
    RepricedOp op = reprice(execution, prices, plan.ops[k], k, change.divides_anew);
    const std::optional<double> now = op.cycles();
    priced.cycles = priced.cycles && now
                        ? std::optional(*priced.cycles - plan.ops[k].cycles() + *now)
                        : std::nullopt;
    priced.ops.push_back(std::move(op));
  }
  if (priced.cycles && machine.clock_hz) {
    priced.seconds = *priced.cycles / static_cast<double>(*machine.clock_hz);
  }
  for (const run::Buffer& buffer : execution.buffers) {
    priced.buffers.push_back(plan::planned(buffer, machine));
  }
  priced.spaces = execution.spaces;
  return priced;
}

}  // namespace tessera::tools
