// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/plan/plan_law.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/graph/op.h"
#include "tessera/ops/loops.h"
#include "tessera/plan/model/baselines.h"
#include "tessera/plan/model/candidates.h"
#include "tessera/plan/model/decisions.h"
#include "tessera/plan/model/validate_plan.h"
#include "tessera/run/default_layouts.h"
#include "tessera/run/execute.h"
#include "tessera/run/predict.h"
#include "tessera/run/simulate.h"
#include "tessera/testing/graph/random_graphs.h"
#include "tessera/testing/graph/random_run.h"
#include "tessera/testing/run/run_law.h"

namespace tessera::test {
namespace {

constexpr std::int64_t kMostChoices = 600;
constexpr std::array<std::pair<std::int64_t, std::int64_t>, 4> kMeshes = {
    {{1, 1}, {2, 2}, {2, 3}, {4, 4}}};

/// What run/ says of the whole.
std::optional<double> cycles_of_run(const plan::Decisions& decisions, const plan::Choice& choice) {
  run::CompileOptions options;
  options.work = decisions.work_of(choice);
  options.offsets = false;
  const Result<std::vector<Layout>> layouts = decisions.layouts_of(choice);
  if (!layouts) return std::nullopt;
  const Result<run::Execution> execution =
      run::compile(decisions.graph(), decisions.machine(), *layouts, options);
  if (!execution) return std::nullopt;
  const Result<std::vector<run::StepCycles>> cycles = run::predict(*execution);
  return cycles ? run::total_cycles(*cycles) : std::nullopt;
}

/// The n-th of all choices.
plan::Choice nth_choice(const plan::Decisions& decisions, std::int64_t n) {
  plan::Choice choice;
  for (const choose::Node& node : decisions.problem().nodes) {
    const std::int64_t count = std::ssize(node.costs);
    choice.push_back(n % count);
    n /= count;
  }
  return choice;
}

/// Every division of the loops of an op over a mesh: each axis divides any factor that may be
/// divided, over any number of places, or nothing.
std::vector<ops::WorkMap> every_work(const ops::Loops& loops, const Shape& mesh) {
  std::vector<plan::Division> divisions = {{}};
  for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
    std::vector<plan::Division> longer;
    for (const plan::Division& division : divisions) {
      longer.push_back(division);
      longer.back().push_back({});
      for (std::size_t f = 0; f < loops.factors.size(); ++f) {
        if (loops.factors[f].kind == ops::FactorKind::kWhole) continue;
        for (std::int64_t places = 2; places <= mesh[axis]; ++places) {
          longer.push_back(division);
          longer.back().push_back({static_cast<int>(f), places});
        }
      }
    }
    divisions = std::move(longer);
  }
  std::vector<ops::WorkMap> list;
  for (const plan::Division& division : divisions) {
    Result<ops::WorkMap> work = plan::work_map(loops, division);
    if (work) list.push_back(*std::move(work));
  }
  return list;
}

/// The loops of a node.
Result<ops::Loops> loops_of(const graph::Graph& graph, const graph::Node& node) {
  std::vector<const graph::TensorType*> inputs;
  for (const graph::ValueId v : node.inputs) {
    inputs.push_back(v == graph::kAbsent ? nullptr : &graph.values[v].type);
  }
  graph::Types outputs;
  for (const graph::ValueId v : node.outputs) outputs.push_back(graph.values[v].type);
  return ops::loops_of(graph::Call(node.op, inputs, node.attributes, outputs.size()), outputs);
}

}  // namespace

Machine small_wafer(std::int64_t rows, std::int64_t cols, std::int64_t bytes) {
  Machine machine = **target::find_machine("wse2");
  machine.name = "small";
  machine.mesh[0].extents = {rows, cols};
  machine.rules.fabric.reset();
  machine.notes.clear();
  machine.compute = {{"vector", "", "", 1}};
  // The host's memory is reached at the border of the whole wafer.
  std::erase_if(machine.memory,
                [&](const target::MemorySpace& space) { return space.name != machine.data_space; });
  machine.memory[0].reserved.clear();
  machine.memory[0].bytes = bytes;
  return machine;
}

plan::PlanOptions plan_options(std::size_t candidates) {
  plan::PlanOptions options;
  options.most_work = candidates;
  options.most_layouts = candidates;
  options.rounds = 2000;
  options.threads = 1;
  options.enough_gap = 0;
  return options;
}

std::string best_plan_mistake(std::uint64_t seed, PlanLawCounts& counts) {
  Dice dice(seed * 677 + 5);
  const graph::Graph graph = random_graph(dice, 3);
  const auto [rows, cols] = kMeshes[seed % kMeshes.size()];
  const Machine machine = small_wafer(rows, cols, 1 << 20);
  const plan::PlanOptions options = plan_options(2);
  const Result<run::Execution> standard = run::compile_with_defaults(graph, machine, {});
  if (!standard) return cat("default: ", standard.error().message);
  Result<plan::Decisions> decisions = plan::Decisions::make(graph, machine, options, &*standard);
  if (!decisions) return cat("decisions: ", decisions.error().message);
  std::int64_t choices = 1;
  for (const choose::Node& node : decisions->problem().nodes) {
    choices *= std::ssize(node.costs);
    if (choices > kMostChoices) return "";
  }
  const std::string text = cat("\n", graph::to_string(graph));
  std::optional<double> least;
  for (std::int64_t n = 0; n < choices; ++n) {
    const plan::Choice choice = nth_choice(*decisions, n);
    const std::optional<double> whole = cycles_of_run(*decisions, choice);
    const std::optional<double> sum = plan::cycles_of(*decisions, choice);
    if (whole.has_value() != sum.has_value()) return cat("only one is priced: choice ", n, text);
    if (!whole) continue;
    ++counts.choices;
    // Prices are rounded to 1/1024 of a cycle.
    if (std::abs(*whole - *sum) > 0.002 * static_cast<double>(choice.size() * 4)) {
      return cat("choice ", n, " takes ", std::to_string(*whole), ", the sum of its prices is ",
                 std::to_string(*sum), text);
    }
    if (!least || *whole < *least) least = whole;
  }
  const Result<plan::ModelPlan> plan = plan::plan_model(graph, machine, options);
  if (!plan) return cat("plan: ", plan.error().message, text);
  if (!least) return cat("no choice can be priced", text);
  ++counts.graphs;
  const double allowed =
      0.008 * static_cast<double>(graph.nodes.size() + graph.values.size()) + 1e-6;
  if (std::abs(plan->cycles - *least) > allowed) {
    return cat("the plan takes ", std::to_string(plan->cycles), ", the best of ", choices,
               " choices ", std::to_string(*least), text);
  }
  if (plan->lower_bound_cycles > *least + allowed) {
    return cat("the bound ", std::to_string(plan->lower_bound_cycles), " is above ",
               std::to_string(*least), text);
  }
  return "";
}

std::string running_plan_mistake(std::uint64_t seed, PlanLawCounts& counts) {
  Dice dice(seed * 389 + 1);
  graph::Graph graph = random_graph(dice, 6);
  const std::map<std::string, NaiveTensor> inputs = random_inputs(dice, graph);
  const auto expected = naive_evaluate(graph, inputs);
  if (!expected) return "";
  const auto [rows, cols] = kMeshes[seed % kMeshes.size()];
  const Machine machine = small_wafer(rows, cols, seed % 3 == 0 ? 2048 : 36864);
  const Result<plan::ModelPlan> plan = plan::plan_model(graph, machine, plan_options(6));
  if (!plan && plan.error().code == ErrorCode::kDoesNotFit) return "";
  const std::string text = cat("\n", graph::to_string(graph));
  if (!plan) return cat("plan: ", plan.error().message, text);
  for (const plan::PlanFinding& finding : plan::validate(*plan, graph, machine)) {
    return cat(plan::flaw_name(finding.flaw), ": ", finding.message, text);
  }
  for (const run::SpaceNeed& need : plan->spaces) {
    if (need.peak_bytes > machine.memory[0].bytes) return cat("needs too much memory", text);
  }
  const Result<run::Execution> execution = plan::execution_of(*plan, graph, machine);
  if (!execution) return cat("execution: ", execution.error().message, text);
  std::map<std::string, run::HostTensor> given;
  for (const auto& [name, tensor] : inputs) given[name] = host_tensor(tensor);
  ThreadPool pool(2);
  const auto device = run::device_for(*execution, true);
  if (!device) return cat("device: ", device.error().message, text);
  const Result<run::RunResult> result = run::execute(*execution, **device, given, pool);
  if (!result) return cat("run: ", result.error().message, text);
  for (std::size_t o = 0; o < expected->size(); ++o) {
    const NaiveTensor& wanted = (*expected)[o];
    const std::string wrong =
        apart(naive_of(result->outputs[o]), wanted, tolerance_of(wanted.type.dtype));
    if (!wrong.empty()) return cat("output ", o, ": ", wrong, text);
  }
  ++counts.graphs;
  return "";
}

std::optional<SimulatedPlan> simulated_plan(std::uint64_t seed, const Machine& machine,
                                            const LayeredSize& size) {
  Dice dice(seed * 857 + 3);
  const graph::Graph graph = layered_graph(dice, size);
  const Result<plan::ModelPlan> plan = plan::plan_model(graph, machine, plan_options(4));
  if (!plan) return std::nullopt;
  const Result<run::Execution> execution = plan::execution_of(*plan, graph, machine);
  if (!execution) return std::nullopt;
  const Result<std::vector<run::StepCycles>> cycles = run::predict(*execution);
  if (!cycles) return std::nullopt;
  const std::optional<double> predicted = run::total_cycles(*cycles);
  const Result<run::RunSimulation> simulated = run::simulate(*execution, *cycles);
  if (!predicted || !simulated || !simulated->cycles || simulated->simulated == 0) {
    return std::nullopt;
  }
  double compute = 0;
  for (const run::StepCycles& each : *cycles) compute += each.compute.value_or(0);
  return SimulatedPlan{*predicted, *simulated->cycles, compute, simulated->moves,
                       simulated->simulated};
}

std::optional<ComparedCandidates> compared_candidates(std::uint64_t seed, const Machine& machine) {
  Dice dice(seed * 191 + 11);
  const int layers = static_cast<int>(dice.between(1, 2));
  const graph::Graph graph = layered_graph(dice, {layers, 16, 20});
  plan::PlanOptions options = plan_options(20);
  const Result<plan::ModelPlan> planned = plan::plan_model(graph, machine, options);
  if (!planned) return std::nullopt;
  for (const graph::Node& node : graph.nodes) {
    const Result<ops::Loops> loops = loops_of(graph, node);
    if (!loops) return std::nullopt;
    options.more_work.push_back(every_work(*loops, machine.shape()));
  }
  options.most_layouts = 1000;
  const Result<plan::ModelPlan> best = plan::plan_model(graph, machine, options);
  if (!best) return std::nullopt;
  return ComparedCandidates{planned->cycles, best->cycles};
}

}  // namespace tessera::test
