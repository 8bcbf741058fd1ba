// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/graph/graph_json.h"
#include "tessera/notation/tensor.h"
#include "tools/command/command.h"
#include "tools/command/search_input.h"
#include "tools/files/text_file.h"
#include "tools/json/json.h"
#include "tools/plan/plan_file.h"
#include "tools/price/price_plan.h"
#include "tools/run/value_layouts.h"
#include "tools/targets/read_target.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

constexpr std::size_t kMaxPinsBytes = std::size_t{16} << 20;

/// A plan and the model in its file.
struct WholePlan {
  graph::Graph graph;
  plan::ModelPlan plan;
};

Result<WholePlan> read_whole_plan(std::string_view text) {
  TESSERA_TRY(Json json, parse_plan(text));
  const Json* const model = json.find("graph");
  if (model == nullptr || !model->is_object() || !json["model"].is_object()) {
    return Error{ErrorCode::kBadJson, "the plan has no model inside", std::nullopt,
                 "make the plan again with tessera plan"};
  }
  WholePlan whole;
  Result<graph::Graph> graph = graph::parse_graph(dump(*model));
  if (!graph) {
    Error error = graph.error();
    error.span.reset();  // of a part of the file
    error.message = cat("the model in the plan: ", error.message);
    return error;
  }
  whole.graph = *std::move(graph);
  // The model inside has no elements, so its hash is another than that of the model of the plan.
  json["model"]["hash"] = graph::hash(whole.graph).to_string();
  TESSERA_TRY(whole.plan, plan_of_json(json, whole.graph));
  if (whole.plan.layouts.size() == whole.graph.values.size()) return whole;
  return Error{ErrorCode::kContradiction,
               cat("the plan has ", whole.plan.layouts.size(), " layouts for ",
                   whole.graph.values.size(), " values")};
}

Result<LayoutChange> read_change(const Request& request, const graph::Graph& graph) {
  LayoutChange change;
  change.divides_anew = request.has("divide");
  std::string lines;
  for (const std::string& line : request.texts("layout")) lines += cat(line, "\n");
  TESSERA_TRY(change.layouts, read_value_layouts(lines, "--layout", graph));
  if (!request.has("pins")) return change;
  const std::string& file = request.text("pins");
  TESSERA_TRY(const std::string text, read_text_file(file, kMaxPinsBytes));
  TESSERA_TRY(const auto pins, read_value_layouts(text, file, graph));
  for (std::size_t v = 0; v < pins.size(); ++v) {
    if (!change.layouts[v]) change.layouts[v] = pins[v];
  }
  return change;
}

Json op_json(const RepricedOp& op) {
  Json json;
  json["step"] = op.step;
  json["divided"] = op.divided;
  json["bring_cycles"] = op.bring_cycles;
  json["compute_cycles"] = op.compute_cycles;
  json["settle_cycles"] = op.settle_cycles;
  json["moves"] = Json::array();
  for (const plan::PlannedMove& move : op.moves) {
    json["moves"].push_back({{"from", move.from},
                             {"to", move.to},
                             {"algorithm", move.algorithm},
                             {"cycles", move.cycles}});
  }
  return json;
}

Json answer_json(const RepricedPlan& priced, const WholePlan& whole) {
  Json json;
  json["fits"] = true;
  json["cycles"] = priced.cycles;
  json["seconds"] = priced.seconds;
  json["planned_cycles"] = whole.plan.cycles;
  json["changed"] = Json::array();
  for (const std::size_t v : priced.changed) json["changed"].push_back(whole.graph.values[v].name);
  json["ops"] = Json::array();
  for (const RepricedOp& op : priced.ops) json["ops"].push_back(op_json(op));
  json["buffers"] = Json::array();
  for (const plan::PlannedBuffer& buffer : priced.buffers) {
    json["buffers"].push_back(buffer_json(buffer));
  }
  json["peak_bytes"] = Json::object();
  for (const run::SpaceNeed& need : priced.spaces) json["peak_bytes"][need.space] = need.peak_bytes;
  return json;
}

std::string cycles_text(const std::optional<double>& cycles) {
  if (!cycles) return "?";
  char text[512];  // as long as a double can be
  (void)std::snprintf(text, sizeof text, "%.0f", *cycles);
  return text;
}

std::string answer_text(const RepricedPlan& priced, const WholePlan& whole) {
  std::string out = cat(count_of(std::ssize(priced.changed), "value"),
                        " in another layout: ", cycles_text(priced.cycles), " cycles, planned ",
                        cycles_text(whole.plan.cycles), "\n");
  for (const RepricedOp& op : priced.ops) {
    const plan::PlannedOp& planned = whole.plan.ops[op.step];
    const graph::Node& node = whole.graph.nodes[planned.node];
    out += cat("  ", node.op.name(), " ", printable(whole.graph.values[node.outputs[0]].name), ": ",
               op.divided, "; bring ", cycles_text(op.bring_cycles), ", compute ",
               cycles_text(op.compute_cycles), ", settle ", cycles_text(op.settle_cycles),
               "; planned ", cycles_text(planned.cycles()), "\n");
    for (const plan::PlannedMove& move : op.moves) {
      out += cat("      ", printable(move.from), " -> ", printable(move.to), " by ", move.algorithm,
                 ": ", cycles_text(move.cycles), "\n");
    }
  }
  for (const run::SpaceNeed& need : priced.spaces) {
    out += cat("  ", need.space, ": ", need.peak_bytes, " bytes",
               need.capacity_bytes ? cat(" of ", *need.capacity_bytes) : "", "\n");
  }
  return out;
}

Result<Verdict> run(const Request& request, Console& console) {
  const std::string& file = request.text("plan");
  TESSERA_TRY(const std::string text, file == "-" ? read_text_stream(console.in, kMaxPlanBytes)
                                                  : read_text_file(file, kMaxPlanBytes));
  TESSERA_TRY(const WholePlan whole, read_whole_plan(text));
  TESSERA_TRY(const Machine machine,
              read_target(request.has("target") ? request.text("target") : whole.plan.target));
  if (whole.plan.target_hash != plan::target_hash(machine)) {
    return Error{
        ErrorCode::kContradiction,
        cat("the plan is for ", quote(whole.plan.target), ", whose description is ",
            whole.plan.target_hash, "; that of ", machine.name, " is ", plan::target_hash(machine)),
        std::nullopt, "name the machine of the plan with --target"};
  }
  TESSERA_TRY(const LayoutChange change, read_change(request, whole.graph));
  const Result<RepricedPlan> priced = price_plan(whole.plan, whole.graph, machine, change);
  if (priced) {
    console.out << (console.json ? dump(answer_json(*priced, whole)) + "\n"
                                 : answer_text(*priced, whole));
    return Verdict::kYes;
  }
  if (priced.error().code != ErrorCode::kDoesNotFit) return priced.error();
  Json answer;
  answer["fits"] = false;
  return report_error_in(file, "", priced.error(), console, std::move(answer));
}

}  // namespace

Verb price_verb() {
  Verb verb;
  verb.name = "price";
  verb.is_question = false;
  verb.summary = "what a plan takes with other layouts";
  verb.description =
      "Takes a plan of `tessera plan --out` and other layouts for some of its values, and says "
      "what the whole then takes, which moves the ops around these values need, and what memory. "
      "Everything else stays as planned: the order, the layouts of other values, and the division "
      "of the work; with --divide, ops that read or make a changed value divide their work as "
      "their layouts suggest. Nothing is planned anew: `tessera plan --pins` does that. The exit "
      "status is 1 if it does not fit (docs/planning.md).";
  verb.positionals = {{"plan", Positional::Kind::kFile, "a plan; - is standard input", {}, false}};
  verb.flags = {
      {"layout", ValueKind::kTexts, "LINE",
       "NAME: LAYOUT, as a line of --pins of plan; may be repeated"},
      {"pins", ValueKind::kText, "FILE", "lines NAME: LAYOUT"},
      {"divide", ValueKind::kSwitch, "", "divide the work of ops around changed values anew"},
      {"target", ValueKind::kText, "T", "the machine of the plan, if it is one of a file"}};
  verb.examples = {"tessera graph --make mlp --batch-size 32 --out mlp.json",
                   "tessera plan mlp.json --target wse2 --candidates 4 --out mlp.plan.json",
                   "tessera price mlp.plan.json --layout 'x: pyflame.Grid(32, 1)'"};
  verb.answers_json = true;
  verb.answers_batch = true;
  verb.run = run;
  return verb;
}

}  // namespace tessera::tools
