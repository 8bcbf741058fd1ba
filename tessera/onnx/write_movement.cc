// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/onnx/node_view.h"
#include "tessera/onnx/node_writer.h"

namespace tessera::onnx_import {
namespace {

using Ints = std::vector<std::int64_t>;

/// Nothing is dropped at inference. ONNX's Dropout has floats only.
Status dropout(NodeWriter& node) {
  if (!graph::is_float(node.in(0).type.dtype)) return node.write("Identity", {node.in(0)});
  std::vector<Ref> inputs = {node.in(0)};
  if (node.call().given("ratio")) {
    const graph::TensorType one{Shape(), DType::kF32};
    const auto bytes = graph::bytes_of(std::vector{node.call().real("ratio")}, DType::kF32);
    inputs.push_back(node.tensor("ratio", one, *bytes));
  }
  return node.write("Dropout", inputs);
}

/// An extent of 0 is 0, not the extent of the input.
Status reshape(NodeWriter& node) {
  const Ints& shape = node.call().integers("shape");
  AttributeProtos attributes;
  if (std::ranges::count(shape, 0) > 0) attributes.push_back(attribute("allowzero", 1L));
  return node.write("Reshape", {node.in(0), node.integers("shape", shape)}, attributes);
}

Status squeeze(NodeWriter& node) {
  const std::string_view op = node.op() == "squeeze" ? "Squeeze" : "Unsqueeze";
  if (!node.call().given("axes")) return node.write(op, {node.in(0)});
  const Ints& axes = node.call().integers("axes");
  if (axes.empty()) return node.write("Identity", {node.in(0)});  // in ONNX it would be all
  return node.write(op, {node.in(0), node.integers("axes", axes)});
}

Status slice(NodeWriter& node) {
  if (node.call().integers("starts").empty()) return node.write("Identity", {node.in(0)});
  std::vector<Ref> inputs = {node.in(0)};
  for (const std::string_view name : {"starts", "ends", "axes", "steps"}) {
    const bool given = node.call().given(name);
    inputs.push_back(given ? node.integers(name, node.call().integers(name)) : Ref{});
  }
  return node.write("Slice", inputs);
}

Status split(NodeWriter& node) {
  return node.write("Split", {node.in(0), node.integers("sizes", node.call().integers("sizes"))},
                    node.same_attributes({"sizes"}));
}

Status pad(NodeWriter& node) {
  TESSERA_TRY(const Ref value, node.as_scalar(node.in(1)));
  return node.write("Pad", {node.in(0), node.integers("pads", node.call().integers("pads")), value},
                    node.same_attributes({"pads"}));
}

Status expand(NodeWriter& node) {
  return node.write("Expand", {node.in(0), node.integers("shape", node.call().integers("shape"))});
}

Status tile(NodeWriter& node) {
  return node.write("Tile",
                    {node.in(0), node.integers("repeats", node.call().integers("repeats"))});
}

Status embedding(NodeWriter& node) { return node.write("Gather", node.all_inputs()); }

Status trilu(NodeWriter& node) {
  return node.write("Trilu", {node.in(0), node.integer("k", node.call().integer("k"))},
                    node.same_attributes({"k"}));
}

/// ONNX has time and batch in the first two dims.
Status reverse_sequence(NodeWriter& node) {
  const auto rank = static_cast<std::int64_t>(node.in(0).type.shape.rank());
  AttributeProtos attributes;
  for (const std::string_view name : {"batch_axis", "time_axis"}) {
    const std::int64_t axis = node.call().integer(name);
    const std::int64_t dim = axis < 0 ? axis + rank : axis;
    if (dim > 1) return Status(not_supported(cat(name, " ", axis, "; ONNX has it in dim 0 or 1")));
    attributes.push_back(attribute(name, dim));
  }
  return node.write("ReverseSequence", node.all_inputs(), attributes);
}

/// Elements of f16 and bf16 are written as f32, which holds them, and cast.
Status write_elements(NodeWriter& node, std::string elements, DType dtype) {
  const graph::TensorType type{node.out(0).type.shape, dtype};
  ::onnx::AttributeProto value;
  value.set_name("value");
  value.set_type(::onnx::AttributeProto::TENSOR);
  *value.mutable_t() = tensor_proto("", type, std::move(elements));
  if (dtype == node.out(0).type.dtype) return node.write("Constant", {}, {value});
  TESSERA_TRY(const Ref wide, node.step("Constant", {}, type, {value}));
  return node.write("Cast", {wide},
                    {attribute("to", std::int64_t{onnx_type_of(node.out(0).type.dtype)})});
}

DType stored_type(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 ? DType::kF32 : dtype;
}

Status constant(NodeWriter& node) {
  const DType dtype = stored_type(node.out(0).type.dtype);
  auto bytes = graph::is_float(dtype) ? graph::bytes_of(node.call().reals("reals"), dtype)
                                      : graph::bytes_of(node.call().integers("integers"), dtype);
  return write_elements(node, *std::move(bytes), dtype);
}

Status constant_of_shape(NodeWriter& node) {
  const graph::TensorType type = node.out(0).type;
  const DType dtype = stored_type(type.dtype);
  const double number = node.call().real("value");
  const auto bytes = graph::is_float(dtype)
                         ? graph::bytes_of(std::vector{number}, dtype)
                         : graph::bytes_of(Ints{static_cast<std::int64_t>(number)}, dtype);
  ::onnx::AttributeProto value;
  value.set_name("value");
  value.set_type(::onnx::AttributeProto::TENSOR);
  *value.mutable_t() = tensor_proto("", {*Shape::make({1}), dtype}, *bytes);
  const std::vector<Ref> inputs = {node.integers("shape", node.call().integers("shape"))};
  if (dtype == type.dtype) return node.write("ConstantOfShape", inputs, {value});
  TESSERA_TRY(const Ref wide, node.step("ConstantOfShape", inputs, {type.shape, dtype}, {value}));
  return node.write("Cast", {wide}, {attribute("to", std::int64_t{onnx_type_of(type.dtype)})});
}

/// Numbers are computed in f64, as the op does, and cast.
Status range(NodeWriter& node) {
  const graph::TensorType scalar{Shape(), DType::kF64};
  std::vector<Ref> inputs;
  for (const std::string_view name : {"start", "limit", "delta"}) {
    const auto bytes = graph::bytes_of(std::vector{node.call().real(name)}, DType::kF64);
    inputs.push_back(node.tensor(name, scalar, *bytes));
  }
  const graph::TensorType type = node.out(0).type;
  if (type.dtype == DType::kF64) return node.write("Range", inputs);
  TESSERA_TRY(const Ref wide, node.step("Range", inputs, {type.shape, DType::kF64}));
  return node.write("Cast", {wide}, {attribute("to", std::int64_t{onnx_type_of(type.dtype)})});
}

Status shape(NodeWriter& node) {
  AttributeProtos attributes = {attribute("start", node.call().integer("start"))};
  if (node.call().given("end")) attributes.push_back(attribute("end", node.call().integer("end")));
  return node.write("Shape", {node.in(0)}, attributes);
}

Status size(NodeWriter& node) { return node.write("Size", {node.in(0)}); }

Status one_hot(NodeWriter& node) {
  const Ref depth = node.integer("depth", node.call().integer("depth"));
  return node.write("OneHot", {node.in(0), depth, node.in(1)}, node.same_attributes({"depth"}));
}

Status top_k(NodeWriter& node) {
  return node.write("TopK", {node.in(0), node.integers("k", {node.call().integer("k")})},
                    node.same_attributes({"k"}));
}

Status eye_like(NodeWriter& node) {
  return node.write("EyeLike", {node.in(0)},
                    {attribute("k", node.call().integer("k")),
                     attribute("dtype", std::int64_t{onnx_type_of(node.out(0).type.dtype)})});
}

}  // namespace

std::vector<NamedWriter> movement_writers() {
  return {{"dropout", dropout},   {"reshape", reshape},
          {"squeeze", squeeze},   {"unsqueeze", squeeze},
          {"slice", slice},       {"split", split},
          {"pad", pad},           {"expand", expand},
          {"tile", tile},         {"embedding", embedding},
          {"trilu", trilu},       {"reverse_sequence", reverse_sequence},
          {"constant", constant}, {"constant_of_shape", constant_of_shape},
          {"range", range},       {"shape", shape},
          {"size", size},         {"one_hot", one_hot},
          {"topk", top_k},        {"eye_like", eye_like}};
}

}  // namespace tessera::onnx_import
