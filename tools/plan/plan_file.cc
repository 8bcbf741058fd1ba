// SPDX-License-Identifier: Apache-2.0
#include "tools/plan/plan_file.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/base/work.h"
#include "tessera/graph/graph_json.h"
#include "tessera/notation/convert.h"
#include "tessera/notation/tensor.h"
#include "tessera/ops/loops.h"
#include "tessera/ops/shares.h"
#include "tessera/plan/model/candidates.h"
#include "tools/files/text_file.h"
#include "tools/json/json.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

/// How deep the lists and objects of a JSON text nest. Texts in quotes do not count.
std::size_t depth_of(std::string_view text) {
  std::size_t depth = 0;
  std::size_t deepest = 0;
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      is_quoted = !is_quoted;
    } else if (!is_quoted && (c == '[' || c == '{')) {
      deepest = std::max(deepest, ++depth);
    } else if (!is_quoted && (c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

/// Layouts in the notation of a machine's own programs.
class OwnNotation {
 public:
  explicit OwnNotation(const Machine& machine) {
    if (machine.rules.wavelet_bits) names_ = {"pyflame"};
    if (machine.rules.tile) names_ = {"ttnn", "metal-today"};
    if (machine.rules.stick_bytes) names_ = {"spyre"};
  }

  /// The whole tensor; null where no notation of the machine can say it.
  Json text_of(const Layout& layout) {
    if (names_.empty()) return {};
    const Tensor tensor{Placement(layout), "native"};
    const auto [found, is_new] = texts_.try_emplace(print_native(tensor.placement));
    for (std::size_t n = 0; is_new && n < names_.size() && found->second.is_null(); ++n) {
      const Work work(kQuestionSteps);
      const Result<Conversion> converted = convert(tensor, names_[n]);
      if (converted) found->second = converted->text;
    }
    return found->second;
  }

 private:
  std::vector<std::string_view> names_;
  std::map<std::string, Json> texts_;  ///< layers of a model have the same layouts
};

Json runner_up_json(const std::optional<plan::RunnerUp>& other) {
  if (!other) return {};
  Json json;
  json["work"] = other->work;
  json["more_cycles"] = other->more_cycles;
  return json;
}

Json op_json(const plan::PlannedOp& op, const graph::Graph& graph) {
  const graph::Node& node = graph.nodes[op.node];
  Json json;
  json["node"] = op.node;
  json["name"] = node.name;
  json["op"] = node.op.name();
  json["divided"] = op.work_text;
  const Result<Layout> iterations = ops::iterations_layout(*op.work);
  json["work"] = iterations ? Json(print_native(Placement(*iterations))) : Json();
  json["bring_cycles"] = op.bring_cycles;
  json["compute_cycles"] = op.compute_cycles;
  json["settle_cycles"] = op.settle_cycles;
  json["moves"] = Json::array();
  for (const plan::PlannedMove& move : op.moves) {
    Json each;
    each["from"] = move.from;
    each["to"] = move.to;
    each["algorithm"] = move.algorithm;
    each["cycles"] = move.cycles;
    json["moves"].push_back(std::move(each));
  }
  json["runner_up"] = runner_up_json(op.runner_up);
  return json;
}

/// Reads the fields of one object; the first mistake stays.
class Fields {
 public:
  Fields(const Json& json, std::string where) : json_(json), where_(std::move(where)) {}

  std::int64_t integer(std::string_view key) {
    const Json& value = json_[key];
    if (value.is_integer()) return value.get<std::int64_t>();
    miss(key, "an integer");
    return 0;
  }
  double real(std::string_view key) {
    const Json& value = json_[key];
    if (value.kind_name() == "number") {
      const double number = value.get<double>();
      if (std::isfinite(number)) return number;
    }
    miss(key, "a number");
    return 0;
  }
  std::string text(std::string_view key) {
    const Json& value = json_[key];
    if (value.is_string()) return value.get<std::string>();
    miss(key, "a text");
    return "";
  }
  const Json& list(std::string_view key) {
    const Json& value = json_[key];
    if (!value.is_array()) miss(key, "a list");
    return value;
  }
  /// A list of [from, to], one per axis.
  Box ranges(std::string_view key) {
    Box box;
    for (const Json& range : list(key)) {
      const bool is_range = range.size() == 2 && range[0].is_integer() && range[1].is_integer();
      if (!is_range) miss(key, "a list of [from, to]");
      box.from.push_back(is_range ? range[0].get<std::int64_t>() : 0);
      box.to.push_back(is_range ? range[1].get<std::int64_t>() : 0);
    }
    return box;
  }
  Status status() const {
    if (error_) return *error_;
    return ok_status();
  }

 private:
  void miss(std::string_view key, std::string_view wanted) {
    if (error_) return;
    error_ = Error{ErrorCode::kBadJson,
                   cat(where_, key, ": expected ", wanted, ", found ", json_[key].kind_name()),
                   std::nullopt, "make the plan again with tessera plan"};
  }
  const Json& json_;
  std::string where_;
  std::optional<Error> error_;
};

Result<Layout> read_layout(const std::string& text, const std::string& where) {
  Result<Tensor> tensor = parse_tensor(text);
  if (!tensor) {
    Error error = tensor.error();
    error.span.reset();  // of a text inside the file
    error.message = cat(where, error.message);
    return error;
  }
  if (tensor->placement.layout() != nullptr) return *tensor->placement.layout();
  return Error{ErrorCode::kNotSupported, cat(where, "not a layout: ", quote(text))};
}

Result<ops::Loops> loops_of_node(const graph::Graph& graph, const graph::Node& node) {
  std::vector<const graph::TensorType*> types;
  for (const graph::ValueId v : node.inputs) {
    types.push_back(v == graph::kAbsent ? nullptr : &graph.values[v].type);
  }
  graph::Types outputs;
  for (const graph::ValueId v : node.outputs) outputs.push_back(graph.values[v].type);
  return ops::loops_of(graph::Call(node.op, types, node.attributes, outputs.size()), outputs);
}

Result<plan::PlannedOp> read_op(const Json& json, const std::string& where,
                                const graph::Graph& graph) {
  Fields fields(json, where);
  plan::PlannedOp op;
  const std::int64_t node = fields.integer("node");
  op.work_text = fields.text("divided");
  const std::string work = fields.text("work");
  op.bring_cycles = fields.real("bring_cycles");
  op.compute_cycles = fields.real("compute_cycles");
  op.settle_cycles = fields.real("settle_cycles");
  const Json& moves = fields.list("moves");
  TESSERA_CHECK_OK(fields.status());
  if (node < 0 || node >= std::ssize(graph.nodes)) {
    return Error{ErrorCode::kContradiction,
                 cat(where, "node ", node, ": the model has ", graph.nodes.size(), " nodes")};
  }
  op.node = static_cast<std::size_t>(node);
  TESSERA_TRY(const Layout iterations, read_layout(work, where + "work: "));
  TESSERA_TRY(const ops::Loops loops, loops_of_node(graph, graph.nodes[op.node]));
  TESSERA_TRY(op.work, plan::work_of_layout(loops, iterations));
  for (const Json& each : moves) {
    Fields move(each, where + "moves: ");
    plan::PlannedMove read{move.text("from"), move.text("to"), move.text("algorithm"), {}};
    if (!each["cycles"].is_null()) read.cycles = move.real("cycles");
    TESSERA_CHECK_OK(move.status());
    op.moves.push_back(std::move(read));
  }
  if (json["runner_up"].is_object()) {
    Fields other(json["runner_up"], where + "runner_up: ");
    op.runner_up = plan::RunnerUp{other.text("work"), other.real("more_cycles")};
    TESSERA_CHECK_OK(other.status());
  }
  return op;
}

Result<plan::PlannedBuffer> read_buffer(const Json& json, const std::string& where) {
  Fields fields(json, where);
  plan::PlannedBuffer buffer;
  buffer.name = fields.text("name");
  buffer.space = fields.text("space");
  buffer.from = fields.integer("from");
  buffer.to = fields.integer("to");
  buffer.bytes = fields.integer("bytes");
  buffer.offset = fields.integer("offset");
  if (json.contains("places")) buffer.places = fields.ranges("places");
  TESSERA_CHECK_OK(fields.status());
  return buffer;
}

/// The model without the elements of its values, which neither prices nor pictures need.
Json bare_model_json(graph::Graph graph) {
  for (graph::Value& value : graph.values) value.data = {};
  return parse_json(graph::to_json(graph)).value_or(Json());
}

}  // namespace

Json buffer_json(const plan::PlannedBuffer& buffer) {
  Json json;
  json["name"] = buffer.name;
  json["space"] = buffer.space;
  json["from"] = buffer.from;
  json["to"] = buffer.to;
  json["bytes"] = buffer.bytes;
  json["offset"] = buffer.offset;
  if (buffer.places.from.empty()) return json;
  json["places"] = Json::array();
  for (std::size_t axis = 0; axis < buffer.places.from.size(); ++axis) {
    json["places"].push_back({buffer.places.from[axis], buffer.places.to[axis]});
  }
  return json;
}

std::string plan_json(const plan::ModelPlan& plan, const graph::Graph& graph,
                      const Machine& machine) {
  OwnNotation own(machine);
  Json json;
  json["tessera_plan"] = kPlanFormat;
  json["model"]["name"] = graph.name;
  json["model"]["hash"] = plan.model_hash;
  json["target"]["name"] = plan.target;
  json["target"]["hash"] = plan.target_hash;
  json["cycles"] = plan.cycles;
  json["seconds"] = plan.seconds;
  json["lower_bound_cycles"] = plan.lower_bound_cycles;
  json["gap"] = plan.gap;
  json["assumed"] = plan.assumed;
  json["baseline_cycles"] = Json::object();
  for (const plan::Baseline& each : plan.baselines) {
    json["baseline_cycles"][each.name] = each.cycles;
  }
  json["values"] = Json::array();
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    Json each;
    each["name"] = graph.values[v].name;
    each["layout"] = print_native(Placement(plan.layouts[v]));
    each["target_layout"] = own.text_of(plan.layouts[v]);
    json["values"].push_back(std::move(each));
  }
  json["ops"] = Json::array();
  for (const plan::PlannedOp& op : plan.ops) json["ops"].push_back(op_json(op, graph));
  json["buffers"] = Json::array();
  for (const plan::PlannedBuffer& buffer : plan.buffers) {
    json["buffers"].push_back(buffer_json(buffer));
  }
  json["graph"] = bare_model_json(graph);
  return dump(json) + "\n";
}

std::optional<Json> parse_written(std::string_view text) {
  if (depth_of(text) > kMaxJsonDepth) return std::nullopt;
  std::optional<Json> json = parse_json(text);
  return json && json->is_object() ? std::move(json) : std::nullopt;
}

Result<Json> parse_plan(std::string_view text) {
  std::optional<Json> json = parse_written(text);
  if (!json) {
    return Error{ErrorCode::kSyntax,
                 cat("the plan is not a JSON object of at most ", kMaxJsonDepth, " levels"),
                 std::nullopt, "name a file that tessera plan --out wrote"};
  }
  Fields fields(*json, "");
  if (fields.integer("tessera_plan") != kPlanFormat || !fields.status()) {
    return Error{ErrorCode::kSyntax, cat("not a plan of format ", kPlanFormat), std::nullopt,
                 "name a file that tessera plan --out wrote"};
  }
  return *std::move(json);
}

Result<plan::ModelPlan> read_plan(std::string_view text, const graph::Graph& graph) {
  TESSERA_TRY(const Json json, parse_plan(text));
  return plan_of_json(json, graph);
}

Result<plan::ModelPlan> plan_of_json(const Json& json, const graph::Graph& graph) {
  Fields fields(json, "");
  plan::ModelPlan plan;
  Fields model(json["model"], "model: ");
  plan.model_hash = model.text("hash");
  TESSERA_CHECK_OK(model.status());
  if (plan.model_hash != graph::hash(graph).to_string()) {
    return Error{ErrorCode::kContradiction,
                 cat("the plan is of model ", quote(plan.model_hash), ", this one is ",
                     graph::hash(graph).to_string()),
                 std::nullopt, "plan this model: tessera plan MODEL --target T --out plan.json"};
  }
  Fields target(json["target"], "target: ");
  plan.target = target.text("name");
  plan.target_hash = target.text("hash");
  TESSERA_CHECK_OK(target.status());
  plan.cycles = fields.real("cycles");
  plan.lower_bound_cycles = fields.real("lower_bound_cycles");
  plan.gap = fields.real("gap");
  const Json& values = fields.list("values");
  const Json& ops = fields.list("ops");
  const Json& buffers = fields.list("buffers");
  if (!json["seconds"].is_null()) plan.seconds = fields.real("seconds");
  TESSERA_CHECK_OK(fields.status());
  for (std::size_t v = 0; v < values.size(); ++v) {
    const std::string where = cat("values/", v, ": ");
    Fields each(values[v], where);
    const std::string name = each.text("name");
    const std::string layout = each.text("layout");
    TESSERA_CHECK_OK(each.status());
    if (v >= graph.values.size() || graph.values[v].name != name) {
      return Error{ErrorCode::kContradiction,
                   cat(where, "the model has no value ", quote(name), " there")};
    }
    TESSERA_TRY(Layout read, read_layout(layout, where));
    plan.layouts.push_back(std::move(read));
  }
  for (std::size_t k = 0; k < ops.size(); ++k) {
    TESSERA_TRY(plan::PlannedOp op, read_op(ops[k], cat("ops/", k, ": "), graph));
    plan.ops.push_back(std::move(op));
  }
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    TESSERA_TRY(plan::PlannedBuffer buffer, read_buffer(buffers[b], cat("buffers/", b, ": ")));
    plan.buffers.push_back(std::move(buffer));
  }
  return plan;
}

Result<plan::ModelPlan> read_plan_file(const std::string& name, const graph::Graph& graph,
                                       const Machine& machine) {
  TESSERA_TRY(const std::string text, read_text_file(name, kMaxPlanBytes));
  Result<plan::ModelPlan> plan = read_plan(text, graph);
  if (!plan) {
    Error error = plan.error();
    error.message = cat(quote(name), ": ", error.message);
    return error;
  }
  if (plan->target_hash == plan::target_hash(machine)) return plan;
  return Error{
      ErrorCode::kContradiction,
      cat(quote(name), ": the plan is for ", quote(plan->target), ", whose description is ",
          plan->target_hash, "; that of ", machine.name, " is ", plan::target_hash(machine)),
      std::nullopt, "plan for this machine"};
}

}  // namespace tessera::tools
