// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

namespace tessera::onnx_import {

/// ONNX's name of an op that has another one here only in its spelling: its inputs, outputs and
/// attributes are the same. "LeakyRelu" is leaky_relu. Import and export read this table.
struct SameOp {
  std::string_view theirs;
  std::string_view ours;
};

inline constexpr std::array kSameOps = {
    SameOp{"Abs", "abs"},
    SameOp{"Acos", "acos"},
    SameOp{"Acosh", "acosh"},
    SameOp{"Asin", "asin"},
    SameOp{"Asinh", "asinh"},
    SameOp{"Atan", "atan"},
    SameOp{"Atanh", "atanh"},
    SameOp{"Ceil", "ceil"},
    SameOp{"Celu", "celu"},
    SameOp{"Cos", "cos"},
    SameOp{"Cosh", "cosh"},
    SameOp{"Einsum", "einsum"},
    SameOp{"Elu", "elu"},
    SameOp{"Erf", "erf"},
    SameOp{"Exp", "exp"},
    SameOp{"Floor", "floor"},
    SameOp{"Gather", "gather"},
    SameOp{"GatherElements", "gather_elements"},
    SameOp{"GatherND", "gather_nd"},
    SameOp{"GlobalAveragePool", "global_average_pool"},
    SameOp{"GlobalMaxPool", "global_max_pool"},
    SameOp{"HardSigmoid", "hard_sigmoid"},
    SameOp{"HardSwish", "hard_swish"},
    SameOp{"Identity", "identity"},
    SameOp{"InstanceNormalization", "instance_norm"},
    SameOp{"IsInf", "is_inf"},
    SameOp{"IsNaN", "is_nan"},
    SameOp{"LRN", "lrn"},
    SameOp{"LeakyRelu", "leaky_relu"},
    SameOp{"Log", "log"},
    SameOp{"MatMul", "matmul"},
    SameOp{"Mod", "mod"},
    SameOp{"Neg", "neg"},
    SameOp{"Not", "not"},
    SameOp{"Reciprocal", "reciprocal"},
    SameOp{"Relu", "relu"},
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
    SameOp{"Softplus", "softplus"},
    SameOp{"Softsign", "softsign"},
    SameOp{"Sqrt", "sqrt"},
    SameOp{"Tan", "tan"},
    SameOp{"Tanh", "tanh"},
    SameOp{"ThresholdedRelu", "thresholded_relu"},
    SameOp{"Transpose", "transpose"},
    SameOp{"Where", "where"},
    SameOp{"Add", "add"},
    SameOp{"Sub", "sub"},
    SameOp{"Mul", "mul"},
    SameOp{"Div", "div"},
    SameOp{"Pow", "pow"},
    SameOp{"And", "and"},
    SameOp{"Or", "or"},
    SameOp{"Xor", "xor"},
    SameOp{"Equal", "equal"},
    SameOp{"Greater", "greater"},
    SameOp{"GreaterOrEqual", "greater_or_equal"},
    SameOp{"Less", "less"},
    SameOp{"LessOrEqual", "less_or_equal"},
};

}  // namespace tessera::onnx_import
