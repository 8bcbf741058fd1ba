// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace tessera::onnx_import {

/// An op by its name in ONNX and here: "LeakyRelu" is leaky_relu. Import and export read this
/// table. Where neither has a function of its own for the op, its inputs, outputs and attributes
/// are the same on both sides.
struct SameOp {
  std::string_view theirs;
  std::string_view ours;
};

inline constexpr std::array kSameOps = {
    SameOp{"Abs", "abs"},
    SameOp{"Acos", "acos"},
    SameOp{"Acosh", "acosh"},
    SameOp{"Add", "add"},
    SameOp{"And", "and"},
    SameOp{"ArgMax", "argmax"},
    SameOp{"ArgMin", "argmin"},
    SameOp{"Asin", "asin"},
    SameOp{"Asinh", "asinh"},
    SameOp{"Atan", "atan"},
    SameOp{"Atanh", "atanh"},
    SameOp{"AveragePool", "average_pool"},
    SameOp{"BatchNormalization", "batch_norm"},
    SameOp{"Ceil", "ceil"},
    SameOp{"Celu", "celu"},
    SameOp{"Concat", "concat"},
    SameOp{"Conv", "conv"},
    SameOp{"ConvTranspose", "conv_transpose"},
    SameOp{"Cos", "cos"},
    SameOp{"Cosh", "cosh"},
    SameOp{"CumSum", "cumsum"},
    SameOp{"DepthToSpace", "depth_to_space"},
    SameOp{"Div", "div"},
    SameOp{"Einsum", "einsum"},
    SameOp{"Elu", "elu"},
    SameOp{"Equal", "equal"},
    SameOp{"Erf", "erf"},
    SameOp{"Exp", "exp"},
    SameOp{"Flatten", "flatten"},
    SameOp{"Floor", "floor"},
    SameOp{"Gather", "gather"},
    SameOp{"GatherElements", "gather_elements"},
    SameOp{"GatherND", "gather_nd"},
    SameOp{"Gemm", "gemm"},
    SameOp{"GlobalAveragePool", "global_average_pool"},
    SameOp{"GlobalMaxPool", "global_max_pool"},
    SameOp{"Greater", "greater"},
    SameOp{"GreaterOrEqual", "greater_or_equal"},
    SameOp{"HardSigmoid", "hard_sigmoid"},
    SameOp{"HardSwish", "hard_swish"},
    SameOp{"Hardmax", "hardmax"},
    SameOp{"Identity", "identity"},
    SameOp{"InstanceNormalization", "instance_norm"},
    SameOp{"IsInf", "is_inf"},
    SameOp{"IsNaN", "is_nan"},
    SameOp{"LRN", "lrn"},
    SameOp{"LayerNormalization", "layer_norm"},
    SameOp{"LeakyRelu", "leaky_relu"},
    SameOp{"Less", "less"},
    SameOp{"LessOrEqual", "less_or_equal"},
    SameOp{"Log", "log"},
    SameOp{"LogSoftmax", "log_softmax"},
    SameOp{"MatMul", "matmul"},
    SameOp{"Max", "max"},
    SameOp{"MaxPool", "max_pool"},
    SameOp{"Min", "min"},
    SameOp{"Mod", "mod"},
    SameOp{"Mul", "mul"},
    SameOp{"Neg", "neg"},
    SameOp{"Not", "not"},
    SameOp{"Or", "or"},
    SameOp{"PRelu", "prelu"},
    SameOp{"Pow", "pow"},
    SameOp{"Reciprocal", "reciprocal"},
    SameOp{"ReduceL1", "reduce_l1"},
    SameOp{"ReduceL2", "reduce_l2"},
    SameOp{"ReduceLogSum", "reduce_log_sum"},
    SameOp{"ReduceLogSumExp", "reduce_log_sum_exp"},
    SameOp{"ReduceMax", "reduce_max"},
    SameOp{"ReduceMean", "reduce_mean"},
    SameOp{"ReduceMin", "reduce_min"},
    SameOp{"ReduceProd", "reduce_prod"},
    SameOp{"ReduceSum", "reduce_sum"},
    SameOp{"ReduceSumSquare", "reduce_sum_square"},
    SameOp{"Relu", "relu"},
    SameOp{"Resize", "resize"},
    SameOp{"ReverseSequence", "reverse_sequence"},
    SameOp{"Round", "round"},
    SameOp{"ScatterElements", "scatter_elements"},
    SameOp{"ScatterND", "scatter_nd"},
    SameOp{"Selu", "selu"},
    SameOp{"Shrink", "shrink"},
    SameOp{"Sigmoid", "sigmoid"},
    SameOp{"Sign", "sign"},
    SameOp{"Sin", "sin"},
    SameOp{"Sinh", "sinh"},
    SameOp{"Softmax", "softmax"},
    SameOp{"Softplus", "softplus"},
    SameOp{"Softsign", "softsign"},
    SameOp{"SpaceToDepth", "space_to_depth"},
    SameOp{"Sqrt", "sqrt"},
    SameOp{"Sub", "sub"},
    SameOp{"Tan", "tan"},
    SameOp{"Tanh", "tanh"},
    SameOp{"ThresholdedRelu", "thresholded_relu"},
    SameOp{"Transpose", "transpose"},
    SameOp{"Where", "where"},
    SameOp{"Xor", "xor"},
};

/// An attribute with another name here than in ONNX; all others have one name.
struct SameAttribute {
  std::string_view theirs;
  std::string_view ours;
};

inline constexpr std::array kSameAttributes = {
    SameAttribute{"blocksize", "block"},
    SameAttribute{"ceil_mode", "ceil"},
    SameAttribute{"coordinate_transformation_mode", "coordinates"},
    SameAttribute{"extrapolation_value", "extrapolation"},
    SameAttribute{"group", "groups"},
    SameAttribute{"kernel_shape", "kernel"},
    SameAttribute{"select_last_index", "select_last"},
    SameAttribute{"storage_order", "column_major"},
    SameAttribute{"transA", "trans_a"},
    SameAttribute{"transB", "trans_b"},
};

/// Names of ops that are in the table.
constexpr std::string_view our_op(std::string_view theirs) {
  return std::ranges::find(kSameOps, theirs, &SameOp::theirs)->ours;
}
constexpr std::string_view their_op(std::string_view ours) {
  return std::ranges::find(kSameOps, ours, &SameOp::ours)->theirs;
}
constexpr std::string_view their_attribute(std::string_view ours) {
  const auto at = std::ranges::find(kSameAttributes, ours, &SameAttribute::ours);
  return at == kSameAttributes.end() ? ours : at->theirs;
}

}  // namespace tessera::onnx_import
