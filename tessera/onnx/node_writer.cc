// SPDX-License-Identifier: Apache-2.0
#include "tessera/onnx/node_writer.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/onnx/model_shim.h"
#include "tessera/onnx/node_view.h"
#include "tessera/onnx/onnx_export.h"
#include "tessera/onnx/same_ops.h"

namespace tessera::onnx_import {

using graph::TensorType;
using ::onnx::AttributeProto;

namespace {

AttributeProto named(std::string_view name, AttributeProto::AttributeType type) {
  AttributeProto proto;
  proto.set_name(std::string(name));
  proto.set_type(type);
  return proto;
}

/// Types that hold every number of `dtype`, narrow ones first. Integers that wrap do so in them as
/// well, once the result is cast back.
std::vector<DType> wider_types(DType dtype) {
  switch (dtype) {
    case DType::kF16:
    case DType::kBF16:
      return {DType::kF32, DType::kF64};
    case DType::kF32:
      return {DType::kF64};
    case DType::kI8:
    case DType::kI16:
      return {DType::kI32, DType::kI64};
    case DType::kI32:
      return {DType::kI64};
    case DType::kBool:
    case DType::kU8:
    case DType::kU16:
      return {DType::kI32, DType::kU32, DType::kI64, DType::kU64};
    case DType::kU32:
      return {DType::kU64, DType::kI64};
    default:
      return {};
  }
}

/// The formal parameter of operand i; the last one repeats.
const Formal& formal_of(const std::vector<Formal>& formals, std::size_t i) {
  return formals[std::min(i, formals.size() - 1)];
}

/// What the type variables of an op stand for in one call, after widening.
class Variables {
 public:
  explicit Variables(std::string_view op) : op_(op) {}

  Status bind(const std::vector<Formal>& formals, const std::vector<Ref>& operands) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].name.empty() || formals.empty()) continue;
      const Formal& formal = formal_of(formals, i);
      if (types_.contains(formal.variable)) continue;
      TESSERA_TRY(types_[formal.variable], accepted(formal, operands[i].type.dtype));
    }
    return ok_status();
  }
  DType type(const std::vector<Formal>& formals, std::size_t i, DType otherwise) const {
    if (formals.empty()) return otherwise;
    const auto at = types_.find(formal_of(formals, i).variable);
    return at == types_.end() ? otherwise : at->second;
  }

 private:
  Result<DType> accepted(const Formal& formal, DType dtype) const {
    const auto accepts = [&](DType each) {
      return std::ranges::count(formal.types, onnx_type_of(each)) > 0;
    };
    if (accepts(dtype)) return dtype;
    for (const DType wider : wider_types(dtype)) {
      if (accepts(wider)) return wider;
    }
    return not_supported(cat("ONNX's ", op_, " has no elements of type ", dtype_name(dtype)));
  }

  std::string_view op_;
  std::map<std::string, DType> types_;
};

}  // namespace

AttributeProto attribute(std::string_view name, std::int64_t value) {
  AttributeProto proto = named(name, AttributeProto::INT);
  proto.set_i(value);
  return proto;
}
AttributeProto attribute(std::string_view name, double value) {
  AttributeProto proto = named(name, AttributeProto::FLOAT);
  proto.set_f(static_cast<float>(value));
  return proto;
}
AttributeProto attribute(std::string_view name, std::string_view value) {
  AttributeProto proto = named(name, AttributeProto::STRING);
  proto.set_s(std::string(value));
  return proto;
}
AttributeProto attribute(std::string_view name, const std::vector<std::int64_t>& values) {
  AttributeProto proto = named(name, AttributeProto::INTS);
  for (const std::int64_t value : values) proto.add_ints(value);
  return proto;
}
AttributeProto attribute(std::string_view name, const std::vector<double>& values) {
  AttributeProto proto = named(name, AttributeProto::FLOATS);
  for (const double value : values) proto.add_floats(static_cast<float>(value));
  return proto;
}

::onnx::TensorProto tensor_proto(const std::string& name, const TensorType& type,
                                 std::string bytes) {
  ::onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(onnx_type_of(type.dtype));
  for (const std::int64_t extent : type.shape.extents()) tensor.add_dims(extent);
  tensor.set_raw_data(std::move(bytes));
  return tensor;
}

void set_type(const TensorType& type, ::onnx::TypeProto& proto) {
  auto* const tensor = proto.mutable_tensor_type();
  tensor->set_elem_type(onnx_type_of(type.dtype));
  auto* const shape = tensor->mutable_shape();  // present also without dims
  for (const std::int64_t extent : type.shape.extents()) shape->add_dim()->set_dim_value(extent);
}

ModelWriter::ModelWriter(const graph::Graph& graph) {
  for (const graph::Value& value : graph.values) names_.take(value.name);
}

std::string FreeNames::take_free(const std::string& stem) {
  std::string name = stem;
  for (std::int64_t& i = numbers_[stem]; !names_.insert(name).second;) {
    name = cat(stem, "_", ++i);
  }
  return name;
}

Ref ModelWriter::tensor(const std::string& stem, const TensorType& type, std::string bytes) {
  Ref ref{free_name(stem), type};
  ::onnx::TensorProto& tensor = *proto().add_initializer();
  tensor = tensor_proto(ref.name, type, std::move(bytes));
  // Import drops constants that it has made attributes; parameters stay.
  if (kind_of_initializer(type.dtype) != graph::Kind::kConstant) {
    tensor.set_doc_string(std::string(kind_note(graph::Kind::kConstant)));
  }
  return ref;
}

::onnx::NodeProto& ModelWriter::append(const std::string& node, std::string_view op,
                                       const std::vector<Ref>& inputs,
                                       const std::vector<Ref>& outputs) {
  ::onnx::NodeProto& out = *proto().add_node();
  out.set_name(free_node_name(node));
  out.set_op_type(std::string(op));
  for (const Ref& input : inputs) out.add_input(input.name);
  for (const Ref& output : outputs) out.add_output(output.name);
  return out;
}

void ModelWriter::cast(const std::string& node, const Ref& from, const Ref& to) {
  *append(node, "Cast", {from}, {to}).add_attribute() =
      attribute("to", std::int64_t{onnx_type_of(to.type.dtype)});
}

Status ModelWriter::add(const std::string& node, std::string_view op, std::vector<Ref> inputs,
                        const std::vector<Ref>& outputs, const AttributeProtos& attributes) {
  while (!inputs.empty() && inputs.back().name.empty()) inputs.pop_back();
  TESSERA_TRY(const Signature* const signature, signature_of(op, kWrittenOpset));
  Variables variables(op);
  TESSERA_CHECK_OK(variables.bind(signature->inputs, inputs));
  TESSERA_CHECK_OK(variables.bind(signature->outputs, outputs));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].name.empty()) continue;
    Ref wide = inputs[i];
    wide.type.dtype = variables.type(signature->inputs, i, inputs[i].type.dtype);
    if (wide.type.dtype == inputs[i].type.dtype) continue;
    wide.name = free_name(cat(inputs[i].name, ".", dtype_name(wide.type.dtype)));
    cast(node, inputs[i], wide);
    inputs[i] = std::move(wide);
  }
  std::vector<Ref> computed = outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Ref& wide = computed[i];
    wide.type.dtype = variables.type(signature->outputs, i, wide.type.dtype);
    if (wide.type.dtype == outputs[i].type.dtype) continue;
    wide.name = free_name(cat(outputs[i].name, ".", dtype_name(wide.type.dtype)));
  }
  ::onnx::NodeProto& written = append(node, op, inputs, computed);
  for (const AttributeProto& each : attributes) *written.add_attribute() = each;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (computed[i].name != outputs[i].name) cast(node, computed[i], outputs[i]);
  }
  return ok_status();
}

namespace {

std::vector<const TensorType*> types_of_inputs(const graph::Graph& graph, const graph::Node& node) {
  std::vector<const TensorType*> types;
  for (const graph::ValueId v : node.inputs) {
    types.push_back(v == graph::kAbsent ? nullptr : &graph.values[v].type);
  }
  return types;
}

}  // namespace

NodeWriter::NodeWriter(const graph::Graph& graph, const graph::Node& node, ModelWriter& model)
    : graph_(graph),
      node_(node),
      model_(model),
      types_(types_of_inputs(graph, node)),
      call_(node.op, types_, node.attributes, node.outputs.size()) {}

Ref NodeWriter::in(std::size_t i) const {
  if (!has(i)) return {};
  const graph::Value& value = graph_.values[node_.inputs[i]];
  return {value.name, value.type};
}

std::vector<Ref> NodeWriter::all_inputs() const {
  std::vector<Ref> inputs;
  for (std::size_t i = 0; i < node_.inputs.size(); ++i) inputs.push_back(in(i));
  return inputs;
}

Ref NodeWriter::out(std::size_t i) const {
  const graph::Value& value = graph_.values[node_.outputs[i]];
  return {value.name, value.type};
}

AttributeProtos NodeWriter::same_attributes(std::initializer_list<std::string_view> except) const {
  AttributeProtos out;
  for (const graph::AttributeRule& rule : call_.op().rule().attributes) {
    if (!call_.given(rule.name) || std::ranges::find(except, rule.name) != except.end()) continue;
    const std::string_view theirs = their_attribute(rule.name);
    switch (rule.kind) {
      case graph::AttributeKind::kInteger:
        out.push_back(attribute(theirs, call_.integer(rule.name)));
        break;
      case graph::AttributeKind::kReal:
        out.push_back(attribute(theirs, call_.real(rule.name)));
        break;
      case graph::AttributeKind::kText:
        out.push_back(attribute(theirs, call_.text(rule.name)));
        break;
      case graph::AttributeKind::kIntegers:
        if (call_.integers(rule.name).empty()) break;
        out.push_back(attribute(theirs, call_.integers(rule.name)));
        break;
      case graph::AttributeKind::kReals:
        out.push_back(attribute(theirs, call_.reals(rule.name)));
        break;
    }
  }
  return out;
}

std::string NodeWriter::stem(std::string_view what) const { return cat(out(0).name, ".", what); }

Status NodeWriter::write(std::string_view op, const std::vector<Ref>& inputs,
                         const AttributeProtos& attributes) {
  std::vector<Ref> outputs;
  for (std::size_t i = 0; i < node_.outputs.size(); ++i) outputs.push_back(out(i));
  return model_.add(node_.name, op, inputs, outputs, attributes);
}

Result<Ref> NodeWriter::step(std::string_view op, const std::vector<Ref>& inputs,
                             const TensorType& type, const AttributeProtos& attributes) {
  Ref result{model_.free_name(stem(op)), type};
  TESSERA_CHECK_OK(model_.add(node_.name, op, inputs, {result}, attributes));
  return result;
}

Ref NodeWriter::tensor(std::string_view name, const TensorType& type, std::string bytes) {
  return model_.tensor(stem(name), type, std::move(bytes));
}

Ref NodeWriter::integers(std::string_view name, const std::vector<std::int64_t>& list) {
  const Shape shape = *Shape::make({std::ssize(list)});
  return tensor(name, {shape, DType::kI64}, *graph::bytes_of(list, DType::kI64));
}

Ref NodeWriter::integer(std::string_view name, std::int64_t number) {
  return tensor(name, {Shape(), DType::kI64},
                *graph::bytes_of(std::vector<std::int64_t>{number}, DType::kI64));
}

Ref NodeWriter::reals(std::string_view name, const std::vector<double>& list) {
  const Shape shape = *Shape::make({std::ssize(list)});
  return tensor(name, {shape, DType::kF32}, *graph::bytes_of(list, DType::kF32));
}

Result<Ref> NodeWriter::as_scalar(const Ref& x) {
  if (x.name.empty() || x.type.shape.rank() == 0) return x;
  return step("Reshape", {x, integers("shape", {})}, {Shape(), x.type.dtype});
}

Writer writer_of(std::string_view op) {
  static const std::unordered_map<std::string_view, Writer> table = [] {
    std::unordered_map<std::string_view, Writer> map;
    for (auto* const list : {value_writers, movement_writers, window_writers, same_writers}) {
      for (const NamedWriter& each : list()) map.emplace(each.op, each.write);
    }
    return map;
  }();
  const auto at = table.find(op);
  return at == table.end() ? nullptr : at->second;
}

}  // namespace tessera::onnx_import
