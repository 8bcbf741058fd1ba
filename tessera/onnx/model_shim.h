// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
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

/// An input or output of an op: the type variable that it has in the op's text, and the element
/// types that it may have.
struct Formal {
  std::string variable;
  std::vector<std::int32_t> types;  ///< as in TensorProto; what graphs do not have is left out
};
struct Signature {
  std::vector<Formal> inputs;  ///< the last one may stand for several
  std::vector<Formal> outputs;
};
/// The op of ONNX's own domain with this name, which stays valid; kNotSupported for another one.
Result<const Signature*> signature_of(std::string_view op, int version);

/// The model as it is in a file; kTooLarge beyond what protobuf writes.
Result<std::string> bytes_of_model(const ::onnx::ModelProto& model);

}  // namespace tessera::onnx_import
