// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "onnx/onnx_pb.h"
#include "tessera/base/result.h"

/// The functions of libonnx and protobuf that throw or print, behind Results.
namespace tessera::onnx_import {

/// kSyntax for bytes that are no model.
Result<::onnx::ModelProto> parse_model(std::string_view bytes);
Result<::onnx::TensorProto> parse_tensor_proto(std::string_view bytes);

/// libonnx's checker: kBadGraph with its message.
Status check_model(const ::onnx::ModelProto& model);

/// The function that defines an op in terms of others, for the inputs of this node, which gets the
/// defaults of the attributes that it does not give; kNotSupported without a function. Types of
/// inputs that are not known are empty.
Result<::onnx::FunctionProto> function_of(::onnx::NodeProto& node, int version,
                                          const std::vector<::onnx::TypeProto>& inputs);

}  // namespace tessera::onnx_import
