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

using graph::AttributeKind;
using Ints = std::vector<std::int64_t>;

std::string_view their_name(std::string_view ours) {
  return std::ranges::find(kSameOps, ours, &SameOp::ours)->theirs;
}

/// The attributes that are given, under the same names. ONNX has no empty lists; the only one is
/// the order of no dims.
AttributeProtos same_attributes(const NodeWriter& node) {
  AttributeProtos out;
  const graph::Call& call = node.call();
  for (const graph::AttributeRule& rule : call.op().rule().attributes) {
    if (!call.given(rule.name)) continue;
    switch (rule.kind) {
      case AttributeKind::kInteger:
        out.push_back(attribute(rule.name, call.integer(rule.name)));
        break;
      case AttributeKind::kReal:
        out.push_back(attribute(rule.name, call.real(rule.name)));
        break;
      case AttributeKind::kText:
        out.push_back(attribute(rule.name, call.text(rule.name)));
        break;
      case AttributeKind::kIntegers:
        if (call.integers(rule.name).empty()) break;
        out.push_back(attribute(rule.name, call.integers(rule.name)));
        break;
      case AttributeKind::kReals:
        out.push_back(attribute(rule.name, call.reals(rule.name)));
        break;
    }
  }
  return out;
}

Status same(NodeWriter& node) {
  return node.write(their_name(node.op()), node.all_inputs(), same_attributes(node));
}

Status larger(NodeWriter& node) {
  return node.write(node.op() == "max" ? "Max" : "Min", node.all_inputs());
}

/// ONNX's Mod has the sign of y for integers and, with fmod, that of x for floats.
Status mod(NodeWriter& node) {
  if (graph::is_float(node.in(0).type.dtype) && node.call().integer("fmod") == 0) {
    return Status(not_supported("mod of floats with the sign of the divisor; ONNX has fmod=1"));
  }
  return same(node);
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

Status along_axis(NodeWriter& node) {
  const std::string_view op = node.op() == "softmax"       ? "Softmax"
                              : node.op() == "log_softmax" ? "LogSoftmax"
                                                           : "Hardmax";
  return node.write(op, {node.in(0)}, {attribute("axis", node.call().integer("axis"))});
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
  constexpr std::array kOps = {std::pair{"reduce_sum", "ReduceSum"},
                               std::pair{"reduce_mean", "ReduceMean"},
                               std::pair{"reduce_max", "ReduceMax"},
                               std::pair{"reduce_min", "ReduceMin"},
                               std::pair{"reduce_prod", "ReduceProd"},
                               std::pair{"reduce_l1", "ReduceL1"},
                               std::pair{"reduce_l2", "ReduceL2"},
                               std::pair{"reduce_log_sum", "ReduceLogSum"},
                               std::pair{"reduce_log_sum_exp", "ReduceLogSumExp"},
                               std::pair{"reduce_sum_square", "ReduceSumSquare"}};
  const bool names_axes = node.call().given("axes");
  const Ints& axes = node.call().integers("axes");
  if (names_axes && axes.empty()) return reduce_nothing(node);
  std::string_view op;
  for (const auto& [ours, theirs] : kOps) {
    if (node.op() == ours) op = theirs;
  }
  AttributeProtos attributes = {attribute("keepdims", node.call().integer("keepdims"))};
  std::vector<Ref> inputs = {node.in(0)};
  if (names_axes && op == "ReduceSum") {  // the only one with an input for them at this opset
    inputs.push_back(node.integers("axes", axes));
  } else if (names_axes) {
    attributes.push_back(attribute("axes", axes));
  }
  return node.write(op, inputs, attributes);
}

Status arg(NodeWriter& node) {
  return node.write(node.op() == "argmax" ? "ArgMax" : "ArgMin", {node.in(0)},
                    {attribute("axis", node.call().integer("axis")),
                     attribute("keepdims", node.call().integer("keepdims")),
                     attribute("select_last_index", node.call().integer("select_last"))});
}

Status cumsum(NodeWriter& node) {
  return node.write("CumSum", {node.in(0), node.integer("axis", node.call().integer("axis"))},
                    {attribute("exclusive", node.call().integer("exclusive")),
                     attribute("reverse", node.call().integer("reverse"))});
}

Status gemm(NodeWriter& node) {
  const graph::Call& call = node.call();
  return node.write(
      "Gemm", node.all_inputs(),
      {attribute("alpha", call.real("alpha")), attribute("beta", call.real("beta")),
       attribute("transA", call.integer("trans_a")), attribute("transB", call.integer("trans_b"))});
}

Status prelu(NodeWriter& node) { return node.write("PRelu", node.all_inputs()); }

Status batch_norm(NodeWriter& node) {
  return node.write("BatchNormalization", node.all_inputs(),
                    {attribute("epsilon", node.call().real("epsilon"))});
}

Status layer_norm(NodeWriter& node) {
  return node.write("LayerNormalization", node.all_inputs(),
                    {attribute("axis", node.call().integer("axis")),
                     attribute("epsilon", node.call().real("epsilon"))});
}

}  // namespace

std::vector<NamedWriter> value_writers() {
  std::vector<NamedWriter> list = {{"mod", mod}};  // the first of a name counts
  for (const SameOp& op : kSameOps) list.push_back({op.ours, same});
  for (const std::string_view op : {"max", "min"}) list.push_back({op, larger});
  for (const std::string_view op : {"softmax", "log_softmax", "hardmax"}) {
    list.push_back({op, along_axis});
  }
  for (const std::string_view op :
       {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod", "reduce_l1",
        "reduce_l2", "reduce_log_sum", "reduce_log_sum_exp", "reduce_sum_square"}) {
    list.push_back({op, reduce});
  }
  list.push_back({"argmax", arg});
  list.push_back({"argmin", arg});
  list.push_back({"batch_norm", batch_norm});
  list.push_back({"bit_shift", bit_shift});
  list.push_back({"cast", cast});
  list.push_back({"clip", clip});
  list.push_back({"cumsum", cumsum});
  list.push_back({"gemm", gemm});
  list.push_back({"layer_norm", layer_norm});
  list.push_back({"prelu", prelu});
  list.push_back({"rsqrt", rsqrt});
  return list;
}

}  // namespace tessera::onnx_import
