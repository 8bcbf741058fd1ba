// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "tessera/base/text.h"
#include "tessera/onnx/node_view.h"
#include "tessera/onnx/same_ops.h"

namespace tessera::onnx_import {
namespace {

using graph::Attributes;
using graph::ValueId;

/// Before opset 11.
Status scatter(NodeView& node) {
  constexpr std::string_view kOp = "scatter_elements";
  TESSERA_CHECK_OK(node.emit(kOp, node.all_inputs(), node.same_attributes(kOp), 0));
  return ok_status();
}

/// Before opset 7 the second operand was broadcast only on request, aligned at `axis`.
Status binary(NodeView& node) {
  const std::string_view op = our_op(node.op());
  std::vector<ValueId> inputs = node.all_inputs();
  if (node.version() < 7 && inputs.size() == 2 && node.integer("broadcast", 0) != 0 &&
      node.given("axis")) {
    std::int64_t axis = node.integer("axis", 0);
    const auto rank = static_cast<std::int64_t>(node.shape(0).rank());
    if (axis < 0) axis += rank;
    std::vector<std::int64_t> extents = node.shape(1).extents();
    while (std::ssize(extents) + axis < rank) extents.push_back(1);
    TESSERA_TRY(inputs[1], node.emit("reshape", {inputs[1]}, {{"shape", extents}}));
  }
  TESSERA_CHECK_OK(node.emit(op, std::move(inputs), node.same_attributes(op), 0));
  return ok_status();
}

/// Max, Min, Sum and Mean of any number of inputs.
Status several(NodeView& node) {
  const bool mean = node.op() == "Mean";
  const std::string_view op = mean || node.op() == "Sum" ? "add" : our_op(node.op());
  if (node.inputs() == 0) return not_supported("no inputs");
  ValueId sum = node.input(0);
  for (std::size_t i = 1; i < node.inputs(); ++i) {
    const bool last = i + 1 == node.inputs() && !mean;
    TESSERA_TRY(sum, node.emit(op, {sum, node.input(i)}, {},
                               last ? std::optional<std::size_t>(0) : std::nullopt));
  }
  if (mean) {
    TESSERA_TRY(const ValueId count, node.number(static_cast<double>(node.inputs()), sum));
    TESSERA_CHECK_OK(node.emit("div", {sum, count}, {}, 0));
  } else if (node.inputs() == 1) {
    TESSERA_CHECK_OK(node.emit("identity", {sum}, {}, 0));
  }
  return ok_status();
}

Status cast(NodeView& node) {
  DType to = DType::kF32;
  if (node.op() == "CastLike") {
    to = node.input_type(1).dtype;
  } else if (!node.text("to", "").empty()) {  // before opset 6: a name
    ::onnx::TensorProto::DataType type{};
    if (!::onnx::TensorProto::DataType_Parse(node.text("to", ""), &type)) {
      return not_supported("an unknown element type");
    }
    TESSERA_TRY(to, dtype_of(type));
  } else {
    TESSERA_TRY(to, dtype_of(node.integer("to", 0)));
  }
  TESSERA_CHECK_OK(node.emit("cast", {node.input(0)}, {{"to", std::string(dtype_name(to))}}, 0));
  return ok_status();
}

Status clip(NodeView& node) {
  std::vector<ValueId> inputs = node.all_inputs();
  if (node.version() < 11) {
    inputs.resize(3, graph::kAbsent);
    for (const auto& [name, at] : {std::pair{"min", 1}, std::pair{"max", 2}}) {
      if (!node.given(name)) continue;
      TESSERA_TRY(inputs[static_cast<std::size_t>(at)], node.number(node.real(name, 0), inputs[0]));
    }
  }
  TESSERA_CHECK_OK(node.emit("clip", std::move(inputs), {}, 0));
  return ok_status();
}

/// Before opset 13 the dims from `axis` on were one: the input is seen as a matrix.
Status softmax(NodeView& node) {
  const std::string_view op = our_op(node.op());
  const bool matrix = node.version() < 13;
  const std::int64_t axis = node.integer("axis", matrix ? 1 : -1);
  if (!matrix) {
    TESSERA_CHECK_OK(node.emit(op, {node.input(0)}, {{"axis", axis}}, 0));
    return ok_status();
  }
  TESSERA_TRY(const ValueId flat, node.emit("flatten", {node.input(0)}, {{"axis", axis}}));
  TESSERA_TRY(const ValueId result, node.emit(op, {flat}, {{"axis", 1}}));
  TESSERA_CHECK_OK(node.emit("reshape", {result}, {{"shape", node.shape(0).extents()}}, 0));
  return ok_status();
}

Status reduce(NodeView& node) {
  const std::string_view op = our_op(node.op());
  Attributes attributes = node.same_attributes(op);
  if (node.has(1)) {
    TESSERA_TRY(std::vector<std::int64_t> axes, node.integers(1));
    if (!axes.empty()) attributes.set("axes", std::move(axes));
  }
  if (attributes.find("axes") == nullptr && node.integer("noop_with_empty_axes", 0) != 0) {
    TESSERA_CHECK_OK(node.emit("identity", {node.input(0)}, {}, 0));
    return ok_status();
  }
  TESSERA_CHECK_OK(node.emit(op, {node.input(0)}, std::move(attributes), 0));
  return ok_status();
}

Status cumsum(NodeView& node) {
  TESSERA_TRY(const std::vector<std::int64_t> axis, node.integers(1));
  if (axis.size() != 1) return not_supported("an axis that is not one number");
  Attributes attributes = node.same_attributes("cumsum");
  attributes.set("axis", axis[0]);
  TESSERA_CHECK_OK(node.emit("cumsum", {node.input(0)}, std::move(attributes), 0));
  return ok_status();
}

Status prelu(NodeView& node) {
  ValueId slope = node.input(1);
  // Before opset 7 a slope had one element per channel.
  if (node.version() < 7 && node.shape(1).rank() == 1 && node.shape(1)[0] != 1) {
    std::vector<std::int64_t> extents = {node.shape(1)[0]};
    for (std::size_t d = 2; d < node.shape(0).rank(); ++d) extents.push_back(1);
    TESSERA_TRY(slope, node.emit("reshape", {slope}, {{"shape", extents}}));
  }
  TESSERA_CHECK_OK(node.emit("prelu", {node.input(0), slope}, {}, 0));
  return ok_status();
}

Status bit_shift(NodeView& node) {
  const std::string direction = node.text("direction", "") == "RIGHT" ? "right" : "left";
  TESSERA_CHECK_OK(node.emit("bit_shift", node.all_inputs(), {{"direction", direction}}, 0));
  return ok_status();
}

Status batch_norm(NodeView& node) {
  const bool trains = node.version() >= 14 ? node.integer("training_mode", 0) != 0 : node.wants(1);
  if (trains) return not_supported("statistics of a batch, as in training");
  if (node.integer("spatial", 1) == 0) return not_supported("statistics per element");
  TESSERA_CHECK_OK(
      node.emit("batch_norm", node.all_inputs(), node.same_attributes("batch_norm"), 0));
  return ok_status();
}

Status layer_norm(NodeView& node) {
  std::size_t count = 1;
  for (std::size_t i = 1; i < node.outputs(); ++i) count = node.wants(i) ? i + 1 : count;
  TESSERA_CHECK_OK(
      node.emit_all("layer_norm", node.all_inputs(), node.same_attributes("layer_norm"), count));
  return ok_status();
}

/// At inference, everything passes: the mask is all true.
Status dropout(NodeView& node) {
  if (node.has(2)) {
    TESSERA_TRY(const std::vector<std::int64_t> trains, node.integers(2));
    if (!trains.empty() && trains[0] != 0) return not_supported("random numbers, as in training");
  }
  Attributes attributes;
  if (node.given("ratio")) attributes.set("ratio", node.real("ratio", 0));
  if (node.has(1)) {
    const Result<std::vector<double>> ratio = node.reals(1);  // at inference it decides nothing
    if (ratio && ratio->size() == 1) attributes.set("ratio", ratio->front());
  }
  TESSERA_CHECK_OK(node.emit("dropout", {node.input(0)}, std::move(attributes), 0));
  if (!node.wants(1)) return ok_status();
  const DType dtype = node.version() >= 10 ? DType::kBool : node.input_type(0).dtype;
  const auto element = graph::is_float(dtype)
                           ? graph::bytes_of(std::vector{1.0}, dtype)
                           : graph::bytes_of(std::vector<std::int64_t>{1}, dtype);
  if (!element) return not_supported("a mask of this type");
  TESSERA_CHECK_OK(
      node.constant(node.shape(0).extents(), dtype, graph::Data::of_fill(*element), 1));
  return ok_status();
}

}  // namespace

std::vector<NamedConverter> value_converters() {
  std::vector<NamedConverter> list = {{"BatchNormalization", batch_norm},
                                      {"BitShift", bit_shift},
                                      {"Cast", cast},
                                      {"CastLike", cast},
                                      {"Clip", clip},
                                      {"CumSum", cumsum},
                                      {"Dropout", dropout},
                                      {"LayerNormalization", layer_norm},
                                      {"PRelu", prelu},
                                      {"Scatter", scatter}};
  for (const std::string_view op :
       {"Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less"}) {
    list.push_back({op, binary});
  }
  for (const std::string_view op : {"Max", "Min", "Sum", "Mean"}) list.push_back({op, several});
  for (const std::string_view op : {"Softmax", "LogSoftmax", "Hardmax"}) {
    list.push_back({op, softmax});
  }
  for (const SameOp& op : kSameOps) {
    if (op.theirs.starts_with("Reduce")) list.push_back({op.theirs, reduce});
  }
  return list;
}

}  // namespace tessera::onnx_import
