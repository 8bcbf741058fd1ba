// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/onnx/node_view.h"
#include "tessera/onnx/node_writer.h"
#include "tessera/onnx/same_ops.h"

namespace tessera::onnx_import {
namespace {

using Ints = std::vector<std::int64_t>;

/// ONNX's Mod has the sign of y for integers and, with fmod, that of x for floats.
Status mod(NodeWriter& node) {
  if (graph::is_float(node.in(0).type.dtype) && node.call().integer("fmod") == 0) {
    return Status(not_supported("mod of floats with the sign of the divisor; ONNX has fmod=1"));
  }
  return node.write("Mod", node.all_inputs(), node.same_attributes());
}

Status cast(NodeWriter& node) {
  return node.write("Cast", {node.in(0)},
                    {attribute("to", std::int64_t{onnx_type_of(node.out(0).type.dtype)})});
}

Status clip(NodeWriter& node) {
  TESSERA_TRY(const Ref least, node.as_scalar(node.in(1)));
  TESSERA_TRY(const Ref most, node.as_scalar(node.in(2)));
  return node.write("Clip", {node.in(0), least, most});
}

Status rsqrt(NodeWriter& node) {
  TESSERA_TRY(const Ref root, node.step("Sqrt", {node.in(0)}, node.in(0).type));
  return node.write("Reciprocal", {root});
}

Status bit_shift(NodeWriter& node) {
  const bool right = node.call().text("direction") == "right";
  return node.write("BitShift", node.all_inputs(),
                    {attribute("direction", right ? "RIGHT" : "LEFT")});
}

/// An empty list of axes means all of them in ONNX and none here.
Status reduce_nothing(NodeWriter& node) {
  const Ref x = node.in(0);
  const std::string_view op = node.op();
  if (op == "reduce_l1" || op == "reduce_l2") return node.write("Abs", {x});
  if (op == "reduce_log_sum") return node.write("Log", {x});
  if (op == "reduce_sum_square") return node.write("Mul", {x, x});
  return node.write("Identity", {x});
}

Status reduce(NodeWriter& node) {
  const bool names_axes = node.call().given("axes");
  const Ints& axes = node.call().integers("axes");
  if (names_axes && axes.empty()) return reduce_nothing(node);
  const std::string_view op = their_op(node.op());
  // The only one with an input for them at this opset.
  if (op != "ReduceSum" || !names_axes) return node.write(op, {node.in(0)}, node.same_attributes());
  return node.write(op, {node.in(0), node.integers("axes", axes)}, node.same_attributes({"axes"}));
}

Status cumsum(NodeWriter& node) {
  return node.write("CumSum", {node.in(0), node.integer("axis", node.call().integer("axis"))},
                    node.same_attributes({"axis"}));
}

}  // namespace

std::vector<NamedWriter> value_writers() {
  std::vector<NamedWriter> list = {{"bit_shift", bit_shift}, {"cast", cast}, {"clip", clip},
                                   {"cumsum", cumsum},       {"mod", mod},   {"rsqrt", rsqrt}};
  for (const SameOp& op : kSameOps) {
    if (op.ours.starts_with("reduce_")) list.push_back({op.ours, reduce});
  }
  return list;
}

}  // namespace tessera::onnx_import
