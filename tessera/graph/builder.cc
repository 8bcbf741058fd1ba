// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/builder.h"

#include <array>
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

std::string shown(std::string_view name, std::string_view op) {
  return name.empty() ? cat("node (", op, ")") : cat("node ", quote_name(name), " (", op, ")");
}

}  // namespace

Status GraphBuilder::check_name(std::string_view name) const {
  if (name.empty()) return bad_graph("a value has no name");
  TESSERA_CHECK_OK(check_text(name));
  if (find(name) == kAbsent) return ok_status();
  return bad_graph(cat("two values have the name ", quote_name(name)),
                   "names of values are unique");
}

ValueId GraphBuilder::find(std::string_view name) const {
  const auto at = by_name_.find(std::string(name));
  return at == by_name_.end() ? kAbsent : at->second;
}

std::string GraphBuilder::free_name(std::string_view stem) {
  if (find(stem) == kAbsent) return std::string(stem);
  std::int64_t& number = numbers_[std::string(stem)];
  while (true) {
    std::string name = cat(stem, "_", ++number);
    if (find(name) == kAbsent) return name;
  }
}

Result<ValueId> GraphBuilder::given(Value value) {
  if (value.kind == Kind::kComputed) {
    return bad_graph(cat("value ", quote_name(value.name), " is computed"), "add its node");
  }
  // The rules about one value alone, without a copy of the graph.
  Graph alone;
  alone.values.push_back(std::move(value));
  TESSERA_CHECK_OK(check(alone));
  Value& checked = alone.values.front();
  TESSERA_CHECK_OK(check_name(checked.name));
  if (graph_.values.size() == kMaxValues) {
    return Error{ErrorCode::kTooLarge, cat("more than ", kMaxValues, " values")};
  }
  const auto id = static_cast<ValueId>(graph_.values.size());
  by_name_.emplace(checked.name, id);
  graph_.values.push_back(std::move(checked));
  return id;
}

Result<ValueId> GraphBuilder::input(std::string name, std::vector<std::int64_t> shape,
                                    DType dtype) {
  TESSERA_TRY(Shape extents, Shape::make(std::move(shape)));
  return given({std::move(name), {std::move(extents), dtype}, Kind::kInput});
}

Result<ValueId> GraphBuilder::parameter(std::string name, std::vector<std::int64_t> shape,
                                        DType dtype, Data data) {
  TESSERA_TRY(Shape extents, Shape::make(std::move(shape)));
  return given({std::move(name), {std::move(extents), dtype}, Kind::kParameter, std::move(data)});
}

Result<ValueId> GraphBuilder::constant(std::string name, std::vector<std::int64_t> shape,
                                       DType dtype, Data data) {
  TESSERA_TRY(Shape extents, Shape::make(std::move(shape)));
  return given({std::move(name), {std::move(extents), dtype}, Kind::kConstant, std::move(data)});
}

Result<ValueId> GraphBuilder::add(std::string_view op, std::vector<ValueId> inputs,
                                  Attributes attributes, std::string name) {
  if (name.empty()) name = free_name(op);
  std::vector<std::string> outputs = {name};
  TESSERA_TRY(const std::vector<ValueId> ids, add_node(std::move(name), op, std::move(inputs),
                                                       std::move(outputs), std::move(attributes)));
  return ids[0];
}

Result<std::vector<ValueId>> GraphBuilder::add_node(std::string name, std::string_view op_name,
                                                    std::vector<ValueId> inputs,
                                                    std::vector<std::string> outputs,
                                                    Attributes attributes,
                                                    const std::vector<TensorType>& declared) {
  const std::optional<Op> op = Op::find(op_name);
  if (!op) {
    std::vector<std::string_view> names;
    for (const OpRule& rule : all_ops()) names.push_back(rule.name);
    return Error{ErrorCode::kUnknownName,
                 cat(shown(name, op_name), ": there is no op ", quote_name(op_name)), std::nullopt,
                 did_you_mean(op_name, names)};
  }
  if (inputs.size() > kMaxOperands || outputs.size() > kMaxOperands ||
      graph_.values.size() + outputs.size() > kMaxValues) {
    return Error{ErrorCode::kTooLarge, cat(shown(name, op_name), " makes the graph too large")};
  }
  std::vector<const TensorType*> types_in;
  for (const ValueId v : inputs) {
    if (v != kAbsent && v >= graph_.values.size()) {
      return bad_graph(
          cat(shown(name, op_name), " reads value ", v, ", but there are ", graph_.values.size()));
    }
    types_in.push_back(v == kAbsent ? nullptr : &graph_.values[v].type);
  }
  TESSERA_CHECK_OK(check_texts(name, attributes));
  std::unordered_set<std::string_view> fresh;
  for (const std::string& output : outputs) {
    Status free = check_name(output);
    if (free && !fresh.insert(output).second) {
      free = bad_graph(cat("two outputs have the name ", quote_name(output)));
    }
    if (!free) {
      Error error = free.error();
      error.message = cat(shown(name, op_name), ": ", error.message);
      return error;
    }
  }
  std::vector<const TensorType*> types_out;
  for (const TensorType& type : declared) types_out.push_back(&type);
  Result<Types> types = infer(Call(*op, types_in, attributes, outputs.size(), types_out));
  if (!types) {
    Error error = types.error();
    error.message = cat(shown(name, op_name), ": ", error.message);
    return error;
  }
  Node node{std::move(name), *op, std::move(inputs), {}, std::move(attributes)};
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto id = static_cast<ValueId>(graph_.values.size());
    by_name_.emplace(outputs[i], id);
    graph_.values.push_back({std::move(outputs[i]), std::move((*types)[i]), Kind::kComputed});
    node.outputs.push_back(id);
  }
  graph_.nodes.push_back(std::move(node));
  return graph_.nodes.back().outputs;
}

Status GraphBuilder::output(ValueId value) {
  if (value >= graph_.values.size()) {
    return Error{ErrorCode::kOutOfRange,
                 cat("output ", value, " is no value: there are ", graph_.values.size())};
  }
  graph_.outputs.push_back(value);
  return ok_status();
}

}  // namespace tessera::graph
