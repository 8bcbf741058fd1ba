// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/onnx/node_view.h"

namespace tessera::onnx_import {
namespace {

using graph::Attributes;
using graph::ValueId;
using Ints = std::vector<std::int64_t>;

/// A list that is an input since some opset, and was an attribute before.
Result<std::optional<Ints>> list(const NodeView& node, std::string_view name, std::size_t input) {
  if (node.given(name)) return std::optional(node.integer_list(name));
  if (!node.has(input)) return std::optional<Ints>();
  TESSERA_TRY(Ints numbers, node.integers(input));
  return std::optional(std::move(numbers));
}

/// 0 copies an extent (unless allowzero), one -1 takes what is left.
Status reshape(NodeView& node) {
  TESSERA_TRY(const std::optional<Ints> wanted, list(node, "shape", 1));
  if (!wanted) return not_supported("no shape");
  Ints shape = *wanted;
  Checked known(1);
  std::optional<std::size_t> open;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0 && node.integer("allowzero", 0) == 0) {
      if (d >= node.shape(0).rank()) return not_supported("a 0 without an extent to copy");
      shape[d] = node.shape(0)[d];
    }
    if (shape[d] == -1) {
      if (open) return not_supported("two extents of -1");
      open = d;
    } else {
      known *= shape[d];
    }
  }
  if (open) {
    const std::int64_t elements = node.shape(0).elements();
    if (known.saturated() <= 0 || elements % known.saturated() != 0) {
      return not_supported(
          cat("no extent for -1 in ", bracketed(shape), " of ", elements, " elements"));
    }
    shape[*open] = elements / known.raw();
  }
  TESSERA_CHECK_OK(node.emit("reshape", {node.input(0)}, {{"shape", shape}}, 0));
  return ok_status();
}

Status squeeze(NodeView& node) {
  TESSERA_TRY(std::optional<Ints> axes, list(node, "axes", 1));
  Attributes attributes;
  if (axes) attributes.set("axes", *std::move(axes));
  TESSERA_CHECK_OK(node.emit(node.op() == "Squeeze" ? "squeeze" : "unsqueeze", {node.input(0)},
                             std::move(attributes), 0));
  return ok_status();
}

Status slice(NodeView& node) {
  Attributes attributes;
  std::size_t input = 1;
  for (const std::string_view name : {"starts", "ends", "axes", "steps"}) {
    TESSERA_TRY(std::optional<Ints> numbers, list(node, name, input++));
    if (numbers) attributes.set(name, *std::move(numbers));
  }
  TESSERA_CHECK_OK(node.emit("slice", {node.input(0)}, std::move(attributes), 0));
  return ok_status();
}

Status split(NodeView& node) {
  const std::int64_t axis = node.integer("axis", 0);
  TESSERA_TRY(std::optional<Ints> sizes, list(node, "split", 1));
  const auto rank = static_cast<std::int64_t>(node.shape(0).rank());
  if (axis < -rank || axis >= rank) return not_supported(cat("axis ", axis));
  if (!sizes) {
    const std::int64_t extent =
        node.shape(0)[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)];
    const auto parts = static_cast<std::int64_t>(node.outputs());
    if (parts == 0 || extent % parts != 0) {
      return not_supported(cat("extent ", extent, " in ", parts, " equal parts"));
    }
    sizes = Ints(node.outputs(), extent / parts);
  }
  TESSERA_CHECK_OK(
      node.emit_all("split", {node.input(0)}, {{"axis", axis}, {"sizes", *sizes}}, node.outputs()));
  return ok_status();
}

Status concat(NodeView& node) {
  const std::int64_t axis = node.integer("axis", 1);
  TESSERA_CHECK_OK(node.emit("concat", node.all_inputs(), {{"axis", axis}}, 0));
  return ok_status();
}

Status pad(NodeView& node) {
  const char* const name = node.given("paddings") ? "paddings" : "pads";
  TESSERA_TRY(std::optional<Ints> pads, list(node, name, 1));
  if (!pads) return not_supported("no pads");
  ValueId value = node.input(2);
  if (node.version() < 11 && node.given("value")) {
    TESSERA_TRY(value, node.number(node.real("value", 0), node.input(0)));
  }
  TESSERA_CHECK_OK(node.emit("pad", {node.input(0), value},
                             {{"pads", *pads}, {"mode", node.text("mode", "constant")}}, 0));
  return ok_status();
}

Status expand(NodeView& node) {
  TESSERA_TRY(const Ints shape, node.integers(1));
  TESSERA_CHECK_OK(node.emit("expand", {node.input(0)}, {{"shape", shape}}, 0));
  return ok_status();
}

Status tile(NodeView& node) {
  if (node.version() < 6) return not_supported("Tile before opset 6");
  TESSERA_TRY(const Ints repeats, node.integers(1));
  TESSERA_CHECK_OK(node.emit("tile", {node.input(0)}, {{"repeats", repeats}}, 0));
  return ok_status();
}

Status trilu(NodeView& node) {
  std::int64_t k = 0;
  if (node.has(1)) {
    TESSERA_TRY(const Ints numbers, node.integers(1));
    if (numbers.size() != 1) return not_supported("a k that is not one number");
    k = numbers[0];
  }
  TESSERA_CHECK_OK(
      node.emit("trilu", {node.input(0)}, {{"upper", node.integer("upper", 1)}, {"k", k}}, 0));
  return ok_status();
}

Status constant(NodeView& node) {
  const ::onnx::AttributeProto* const tensor = node.attribute("value");
  if (tensor != nullptr) {
    TESSERA_TRY(TensorValue value, tensor_value(tensor->t(), node.folder()));
    TESSERA_CHECK_OK(
        node.constant(value.type.shape.extents(), value.type.dtype, std::move(value.data), 0));
    return ok_status();
  }
  const auto emit = [&](Ints shape, DType dtype, const auto& numbers) -> Status {
    TESSERA_CHECK_OK(node.constant(std::move(shape), dtype,
                                   graph::Data::of_bytes(*graph::bytes_of(numbers, dtype)), 0));
    return ok_status();
  };
  if (node.given("value_int")) return emit({}, DType::kI64, Ints{node.integer("value_int", 0)});
  if (node.given("value_ints")) {
    const Ints numbers = node.integer_list("value_ints");
    return emit({std::ssize(numbers)}, DType::kI64, numbers);
  }
  if (node.given("value_float")) {
    return emit({}, DType::kF32, std::vector{node.real("value_float", 0)});
  }
  if (node.given("value_floats")) {
    const std::vector<double> numbers = node.real_list("value_floats");
    return emit({std::ssize(numbers)}, DType::kF32, numbers);
  }
  return not_supported("a constant that is no tensor of numbers");
}

/// A fill of any size, without memory for its elements.
Status constant_of_shape(NodeView& node) {
  TESSERA_TRY(Ints shape, node.integers(0));
  DType dtype = DType::kF32;
  std::string element(4, '\0');
  if (const ::onnx::AttributeProto* const value = node.attribute("value")) {
    TESSERA_TRY(const TensorValue tensor, tensor_value(value->t(), node.folder()));
    if (tensor.type.shape.elements() != 1 || !tensor.data.bytes) {
      return not_supported("a value that is not one element");
    }
    dtype = tensor.type.dtype;
    element = *tensor.data.bytes;
  }
  const graph::Kind kind = kind_of_note(node.note(), graph::Kind::kConstant);
  TESSERA_CHECK_OK(
      node.constant(std::move(shape), dtype, graph::Data::of_fill(std::move(element)), 0, kind));
  return ok_status();
}

Status shape(NodeView& node) {
  Attributes attributes = {{"start", node.integer("start", 0)}};
  if (node.given("end")) attributes.set("end", node.integer("end", 0));
  TESSERA_CHECK_OK(node.emit("shape", {node.input(0)}, std::move(attributes), 0));
  return ok_status();
}

Status size(NodeView& node) {
  TESSERA_CHECK_OK(node.emit("size", {node.input(0)}, {}, 0));
  return ok_status();
}

Status range(NodeView& node) {
  Attributes attributes = {{"dtype", std::string(dtype_name(node.input_type(0).dtype))}};
  std::size_t input = 0;
  for (const std::string_view name : {"start", "limit", "delta"}) {
    TESSERA_TRY(const std::vector<double> number, node.reals(input++));
    if (number.size() != 1) return not_supported(cat(name, " is not one number"));
    attributes.set(name, number[0]);
  }
  TESSERA_CHECK_OK(node.emit("range", {}, std::move(attributes), 0));
  return ok_status();
}

Status one_hot(NodeView& node) {
  TESSERA_TRY(const std::vector<double> depth, node.reals(1));
  const bool is_extent = depth.size() == 1 && depth[0] >= 0 && depth[0] < 1e15;
  if (!is_extent) return not_supported("a depth that is not one number");
  ValueId indices = node.input(0);
  if (graph::is_float(node.input_type(0).dtype)) {
    TESSERA_TRY(indices, node.emit("cast", {indices}, {{"to", "i64"}}));
  }
  TESSERA_CHECK_OK(node.emit(
      "one_hot", {indices, node.input(2)},
      {{"depth", static_cast<std::int64_t>(depth[0])}, {"axis", node.integer("axis", -1)}}, 0));
  return ok_status();
}

Status top_k(NodeView& node) {
  std::int64_t k = node.integer("k", 0);
  if (node.version() >= 10) {
    TESSERA_TRY(const Ints numbers, node.integers(1));
    if (numbers.size() != 1) return not_supported("a k that is not one number");
    k = numbers[0];
  }
  TESSERA_CHECK_OK(node.emit_all("topk", {node.input(0)},
                                 {{"k", k},
                                  {"axis", node.integer("axis", -1)},
                                  {"largest", node.integer("largest", 1)},
                                  {"sorted", node.integer("sorted", 1)}},
                                 2));
  return ok_status();
}

Status eye_like(NodeView& node) {
  Attributes attributes = {{"k", node.integer("k", 0)}};
  if (node.given("dtype")) {
    TESSERA_TRY(const DType dtype, dtype_of(node.integer("dtype", 0)));
    attributes.set("dtype", std::string(dtype_name(dtype)));
  }
  TESSERA_CHECK_OK(node.emit("eye_like", {node.input(0)}, std::move(attributes), 0));
  return ok_status();
}

}  // namespace

std::vector<NamedConverter> movement_converters() {
  return {{"Reshape", reshape}, {"Squeeze", squeeze},   {"Unsqueeze", squeeze},
          {"Slice", slice},     {"Split", split},       {"Concat", concat},
          {"Pad", pad},         {"Expand", expand},     {"Tile", tile},
          {"Trilu", trilu},     {"Constant", constant}, {"ConstantOfShape", constant_of_shape},
          {"Shape", shape},     {"Size", size},         {"Range", range},
          {"OneHot", one_hot},  {"TopK", top_k},        {"EyeLike", eye_like}};
}

}  // namespace tessera::onnx_import
