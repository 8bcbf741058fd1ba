// SPDX-License-Identifier: Apache-2.0
#include "tessera/onnx/model_shim.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "onnx/checker.h"
#include "onnx/defs/schema.h"
#include "tessera/base/text.h"

namespace tessera::onnx_import {
namespace {

/// protobuf reports errors on standard error as well; here they are values.
void be_silent() {
  static const bool silent = google::protobuf::SetLogHandler(nullptr) != nullptr;
  (void)silent;
}

/// One line of an exception's text, without what libonnx appends for its own context.
std::string first_line(std::string_view text) {
  constexpr std::size_t kMost = 300;
  return printable(text.substr(0, std::min({text.find('\n'), text.size(), kMost})));
}

template <typename Call>
auto guarded(ErrorCode code, const Call& call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kOutOfMemory, "the model needs more memory than there is"};
  } catch (const std::exception& thrown) {
    return Error{code, cat("libonnx refuses the model: ", first_line(thrown.what()))};
  } catch (...) {
    return Error{code, "libonnx refuses the model"};
  }
}

template <typename Proto>
Result<Proto> parse(std::string_view bytes, std::string_view what) {
  be_silent();
  return guarded(ErrorCode::kSyntax, [&]() -> Result<Proto> {
    Proto proto;
    if (!bytes.empty() && proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return proto;
    }
    return Error{ErrorCode::kSyntax, cat("the ", bytes.size(), " bytes are no ", what),
                 std::nullopt, "the file may be cut short, or of another format"};
  });
}

void add_defaults(const ::onnx::OpSchema& schema, ::onnx::NodeProto& node) {
  for (const auto& [name, attribute] : schema.attributes()) {
    const auto is_given = [&](const ::onnx::AttributeProto& each) { return each.name() == name; };
    if (attribute.default_value.name().empty() ||
        std::any_of(node.attribute().begin(), node.attribute().end(), is_given)) {
      continue;
    }
    *node.add_attribute() = attribute.default_value;
  }
}

}  // namespace

Result<::onnx::ModelProto> parse_model(std::string_view bytes) {
  return parse<::onnx::ModelProto>(bytes, "ONNX model");
}

Result<::onnx::TensorProto> parse_tensor_proto(std::string_view bytes) {
  return parse<::onnx::TensorProto>(bytes, "ONNX tensor");
}

Status check_model(const ::onnx::ModelProto& model) {
  // The checker looks for external data in the working folder. Here they are looked for in the
  // folder of the model, when the tensor is read; the checker sees tensors without elements.
  const auto is_external = [](const ::onnx::TensorProto& tensor) {
    return tensor.data_location() == ::onnx::TensorProto::EXTERNAL;
  };
  const auto& tensors = model.graph().initializer();
  if (std::any_of(tensors.begin(), tensors.end(), is_external)) {
    ::onnx::ModelProto seen = model;
    for (::onnx::TensorProto& tensor : *seen.mutable_graph()->mutable_initializer()) {
      if (!is_external(tensor)) continue;
      tensor.clear_external_data();
      tensor.clear_data_location();
      tensor.clear_dims();
      tensor.add_dims(0);
    }
    return check_model(seen);
  }
  return guarded(ErrorCode::kBadGraph, [&]() -> Status {
    ::onnx::checker::check_model(model);
    return ok_status();
  });
}

Result<::onnx::FunctionProto> function_of(::onnx::NodeProto& node, int version,
                                          const std::vector<::onnx::TypeProto>& inputs) {
  return guarded(ErrorCode::kNotSupported, [&]() -> Result<::onnx::FunctionProto> {
    const ::onnx::OpSchema* const schema =
        ::onnx::OpSchemaRegistry::Schema(node.op_type(), version, node.domain());
    if (schema != nullptr) add_defaults(*schema, node);
    if (schema != nullptr && schema->HasFunction()) return *schema->GetFunction();
    if (schema != nullptr && schema->HasContextDependentFunction()) {
      ::onnx::FunctionBodyBuildContextImpl context(node, inputs);
      ::onnx::FunctionProto function;
      if (schema->BuildContextDependentFunction(context, function)) return function;
    }
    return Error{ErrorCode::kNotSupported, "there is no such op here"};
  });
}

}  // namespace tessera::onnx_import
