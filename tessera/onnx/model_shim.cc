// SPDX-License-Identifier: Apache-2.0
#include "tessera/onnx/model_shim.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <exception>
#include <map>
#include <string>
#include <utility>

#include "onnx/checker.h"
#include "onnx/defs/data_type_utils.h"
#include "onnx/defs/schema.h"
#include "tessera/base/text.h"
#include "tessera/onnx/node_view.h"
#include "tessera/onnx/onnx_import.h"

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

std::vector<Formal> formals_of(const std::vector<::onnx::OpSchema::FormalParameter>& parameters) {
  std::vector<Formal> formals;
  for (const auto& parameter : parameters) {
    Formal formal{parameter.GetTypeStr(), {}};
    for (const DType dtype : all_dtypes()) {
      if (onnx_type_of(dtype) == 0) continue;
      ::onnx::TypeProto type;
      type.mutable_tensor_type()->set_elem_type(onnx_type_of(dtype));
      if (parameter.GetTypes().count(::onnx::Utils::DataTypeUtils::ToType(type)) > 0) {
        formal.types.push_back(onnx_type_of(dtype));
      }
    }
    formals.push_back(std::move(formal));
  }
  return formals;
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

Result<const Signature*> signature_of(std::string_view op, int version) {
  // A table per thread, so that no two of them write one.
  static thread_local std::map<std::pair<std::string, int>, Signature> known;
  const auto [at, fresh] = known.try_emplace({std::string(op), version});
  Signature& signature = at->second;
  if (!fresh) return &signature;
  const Status filled = guarded(ErrorCode::kNotSupported, [&]() -> Status {
    const ::onnx::OpSchema* const schema =
        ::onnx::OpSchemaRegistry::Schema(std::string(op), version, "");
    if (schema == nullptr) {
      return Error{ErrorCode::kNotSupported, cat("ONNX ", version, " has no op ", op)};
    }
    signature = {formals_of(schema->inputs()), formals_of(schema->outputs())};
    return ok_status();
  });
  if (filled) return &signature;
  known.erase(at);
  return filled.error();
}

Result<std::string> bytes_of_model(const ::onnx::ModelProto& model) {
  be_silent();
  const Error too_large{ErrorCode::kTooLarge, "the model is larger than 2 GiB", std::nullopt,
                        "protobuf, which ONNX files are, writes no more"};
  return guarded(ErrorCode::kTooLarge, [&]() -> Result<std::string> {
    if (model.ByteSizeLong() > kMaxModelBytes) return too_large;
    std::string bytes;
    if (!model.SerializeToString(&bytes)) return too_large;
    return bytes;
  });
}

}  // namespace tessera::onnx_import
