// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/op.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/graph/rules/rules.h"

namespace tessera::graph {
namespace {

const AttributeRule* find_rule(const OpRule& op, std::string_view name) {
  const auto at = std::ranges::find(op.attributes, name, &AttributeRule::name);
  return at == op.attributes.end() ? nullptr : &*at;
}

std::string count_text(Arity arity) {
  if (arity.most == kAnyNumber) return cat("at least ", arity.least);
  if (arity.least == arity.most) return cat(arity.least);
  return cat(arity.least, " to ", arity.most);
}

Status check_counts(const Call& call) {
  const OpRule& rule = call.op().rule();
  if (call.inputs() < rule.inputs.least || call.inputs() > rule.inputs.most) {
    return rules::bad(cat(call.inputs(), " inputs, expected ", count_text(rule.inputs)));
  }
  if (call.outputs() < rule.outputs.least || call.outputs() > rule.outputs.most) {
    return rules::bad(cat(call.outputs(), " outputs, expected ", count_text(rule.outputs)));
  }
  // Only inputs beyond the least number are optional, and only where that number is bounded.
  const std::size_t needed =
      rule.inputs.most == kAnyNumber && !rule.is_open ? call.inputs() : rule.inputs.least;
  for (std::size_t i = 0; i < std::min(needed, call.inputs()); ++i) {
    if (!call.has(i)) return rules::bad(cat("input ", i, " is left out"), "it is not optional");
  }
  return ok_status();
}

Status check_attributes(const OpRule& op, const Attributes& attributes) {
  for (const auto& [name, value] : attributes) {
    const AttributeRule* const rule = find_rule(op, name);
    if (rule == nullptr) {
      if (op.is_open) continue;
      std::vector<std::string_view> names;
      for (const AttributeRule& known : op.attributes) names.push_back(known.name);
      return rules::bad(cat("unknown attribute ", quote_name(name)),
                        names.empty() ? "this op has no attributes" : did_you_mean(name, names));
    }
    if (kind_of(value) != rule->kind) {
      return rules::bad(cat("attribute ", name, " is ", kind_text(kind_of(value)), ", expected ",
                            kind_text(rule->kind)));
    }
  }
  for (const AttributeRule& rule : op.attributes) {
    if (rule.required && attributes.find(rule.name) == nullptr) {
      return rules::bad(cat("attribute ", rule.name, " is missing"),
                        cat("it is ", kind_text(rule.kind)));
    }
  }
  return ok_status();
}

}  // namespace

std::string TensorType::to_string() const {
  return cat(dtype_name(dtype), bracketed(shape.extents()));
}

std::int64_t TensorType::bytes() const {
  return dtype_bytes(dtype, shape.elements()).value_or(INT64_MAX);
}

std::string_view family_name(Family family) {
  switch (family) {
    case Family::kElementwise:
      return "elementwise";
    case Family::kReduction:
      return "reduction";
    case Family::kContraction:
      return "contraction";
    case Family::kNormalization:
      return "normalization";
    case Family::kWindow:
      return "window";
    case Family::kMovement:
      return "movement";
    case Family::kCreation:
      return "creation";
    case Family::kOther:
      return "other";
  }
  return "";
}

const std::vector<OpRule>& all_ops() {
  static const std::vector<OpRule> table = [] {
    std::vector<OpRule> ops;
    for (auto* const family :
         {rules::elementwise_ops, rules::reduction_ops, rules::contraction_ops,
          rules::normalization_ops, rules::window_ops, rules::movement_ops, rules::creation_ops}) {
      for (OpRule& op : family()) ops.push_back(std::move(op));
    }
    std::ranges::sort(ops, {}, [](const OpRule& op) { return std::pair(op.family, op.name); });
    return ops;
  }();
  return table;
}

std::optional<Op> Op::find(std::string_view name) {
  static const std::unordered_map<std::string_view, const OpRule*> by_name = [] {
    std::unordered_map<std::string_view, const OpRule*> map;
    for (const OpRule& op : all_ops()) map.emplace(op.name, &op);
    return map;
  }();
  const auto at = by_name.find(name);
  if (at == by_name.end()) return std::nullopt;
  return Op(at->second);
}

const Attribute* Call::attribute(std::string_view name) const {
  if (const Attribute* const given = attributes_->find(name)) return given;
  const AttributeRule* const rule = find_rule(op_.rule(), name);
  return rule != nullptr && rule->otherwise ? &*rule->otherwise : nullptr;
}

std::int64_t Call::integer(std::string_view name) const {
  const Attribute* const value = attribute(name);
  const auto* const integer = value == nullptr ? nullptr : std::get_if<std::int64_t>(value);
  return integer == nullptr ? 0 : *integer;
}

double Call::real(std::string_view name) const {
  const Attribute* const value = attribute(name);
  const auto* const real = value == nullptr ? nullptr : std::get_if<double>(value);
  return real == nullptr ? 0 : *real;
}

std::string_view Call::text(std::string_view name) const {
  const Attribute* const value = attribute(name);
  const auto* const text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return text == nullptr ? std::string_view() : std::string_view(*text);
}

const std::vector<std::int64_t>& Call::integers(std::string_view name) const {
  static const std::vector<std::int64_t> kNone;
  const Attribute* const value = attribute(name);
  const auto* const list =
      value == nullptr ? nullptr : std::get_if<std::vector<std::int64_t>>(value);
  return list == nullptr ? kNone : *list;
}

const std::vector<double>& Call::reals(std::string_view name) const {
  static const std::vector<double> kNone;
  const Attribute* const value = attribute(name);
  const auto* const list = value == nullptr ? nullptr : std::get_if<std::vector<double>>(value);
  return list == nullptr ? kNone : *list;
}

Result<Types> infer(const Call& call) {
  TESSERA_CHECK_OK(check_counts(call));
  TESSERA_CHECK_OK(check_attributes(call.op().rule(), call.attributes()));
  TESSERA_TRY(Types types, call.op().rule().infer(call));
  for (const TensorType& type : types) {
    if (dtype_bytes(type.dtype, type.shape.elements())) continue;
    return Error{ErrorCode::kOverflow,
                 cat("the bytes of ", type.to_string(), " do not fit a signed 64-bit integer")};
  }
  return types;
}

std::int64_t flops_of(const Call& call, const Types& outputs) {
  const OpRule& rule = call.op().rule();
  if (rule.flops != nullptr) return rule.flops(call, outputs);
  if (outputs.empty()) return 0;
  return (Checked(outputs[0].shape.elements()) * rule.per_element).saturated();
}

}  // namespace tessera::graph
