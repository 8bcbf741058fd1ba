// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/bench_plan.h"

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/graph/builder.h"
#include "tessera/graph/models/models.h"
#include "tessera/plan/model/model_plan.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

/// What planning a model should take.
struct Goal {
  std::string_view text;
  double seconds = 0;
  double gap = 0;
};
constexpr Goal kGoal = {"<= 2 s, gap <= 1 %", 2, 0.01};
constexpr Goal kGoalOfDeepModel = {"<= 10 s, gap <= 3 %", 10, 0.03};

struct Model {
  std::string name;
  std::function<Result<graph::Graph>()> make;
  Goal goal = kGoal;
};

/// x = add(relu(x), tanh(x)) again and again: three nodes each.
Result<graph::Graph> diamonds(std::int64_t nodes) {
  graph::GraphBuilder builder("diamonds");
  TESSERA_TRY(graph::ValueId x, builder.input("x", {64, 1024}));
  for (std::int64_t n = 0; n < nodes; n += 3) {
    TESSERA_TRY(const graph::ValueId left, builder.add("relu", {x}));
    if (n + 1 == nodes) {
      x = left;
      break;
    }
    TESSERA_TRY(const graph::ValueId right, builder.add("tanh", {n + 2 == nodes ? left : x}));
    if (n + 2 == nodes) {
      x = right;
      break;
    }
    TESSERA_TRY(x, builder.add("add", {left, right}));
  }
  TESSERA_CHECK_OK(builder.output(x));
  return std::move(builder).finish();
}

std::vector<Model> models() {
  const auto make = [](std::string_view name, const graph::ModelOptions& options) {
    return [name, options] { return graph::make_model(name, options); };
  };
  graph::ModelOptions layer;
  layer.layers = 1;
  layer.hidden = 512;
  layer.heads = 8;
  layer.kv_heads = 8;
  layer.vocabulary = 1000;
  layer.dtype = DType::kBF16;
  graph::ModelOptions prefill = layer;
  prefill.sequence = 128;
  graph::ModelOptions decode = layer;
  decode.sequence = 1;
  decode.past = 127;
  graph::ModelOptions deep = prefill;
  deep.layers = 32;
  return {{"mlp", make("mlp", {.batch = 32})},
          {"transformer-prefill", make("llama", prefill)},
          {"transformer-decode", make("llama", decode)},
          {"resnet50", make("resnet50", {})},
          {"diamonds-1000", [] { return diamonds(1000); }},
          {"llama-32-layers", make("llama", deep), kGoalOfDeepModel}};
}

BenchCase case_of(std::string name, const plan::ModelPlan& plan) {
  BenchCase result;
  result.name = std::move(name);
  result.dtype = "";
  result.seconds = plan.plan_seconds;
  result.outcome = "planned";
  result.figures = {{"cycles", plan.cycles},
                    {"gap", plan.gap},
                    {"moves_priced", static_cast<double>(plan.moves_priced)}};
  for (const plan::Baseline& each : plan.baselines) {
    if (each.cycles) result.figures.emplace_back(each.name, *each.cycles);
  }
  return result;
}

/// One plan. A model that does not fit, or has no price, is a case too.
BenchCase measure_plan(const std::string& name, const graph::Graph& graph, const Machine& machine) {
  const Result<plan::ModelPlan> plan = plan::plan_model(graph, machine, {});
  if (plan) return case_of(name, *plan);
  BenchCase result;
  result.name = name;
  result.dtype = "";
  result.outcome = std::string(code_name(plan.error().code));
  return result;
}

/// The wafer with fewer places, without what depends on how many there are, and with memory enough
/// for a few of them.
Machine wafer_of(std::int64_t rows, std::int64_t cols) {
  Machine machine = **find_machine("wse2");
  machine.name = "wafer";
  machine.mesh[0].extents = {rows, cols};
  machine.rules.fabric.reset();
  machine.notes.clear();
  machine.memory[0].reserved.clear();
  machine.memory[0].bytes = std::int64_t{64} << 20;
  std::erase_if(machine.memory,
                [&](const target::MemorySpace& space) { return space.name != machine.data_space; });
  return machine;
}

/// Seconds of the last over those of the first of the cases from `first` on.
void add_growth(BenchReport& report, std::string name, std::size_t first) {
  if (report.cases.size() < first + 2 || report.cases[first].seconds <= 0) return;
  report.growth.emplace_back(std::move(name),
                             report.cases.back().seconds / report.cases[first].seconds);
}

}  // namespace

Result<BenchReport> bench_plan(const BenchOptions& options) {
  BenchReport report;
  report.suite = "plan";
  const auto wants = [&](const std::string& name) {
    return name.find(options.only) != std::string::npos;
  };
  for (const Model& model : models()) {
    if (options.quick && model.name != "mlp") continue;
    for (const std::string_view target : {"wse2", "wormhole", "wormhole-8", "spyre"}) {
      const std::string name = cat("model/", model.name, "/", target);
      if (!wants(name) || (options.quick && target != "wormhole")) continue;
      TESSERA_TRY(const graph::Graph graph, model.make());
      BenchCase result = measure_plan(name, graph, **find_machine(target));
      if (!options.quick && result.outcome == "planned") {
        result.goal = model.goal.text;
        result.met =
            result.seconds <= model.goal.seconds && result.figures[1].second <= model.goal.gap;
      }
      report.cases.push_back(std::move(result));
    }
  }
  std::size_t first = report.cases.size();
  for (const std::int64_t nodes : {10, 100, 1000, 10000}) {
    const std::string name = cat("nodes/", nodes);
    if (!wants(name) || (options.quick && nodes > 10)) continue;
    TESSERA_TRY(const graph::Graph graph, diamonds(nodes));
    report.cases.push_back(measure_plan(name, graph, **find_machine("wormhole")));
    report.cases.back().elements = nodes;
  }
  add_growth(report, "the time to plan a chain of diamonds", first);
  first = report.cases.size();
  constexpr std::array<std::pair<std::int64_t, std::int64_t>, 5> kMeshes = {
      {{2, 2}, {8, 8}, {32, 32}, {128, 128}, {994, 750}}};
  for (const auto& [rows, cols] : kMeshes) {
    const std::string name = cat("places/", rows * cols);
    if (!wants(name) || (options.quick && rows > 2)) continue;
    TESSERA_TRY(const graph::Graph graph, graph::make_model("mlp", {.batch = 32}));
    report.cases.push_back(measure_plan(name, graph, wafer_of(rows, cols)));
  }
  add_growth(report, "the time to plan an MLP", first);
  if (report.cases.empty()) {
    return Error{ErrorCode::kUsage, cat("no case name contains '", printable(options.only), "'"),
                 std::nullopt, "tessera bench plan --quick lists some of the names"};
  }
  return report;
}

}  // namespace tessera::tools
