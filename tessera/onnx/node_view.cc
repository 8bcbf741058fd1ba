// SPDX-License-Identifier: Apache-2.0
#include "tessera/onnx/node_view.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/graph/fold.h"
#include "tessera/onnx/same_ops.h"

namespace tessera::onnx_import {

using graph::Data;
using graph::ValueId;

Error not_supported(std::string reason) {
  return Error{ErrorCode::kNotSupported, std::move(reason)};
}

namespace {

Error not_constant(std::size_t input, const std::string& name) {
  Error error = not_supported(
      cat("input ", input, ", ", quote_name(name), ", decides a shape but is not a constant"));
  error.reasons.push_back({"not_constant", {{"value", name}}});
  return error;
}

}  // namespace

Result<std::vector<std::int64_t>> NodeView::integers(std::size_t i) const {
  if (!has(i)) return not_supported(cat("input ", i, " is left out"));
  const graph::Value& value = builder_.graph().values[inputs_[i]];
  auto numbers =
      graph::integers_of(value.data, value.type.shape, value.type.dtype, graph::kMostFolded);
  if (numbers) return *std::move(numbers);
  return not_constant(i, value.name);
}

Result<std::vector<double>> NodeView::reals(std::size_t i) const {
  if (!has(i)) return not_supported(cat("input ", i, " is left out"));
  const graph::Value& value = builder_.graph().values[inputs_[i]];
  auto numbers =
      graph::reals_of(value.data, value.type.shape, value.type.dtype, graph::kMostFolded);
  if (numbers) return *std::move(numbers);
  return not_constant(i, value.name);
}

const ::onnx::AttributeProto* NodeView::attribute(std::string_view name) const {
  for (const ::onnx::AttributeProto& attribute : proto_.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

std::int64_t NodeView::integer(std::string_view name, std::int64_t otherwise) const {
  const ::onnx::AttributeProto* const found = attribute(name);
  return found == nullptr ? otherwise : found->i();
}

double NodeView::real(std::string_view name, double otherwise) const {
  const ::onnx::AttributeProto* const found = attribute(name);
  return found == nullptr ? otherwise : static_cast<double>(found->f());
}

std::string NodeView::text(std::string_view name, std::string_view otherwise) const {
  const ::onnx::AttributeProto* const found = attribute(name);
  return found == nullptr ? std::string(otherwise) : found->s();
}

std::vector<std::int64_t> NodeView::integer_list(std::string_view name) const {
  const ::onnx::AttributeProto* const found = attribute(name);
  if (found == nullptr) return {};
  return {found->ints().begin(), found->ints().end()};
}

std::vector<double> NodeView::real_list(std::string_view name) const {
  const ::onnx::AttributeProto* const found = attribute(name);
  if (found == nullptr) return {};
  return {found->floats().begin(), found->floats().end()};
}

graph::Attributes NodeView::same_attributes(std::string_view op,
                                            std::initializer_list<std::string_view> except) const {
  graph::Attributes out;
  for (const graph::AttributeRule& rule : graph::Op::find(op)->rule().attributes) {
    const std::string_view theirs = their_attribute(rule.name);
    if (!given(theirs) || std::ranges::find(except, rule.name) != except.end()) continue;
    switch (rule.kind) {
      case graph::AttributeKind::kInteger:
        out.set(rule.name, integer(theirs, 0));
        break;
      case graph::AttributeKind::kReal:
        out.set(rule.name, real(theirs, 0));
        break;
      case graph::AttributeKind::kText:
        out.set(rule.name, text(theirs, ""));
        break;
      case graph::AttributeKind::kIntegers:
        out.set(rule.name, integer_list(theirs));
        break;
      case graph::AttributeKind::kReals:
        out.set(rule.name, real_list(theirs));
        break;
    }
  }
  return out;
}

std::string NodeView::name_of(std::optional<std::size_t> result) {
  const bool named = result && wants(*result);
  const std::string base = proto_.output_size() > 0 ? proto_.output(0) : proto_.op_type();
  return builder_.free_name(named ? proto_.output(static_cast<int>(*result)) : cat(base, ".step"));
}

Result<std::vector<ValueId>> NodeView::emit_at(std::string_view op, std::vector<ValueId> inputs,
                                               graph::Attributes attributes,
                                               const std::vector<std::optional<std::size_t>>& at) {
  while (!inputs.empty() && inputs.back() == graph::kAbsent) inputs.pop_back();
  const std::optional<graph::Op> found = graph::Op::find(op);
  if (!found) return not_supported(cat("there is no op ", op));
  std::vector<const graph::TensorType*> types;
  std::vector<const Data*> data;
  for (const ValueId v : inputs) {
    types.push_back(v == graph::kAbsent ? nullptr : &builder_.type(v));
    data.push_back(v == graph::kAbsent ? nullptr : &builder_.graph().values[v].data);
  }
  const graph::Call call(*found, types, attributes, at.size());
  TESSERA_TRY(const graph::Types outputs, graph::infer(call));
  std::vector<ValueId> ids;
  if (const auto known = graph::fold(call, data, outputs)) {
    for (std::size_t i = 0; i < at.size(); ++i) {
      TESSERA_TRY(const ValueId id,
                  constant(outputs[i].shape.extents(), outputs[i].dtype, (*known)[i], at[i]));
      ids.push_back(id);
    }
    return ids;
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < at.size(); ++i) {
    names.push_back(name_of(at[i]));
    // Outputs without a name would all get the same free one.
    if (i > 0 && !(at[i] && wants(*at[i]))) names[i] = builder_.free_name(cat(names[0], ".", i));
  }
  std::string node = proto_.name().empty() ? names[0] : proto_.name();
  TESSERA_TRY(ids, builder_.add_node(std::move(node), op, std::move(inputs), std::move(names),
                                     std::move(attributes)));
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (at[i] && *at[i] < results_.size()) results_[*at[i]] = ids[i];
  }
  return ids;
}

Result<std::vector<ValueId>> NodeView::emit_all(std::string_view op, std::vector<ValueId> inputs,
                                                graph::Attributes attributes, std::size_t count) {
  std::vector<std::optional<std::size_t>> at;
  for (std::size_t i = 0; i < count; ++i) at.emplace_back(i);
  return emit_at(op, std::move(inputs), std::move(attributes), at);
}

Result<ValueId> NodeView::emit(std::string_view op, std::vector<ValueId> inputs,
                               graph::Attributes attributes, std::optional<std::size_t> result) {
  TESSERA_TRY(const std::vector<ValueId> ids,
              emit_at(op, std::move(inputs), std::move(attributes), {result}));
  return ids[0];
}

Result<ValueId> NodeView::constant(std::vector<std::int64_t> shape, DType dtype, Data data,
                                   std::optional<std::size_t> result, graph::Kind kind) {
  TESSERA_TRY(Shape extents, Shape::make(std::move(shape)));
  TESSERA_TRY(
      const ValueId id,
      builder_.given({name_of(result), {std::move(extents), dtype}, kind, std::move(data)}));
  if (result && *result < results_.size()) results_[*result] = id;
  return id;
}

Result<ValueId> NodeView::number(double value, ValueId like) {
  const DType dtype = builder_.type(like).dtype;
  if (dtype == DType::kF16 || dtype == DType::kBF16) {
    TESSERA_TRY(const ValueId wide,
                constant({}, DType::kF32,
                         Data::of_bytes(*graph::bytes_of(std::vector{value}, DType::kF32))));
    return emit("cast", {wide}, {{"to", std::string(dtype_name(dtype))}});
  }
  const auto bytes = graph::is_float(dtype)
                         ? graph::bytes_of(std::vector{value}, dtype)
                         : graph::bytes_of(std::vector{static_cast<std::int64_t>(value)}, dtype);
  if (!bytes) return not_supported(cat("a number of type ", dtype_name(dtype)));
  return constant({}, dtype, Data::of_bytes(*bytes));
}

Converter converter_of(std::string_view op) {
  static const std::unordered_map<std::string_view, Converter> table = [] {
    std::unordered_map<std::string_view, Converter> map;
    for (auto* const list :
         {value_converters, movement_converters, window_converters, same_converters}) {
      for (const NamedConverter& each : list()) map.emplace(each.op, each.convert);
    }
    return map;
  }();
  const auto at = table.find(op);
  return at == table.end() ? nullptr : at->second;
}

}  // namespace tessera::onnx_import
