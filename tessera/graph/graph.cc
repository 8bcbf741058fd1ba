// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/graph.h"

#include <unordered_set>
#include <utility>

#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/graph/texts.h"

namespace tessera::graph {
namespace {

Error bad_graph(std::string message, std::string help = "") {
  return Error{ErrorCode::kBadGraph, std::move(message), std::nullopt, std::move(help)};
}

/// The types of a node's operands, with null for those that are left out.
struct Operands {
  std::vector<const TensorType*> inputs;
  std::vector<const TensorType*> outputs;
};

Operands operands_of(const Graph& graph, const Node& node) {
  Operands operands;
  for (const ValueId v : node.inputs) {
    operands.inputs.push_back(v < graph.values.size() ? &graph.values[v].type : nullptr);
  }
  for (const ValueId v : node.outputs) {
    operands.outputs.push_back(v < graph.values.size() ? &graph.values[v].type : nullptr);
  }
  return operands;
}

Status check_data(const Value& value) {
  const auto wrong = [&](std::string_view why) {
    return Error{ErrorCode::kContradiction, cat("value ", quote_name(value.name), ": ", why),
                 std::nullopt, "data have as many bytes as the type says"};
  };
  if (value.data.form == Data::Form::kNone) return ok_status();
  if (value.kind != Kind::kParameter && value.kind != Kind::kConstant) {
    return wrong(cat("data of a value of kind ", kind_name(value.kind)));
  }
  if (value.data.form == Data::Form::kFile) {
    if (value.data.offset < 0) return wrong(cat("data from offset ", value.data.offset));
    return ok_status();
  }
  if (!value.data.bytes) return wrong("no bytes");
  const std::int64_t given = std::ssize(*value.data.bytes);
  if (value.data.form == Data::Form::kFill) {
    const std::optional<std::int64_t> element = element_bytes(value.type.dtype);
    if (element == given) return ok_status();
    return wrong(cat("a fill of ", given, " bytes for ", value.type.to_string()));
  }
  if (given == value.type.bytes()) return ok_status();
  return wrong(cat(given, " bytes of data for ", value.type.to_string(), ", which has ",
                   value.type.bytes()));
}

Status check_values(const Graph& graph) {
  if (graph.values.size() > kMaxValues) {
    return Error{ErrorCode::kTooLarge, cat(graph.values.size(), " values"), std::nullopt,
                 cat("at most ", kMaxValues)};
  }
  std::unordered_set<std::string_view> names;
  names.reserve(graph.values.size());
  for (const Value& value : graph.values) {
    if (value.name.empty()) return bad_graph("a value has no name");
    TESSERA_CHECK_OK(check_text(value.name));
    TESSERA_CHECK_OK(check_text(value.data.file));
    if (!names.insert(value.name).second) {
      return bad_graph(cat("two values have the name ", quote_name(value.name)),
                       "names of values are unique");
    }
    if (!dtype_bytes(value.type.dtype, value.type.shape.elements())) {
      return Error{ErrorCode::kOverflow, cat("the bytes of value ", quote_name(value.name),
                                             " do not fit a signed 64-bit integer")};
    }
    TESSERA_CHECK_OK(check_data(value));
  }
  return ok_status();
}

}  // namespace

std::string_view kind_name(Kind kind) {
  switch (kind) {
    case Kind::kInput:
      return "input";
    case Kind::kParameter:
      return "parameter";
    case Kind::kConstant:
      return "constant";
    case Kind::kComputed:
      return "computed";
  }
  return "";
}

std::vector<ValueId> Graph::of_kind(Kind kind) const {
  std::vector<ValueId> found;
  for (std::size_t v = 0; v < values.size(); ++v) {
    if (values[v].kind == kind) found.push_back(static_cast<ValueId>(v));
  }
  return found;
}

std::string node_text(const Graph& graph, const Node& node) {
  if (!node.name.empty()) return cat("node ", quote_name(node.name), " (", node.op.name(), ")");
  const Node* const first = graph.nodes.data();
  const bool inside = &node >= first && &node < first + graph.nodes.size();
  return inside ? cat("node ", &node - first, " (", node.op.name(), ")")
                : cat("node (", node.op.name(), ")");
}

Result<Types> infer(const Graph& graph, const Node& node) {
  const Operands operands = operands_of(graph, node);
  Result<Types> types =
      infer(Call(node.op, operands.inputs, node.attributes, node.outputs.size(), operands.outputs));
  if (types) return types;
  Error error = types.error();
  error.message = cat(node_text(graph, node), ": ", error.message);
  return error;
}

std::int64_t flops_of(const Graph& graph, const Node& node) {
  const Operands operands = operands_of(graph, node);
  Types outputs;
  for (const TensorType* const type : operands.outputs) {
    if (type != nullptr) outputs.push_back(*type);
  }
  return flops_of(Call(node.op, operands.inputs, node.attributes, node.outputs.size()), outputs);
}

Status check(const Graph& graph) {
  TESSERA_CHECK_OK(check_text(graph.name));
  TESSERA_CHECK_OK(check_values(graph));
  std::vector<bool> defined(graph.values.size());
  for (std::size_t v = 0; v < defined.size(); ++v) {
    defined[v] = graph.values[v].kind != Kind::kComputed;
  }
  for (const Node& node : graph.nodes) {
    TESSERA_CHECK_OK(check_texts(node.name, node.attributes));
    if (node.inputs.size() > kMaxOperands || node.outputs.size() > kMaxOperands) {
      return Error{ErrorCode::kTooLarge,
                   cat(node_text(graph, node), " has ", node.inputs.size(), " inputs and ",
                       node.outputs.size(), " outputs"),
                   std::nullopt, cat("at most ", kMaxOperands)};
    }
    for (const ValueId v : node.inputs) {
      if (v == kAbsent) continue;
      if (v >= defined.size()) {
        return bad_graph(
            cat(node_text(graph, node), " reads value ", v, ", but there are ", defined.size()));
      }
      if (!defined[v]) {
        return bad_graph(cat(node_text(graph, node), " reads ", quote_name(graph.values[v].name),
                             ", which no node before it computes"),
                         "nodes are in the order in which they run");
      }
    }
    for (const ValueId v : node.outputs) {
      if (v >= defined.size()) {
        return bad_graph(
            cat(node_text(graph, node), " computes value ", v, ", but there are ", defined.size()));
      }
      if (defined[v]) {
        return bad_graph(cat(node_text(graph, node), " computes ", quote_name(graph.values[v].name),
                             ", which is defined already"),
                         "every value is defined once");
      }
      defined[v] = true;
    }
    TESSERA_TRY(const Types types, infer(graph, node));
    for (std::size_t i = 0; i < types.size(); ++i) {
      const Value& value = graph.values[node.outputs[i]];
      if (value.type == types[i]) continue;
      return Error{ErrorCode::kShapeMismatch,
                   cat(node_text(graph, node), " computes ", quote_name(value.name), " as ",
                       types[i].to_string(), ", but it is declared as ", value.type.to_string())};
    }
  }
  for (std::size_t v = 0; v < defined.size(); ++v) {
    if (!defined[v]) {
      return bad_graph(cat("no node computes ", quote_name(graph.values[v].name)));
    }
  }
  for (const ValueId v : graph.outputs) {
    if (v >= defined.size()) {
      return bad_graph(cat("output ", v, " is no value: there are ", defined.size()));
    }
  }
  return ok_status();
}

std::string to_string(const Graph& graph) {
  std::string out = cat(graph.name.empty() ? "graph" : graph.name, "\n");
  const auto name = [&](ValueId v) -> std::string {
    return v < graph.values.size() ? graph.values[v].name : "-";
  };
  for (const Value& value : graph.values) {
    if (value.kind == Kind::kComputed) continue;
    out += cat("  ", value.name, ": ", kind_name(value.kind), " ", value.type.to_string(), "\n");
  }
  for (const Node& node : graph.nodes) {
    std::string left;
    for (const ValueId v : node.outputs) {
      const std::string type = v < graph.values.size() ? graph.values[v].type.to_string() : "?";
      left += cat(left.empty() ? "" : ", ", name(v), ": ", type);
    }
    std::string inputs;
    for (const ValueId v : node.inputs) inputs += cat(inputs.empty() ? "" : ", ", name(v));
    std::string attributes;
    for (const auto& [key, value] : node.attributes) {
      attributes += cat(attributes.empty() ? " {" : ", ", key, "=", to_string(value));
    }
    out += cat("  ", left, " = ", node.op.name(), "(", inputs, ")", attributes,
               attributes.empty() ? "" : "}", "\n");
  }
  std::string outputs;
  for (const ValueId v : graph.outputs) outputs += cat(outputs.empty() ? "" : ", ", name(v));
  return cat(out, "  outputs ", outputs, "\n");
}

}  // namespace tessera::graph
