// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/mixing.h"
#include "tessera/base/text.h"
#include "tessera/plan/model/baselines.h"
#include "tessera/plan/model/candidates.h"
#include "tessera/plan/model/decisions.h"
#include "tessera/plan/model/fitting_search.h"
#include "tessera/plan/model/model_plan.h"
#include "tessera/run/default_layouts.h"
#include "tessera/run/memory_plan.h"
#include "tessera/run/predict.h"

namespace tessera::plan {
namespace {

using Clock = std::chrono::steady_clock;

Status check_pins(const graph::Graph& graph, const PlanOptions& options) {
  for (std::size_t v = 0; v < graph.values.size() && v < options.pins.size(); ++v) {
    if (!options.pins[v]) continue;
    const graph::Value& value = graph.values[v];
    const Layout& pin = *options.pins[v];
    if (pin.shape() == value.type.shape && pin.dtype() == value.type.dtype) continue;
    return Error{
        pin.shape() == value.type.shape ? ErrorCode::kBadDType : ErrorCode::kShapeMismatch,
        cat("value '", value.name, "' is ", value.type.to_string(), ", its pinned layout is of ",
            dtype_name(pin.dtype()), "[", pin.shape().to_string(), "]")};
  }
  return ok_status();
}

/// What the steps take and move; the plan's own sums.
Status describe(Decisions& decisions, const Fitting& found, ModelPlan& plan) {
  const run::Execution& execution = found.execution;
  const std::vector<run::StepCycles> cycles = run::predict(execution, decisions.prices());
  const auto others = runners_up(decisions, found.choice);
  const auto work = decisions.work_of(found.choice);
  Checked moved(0);
  for (std::size_t k = 0; k < execution.steps.size(); ++k) {
    const run::Step& step = execution.steps[k];
    const OpClass& op = decisions.class_of(step.node);
    PlannedOp each;
    each.node = step.node;
    each.work = work[step.node];
    each.work_text = work_text(op.loops(), *each.work);
    each.bring_cycles = cycles[k].bring.value_or(0);
    each.settle_cycles = cycles[k].settle.value_or(0);
    each.compute_cycles =
        decisions.compute(step.node, found.choice[decisions.values() + step.node]);
    for (const std::vector<run::Move>* moves : {&step.bring, &step.settle, &step.deliver}) {
      for (const run::Move& move : *moves) {
        const run::Buffer& from = execution.buffers[move.from];
        const run::Buffer& to = execution.buffers[move.to];
        PlannedMove planned{from.name, to.name, "copy", {}};
        run::MovePrices& prices = decisions.prices();
        if (const auto number = run::number_of(execution, move, prices)) {
          planned.cycles = prices.cycles(*number);
          for (const moves::Step& part : prices.steps(*number)) {
            if (part.kind != moves::Step::Kind::kExchange) continue;
            planned.algorithm = part.algorithm;
            moved += part.bytes;
          }
        }
        each.moves.push_back(std::move(planned));
      }
    }
    plan.moves += static_cast<std::int64_t>(each.moves.size());
    if (others[step.node]) {
      const auto strategy = static_cast<std::size_t>(others[step.node]->strategy);
      const std::size_t candidate = decisions.work(step.node)[strategy];
      each.runner_up = RunnerUp{work_text(op.loops(), op.candidates()[candidate].work),
                                others[step.node]->more_cycles};
    }
    plan.cycles += each.cycles();
    plan.ops.push_back(std::move(each));
  }
  plan.moved_bytes = moved.saturated();
  plan.spaces = execution.spaces;
  for (const run::Buffer& buffer : execution.buffers) {
    plan.buffers.push_back(planned(buffer, execution.machine));
  }
  return ok_status();
}

}  // namespace

PlannedBuffer planned(const run::Buffer& buffer, const Machine& machine) {
  return {buffer.name,
          buffer.space,
          buffer.from,
          buffer.to,
          buffer.bytes,
          buffer.offset,
          run::is_in_places(buffer, machine) ? buffer.places : Box{}};
}

std::string target_hash(const Machine& machine) {
  std::uint64_t hash = 0;
  for (const char c : target::to_json(machine)) {
    hash = mixed(hash ^ static_cast<unsigned char>(c));
  }
  char text[17];
  (void)std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

Result<ModelPlan> plan_model(const graph::Graph& graph, const Machine& machine,
                             const PlanOptions& options) {
  const auto begin = Clock::now();
  TESSERA_CHECK_OK(machine.check());
  TESSERA_CHECK_OK(graph::check(graph));
  TESSERA_CHECK_OK(check_pins(graph, options));
  const Result<run::Execution> standard =
      run::compile_from_first_place(graph, machine, options.pins);
  TESSERA_TRY(Decisions decisions,
              Decisions::make(graph, machine, options, standard ? &*standard : nullptr));
  FittingSearch search(decisions, options);
  TESSERA_TRY(Fitting found, search.within(std::nullopt));
  if (options.objective == Objective::kMemory) {
    TESSERA_TRY(found, search.with_least_memory(std::move(found)));
  }
  ModelPlan plan;
  plan.model_hash = graph::hash(graph).to_string();
  plan.target = machine.name;
  plan.target_hash = target_hash(machine);
  TESSERA_TRY(plan.layouts, decisions.layouts_of(found.choice));
  TESSERA_CHECK_OK(describe(decisions, found, plan));
  // Ops run one after the other, so the gaps between them are the same for every plan.
  const auto clock = static_cast<double>(machine.clock_hz.value_or(0));
  const double gaps = machine.op_gap_seconds.value_or(0) * clock *
                      static_cast<double>(graph.nodes.empty() ? 0 : graph.nodes.size() - 1);
  const auto with_gaps = [&](std::optional<double> cycles) {
    return cycles ? std::optional(*cycles + gaps) : std::nullopt;
  };
  plan.cycles += gaps;
  plan.lower_bound_cycles = std::min(found.lower_bound_cycles + gaps, plan.cycles);
  plan.gap = plan.cycles > 0 ? (plan.cycles - plan.lower_bound_cycles) / plan.cycles : 0;
  // Costs are rounded to units before the choice is made.
  plan.is_optimal = plan.gap < 1e-6;
  if (machine.clock_hz) plan.seconds = plan.cycles / clock;
  std::optional<double> max_grid;
  if (standard) {
    max_grid = run::total_cycles(run::predict(*standard, decisions.prices()));
  }
  plan.baselines = {{"max_grid", with_gaps(max_grid)},
                    {"each_op_alone", with_gaps(cycles_of(decisions, each_op_alone(decisions)))},
                    {"greedy_forward", with_gaps(cycles_of(decisions, greedy_forward(decisions)))}};
  plan.assumed = decisions.assumed();
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    plan.work_candidates += static_cast<std::int64_t>(decisions.work(n).size());
  }
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    plan.layout_candidates +=
        static_cast<std::int64_t>(decisions.layouts(static_cast<graph::ValueId>(v)).size());
  }
  plan.moves_priced = static_cast<std::int64_t>(decisions.moves_priced());
  plan.memory_rounds = found.rounds;
  plan.plan_seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return plan;
}

Result<run::Execution> execution_of(const ModelPlan& plan, const graph::Graph& graph,
                                    const Machine& machine) {
  if (plan.model_hash != graph::hash(graph).to_string()) {
    return Error{ErrorCode::kContradiction, "the plan is of another model", std::nullopt,
                 "plan this model: tessera plan MODEL --target T --out plan.json"};
  }
  if (plan.target_hash != target_hash(machine)) {
    return Error{
        ErrorCode::kContradiction,
        cat("the plan is for ", plan.target, ", described differently from ", machine.name),
        std::nullopt, "plan for this machine"};
  }
  run::CompileOptions options;
  options.work.resize(graph.nodes.size());
  for (const PlannedOp& op : plan.ops) {
    if (op.node >= graph.nodes.size()) {
      return Error{ErrorCode::kContradiction,
                   cat("the plan has an op ", op.node, ", the model ", graph.nodes.size(), " ops")};
    }
    options.order.push_back(op.node);
    options.work[op.node] = op.work;
  }
  return run::compile(graph, machine, plan.layouts, options);
}

}  // namespace tessera::plan
