// SPDX-License-Identifier: Apache-2.0
#include "tessera/onnx/onnx_import.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/graph/builder.h"
#include "tessera/graph/passes/dead_code.h"
#include "tessera/onnx/model_shim.h"
#include "tessera/onnx/node_view.h"

namespace tessera::onnx_import {
namespace {

using graph::ValueId;
using ::onnx::AttributeProto;
using ::onnx::FunctionProto;
using ::onnx::NodeProto;

constexpr int kNewestOpset = 17;
constexpr int kMostNesting = 16;  ///< of functions in functions

using Versions = std::unordered_map<std::string, int>;  ///< of opsets, by domain

std::string plain_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

template <typename Imports>
Versions versions_of(const Imports& imports) {
  Versions versions;
  for (const auto& each : imports) {
    versions[plain_domain(each.domain())] = static_cast<int>(each.version());
  }
  return versions;
}

/// Replaces references to attributes of the function by what its caller gives.
void bind_attributes(NodeProto& node, const NodeProto& caller) {
  for (int i = node.attribute_size(); i-- > 0;) {
    AttributeProto& attribute = *node.mutable_attribute(i);
    if (attribute.ref_attr_name().empty()) continue;
    const auto given = std::find_if(
        caller.attribute().begin(), caller.attribute().end(),
        [&](const AttributeProto& each) { return each.name() == attribute.ref_attr_name(); });
    if (given == caller.attribute().end()) {
      node.mutable_attribute()->DeleteSubrange(i, 1);
    } else {
      const std::string name = attribute.name();
      attribute = *given;
      attribute.set_name(name);
    }
  }
}

class Importer {
 public:
  Importer(const ::onnx::ModelProto& model, const ImportOptions& options)
      : model_(model), options_(options), builder_(model.graph().name()) {}

  Result<Imported> run() {
    const Versions versions = versions_of(model_.opset_import());
    const auto own = versions.find("");
    if (own != versions.end() && own->second > kNewestOpset) {
      return Error{ErrorCode::kNotSupported, cat("opset ", own->second), std::nullopt,
                   cat("opsets up to ", kNewestOpset, " are read")};
    }
    for (const FunctionProto& function : model_.functions()) {
      functions_.emplace(cat(plain_domain(function.domain()), "::", function.name()), &function);
    }
    TESSERA_CHECK_OK(add_initializers());
    TESSERA_CHECK_OK(add_inputs());
    for (const NodeProto& node : model_.graph().node()) {
      TESSERA_CHECK_OK(convert(node, versions, 0));
    }
    for (const auto& output : model_.graph().output()) {
      if (failed_.contains(output.name())) continue;
      const auto at = names_.find(output.name());
      if (at == names_.end()) {
        return Error{ErrorCode::kBadGraph,
                     cat("nothing defines the output ", quote_name(output.name()))};
      }
      TESSERA_CHECK_OK(builder_.output(at->second));
    }
    imported_.graph =
        graph::without_dead_code(std::move(builder_).finish(), graph::Dead::kConstants);
    TESSERA_CHECK_OK(graph::check(imported_.graph));
    return std::move(imported_);
  }

 private:
  Status add_initializers() {
    for (const ::onnx::TensorProto& tensor : model_.graph().initializer()) {
      Result<TensorValue> value = tensor_value(tensor, options_.folder);
      if (!value && value.error().code == ErrorCode::kNotSupported) {
        refuse(tensor.name(), "initializer", value.error());
        failed_.insert(tensor.name());
        continue;
      }
      if (!value) return value.error();
      const graph::Kind kind =
          kind_of_note(tensor.doc_string(), kind_of_initializer(value->type.dtype));
      TESSERA_TRY(const ValueId id,
                  builder_.given({builder_.free_name(tensor.name()), std::move(value->type), kind,
                                  std::move(value->data)}));
      names_[tensor.name()] = id;
    }
    for (const auto& sparse : model_.graph().sparse_initializer()) {
      refuse(sparse.values().name(), "initializer", not_supported("sparse tensors"));
      failed_.insert(sparse.values().name());
    }
    return ok_status();
  }

  /// The extents of an input; those that nothing binds go to `unbound` as "x: batch".
  Result<std::vector<std::int64_t>> extents_of(const ::onnx::ValueInfoProto& input,
                                               std::vector<std::string>& unbound) {
    const auto given = options_.shapes.find(input.name());
    const ::onnx::TypeProto::Tensor& type = input.type().tensor_type();
    if (given != options_.shapes.end()) return given->second;
    std::vector<std::int64_t> extents;
    if (!type.has_shape()) unbound.push_back(cat(quote_name(input.name()), " has no shape"));
    for (const auto& dim : type.shape().dim()) {
      if (dim.has_dim_value()) {
        extents.push_back(dim.dim_value());
        continue;
      }
      const auto bound = options_.dims.find(dim.dim_param());
      if (!dim.dim_param().empty() && bound != options_.dims.end()) {
        extents.push_back(bound->second);
        continue;
      }
      const std::string symbol =
          dim.dim_param().empty() ? "is not given" : cat("is ", quote_name(dim.dim_param()));
      unbound.push_back(cat("dim ", extents.size(), " of ", quote_name(input.name()), " ", symbol));
      extents.push_back(1);
    }
    return extents;
  }

  Status add_inputs() {
    TESSERA_CHECK_OK(check_bindings());
    std::vector<std::string> unbound;
    for (const ::onnx::ValueInfoProto& input : model_.graph().input()) {
      if (names_.contains(input.name()) || failed_.contains(input.name())) continue;
      const auto bound = options_.values.find(input.name());
      if (bound != options_.values.end()) {
        TESSERA_TRY(names_[input.name()],
                    builder_.given({input.name(), bound->second.type, graph::Kind::kConstant,
                                    bound->second.data}));
        continue;
      }
      Result<DType> dtype = not_supported("sequences, maps and optional values");
      if (input.type().has_tensor_type()) dtype = dtype_of(input.type().tensor_type().elem_type());
      if (!dtype) {
        refuse(input.name(), "input", dtype.error());
        failed_.insert(input.name());
        continue;
      }
      TESSERA_TRY(std::vector<std::int64_t> extents, extents_of(input, unbound));
      TESSERA_TRY(names_[input.name()], builder_.input(input.name(), std::move(extents), *dtype));
    }
    if (unbound.empty()) return ok_status();
    return Error{ErrorCode::kBadGraph,
                 cat("shapes that the model leaves open: ", join(unbound, "; ")), std::nullopt,
                 "bind them with --dim batch=8 or --shape x=1,3,224,224"};
  }

  /// Names of `options` that the model does not have.
  Status check_bindings() const {
    std::set<std::string_view> inputs;
    std::set<std::string_view> dims;
    for (const ::onnx::ValueInfoProto& input : model_.graph().input()) {
      if (names_.contains(input.name())) continue;  // an initializer
      inputs.insert(input.name());
      for (const auto& dim : input.type().tensor_type().shape().dim()) {
        if (!dim.dim_param().empty()) dims.insert(dim.dim_param());
      }
    }
    const auto check = [](const auto& given, const std::set<std::string_view>& names,
                          std::string_view what) -> Status {
      for (const auto& [name, value] : given) {
        if (names.contains(name)) continue;
        const std::vector<std::string_view> all(names.begin(), names.end());
        return Error{ErrorCode::kUnknownName, cat("the model has no ", what, " ", quote_name(name)),
                     std::nullopt,
                     all.empty() ? cat("it has no ", what, " at all") : did_you_mean(name, all)};
      }
      return ok_status();
    };
    TESSERA_CHECK_OK(check(options_.dims, dims, "symbolic dim"));
    return check(options_.shapes, inputs, "input");
  }

  void refuse(std::string node, std::string op, const Error& error) {
    Unsupported entry{std::move(node), std::move(op), error.message, {}};
    for (const Reason& reason : error.reasons) {
      if (reason.name == "not_constant") entry.needs = reason.text("value").value_or("");
    }
    imported_.unsupported.push_back(std::move(entry));
  }

  Status convert(const NodeProto& node, const Versions& versions, int nesting) {
    const std::string domain = plain_domain(node.domain());
    const std::string op = domain.empty() ? node.op_type() : cat(domain, "::", node.op_type());
    const auto fail_outputs = [&] { failed_.insert(node.output().begin(), node.output().end()); };
    if (++work_ > kMaxModelNodes) {
      return Error{ErrorCode::kTooLarge, cat("more than ", kMaxModelNodes, " nodes")};
    }
    std::vector<ValueId> inputs;
    for (const std::string& name : node.input()) {
      const auto at = names_.find(name);
      if (name.empty()) {
        inputs.push_back(graph::kAbsent);
      } else if (failed_.contains(name)) {
        count(op);
        fail_outputs();
        return ok_status();  // the reason is listed where it failed
      } else if (at == names_.end()) {
        return Error{ErrorCode::kBadGraph,
                     cat("node ", quote_name(shown(node)), " (", op, ") reads ", quote_name(name),
                         ", which nothing before it defines")};
      } else {
        inputs.push_back(at->second);
      }
    }
    const auto local = functions_.find(cat(domain, "::", node.op_type()));
    if (local != functions_.end()) {
      return inline_function(*local->second, node, versions_of(local->second->opset_import()),
                             nesting);
    }
    const auto version = versions.find(domain);
    const int opset = version == versions.end() ? 1 : version->second;
    const Converter converter = domain.empty() ? converter_of(node.op_type()) : nullptr;
    if (converter == nullptr) {
      NodeProto whole = node;  // with the defaults of its attributes
      const Result<FunctionProto> function = function_of(whole, opset, types_of(inputs));
      if (function) {
        Versions inner = versions_of(function->opset_import());
        if (inner.empty()) inner = versions;
        return inline_function(*function, whole, inner, nesting);
      }
      count(op);
      refuse(shown(node), op, function.error());
      fail_outputs();
      return ok_status();
    }
    count(op);
    const std::size_t needed = least_inputs(inputs);
    NodeView view(node, opset, std::move(inputs), builder_, options_.folder);
    const Status done = needed == 0 && node.input_size() > 0
                            ? Status(not_supported("its first input is left out"))
                            : converter(view);
    if (!done) {
      if (done.error().code == ErrorCode::kIo) return done.error();
      refuse(shown(node), op, done.error());
      fail_outputs();
      return ok_status();
    }
    for (int i = 0; i < node.output_size(); ++i) {
      if (node.output(i).empty()) continue;
      const ValueId id = view.results()[static_cast<std::size_t>(i)];
      if (id != graph::kAbsent) {
        names_[node.output(i)] = id;
      } else {
        refuse(shown(node), op, not_supported(cat("output ", i, " is not computed")));
        failed_.insert(node.output(i));
      }
    }
    return ok_status();
  }

  static std::size_t least_inputs(const std::vector<ValueId>& inputs) {
    return !inputs.empty() && inputs[0] != graph::kAbsent ? 1 : 0;
  }

  static std::string shown(const NodeProto& node) {
    if (!node.name().empty()) return node.name();
    return node.output_size() > 0 ? node.output(0) : "";
  }

  void count(const std::string& op) {
    ++imported_.ops[op];
    ++imported_.nodes;
  }

  std::vector<::onnx::TypeProto> types_of(const std::vector<ValueId>& inputs) const {
    std::vector<::onnx::TypeProto> types;
    for (const ValueId v : inputs) {
      ::onnx::TypeProto type;
      if (v != graph::kAbsent) {
        auto* const tensor = type.mutable_tensor_type();
        tensor->set_elem_type(onnx_type_of(builder_.type(v).dtype));
        for (const std::int64_t extent : builder_.type(v).shape.extents()) {
          tensor->mutable_shape()->add_dim()->set_dim_value(extent);
        }
      }
      types.push_back(std::move(type));
    }
    return types;
  }

  /// The nodes of a function in place of the node that calls it. Names inside are made unique by
  /// the caller's output.
  Status inline_function(const FunctionProto& function, const NodeProto& caller,
                         const Versions& versions, int nesting) {
    if (nesting == kMostNesting) {
      return Error{ErrorCode::kTooLarge, cat("functions nest deeper than ", kMostNesting,
                                             " levels at ", quote_name(shown(caller)))};
    }
    std::unordered_map<std::string, std::string> names;
    for (int i = 0; i < function.input_size(); ++i) {
      names[function.input(i)] = i < caller.input_size() ? caller.input(i) : "";
    }
    for (int i = 0; i < function.output_size(); ++i) {
      if (i < caller.output_size() && !caller.output(i).empty()) {
        names[function.output(i)] = caller.output(i);
      }
    }
    const std::string prefix = cat(shown(caller), "/", inlined_++, "/");
    const auto renamed = [&](const std::string& name) {
      if (name.empty()) return name;
      const auto at = names.find(name);
      return at != names.end() ? at->second : prefix + name;
    };
    for (NodeProto node : function.node()) {
      bind_attributes(node, caller);
      for (std::string& name : *node.mutable_input()) name = renamed(name);
      for (std::string& name : *node.mutable_output()) name = renamed(name);
      node.set_name(prefix + shown(node));
      TESSERA_CHECK_OK(convert(node, versions, nesting + 1));
    }
    return ok_status();
  }

  const ::onnx::ModelProto& model_;
  const ImportOptions& options_;
  graph::GraphBuilder builder_;
  std::unordered_map<std::string, const FunctionProto*> functions_;
  std::unordered_map<std::string, ValueId> names_;
  std::unordered_set<std::string> failed_;  ///< names of values that are not there
  Imported imported_;
  std::size_t work_ = 0;
  std::size_t inlined_ = 0;
};

}  // namespace

Result<Imported> import_onnx(std::string_view bytes, const ImportOptions& options) {
  if (bytes.size() > kMaxModelBytes) {
    return Error{ErrorCode::kTextTooLong, cat("the model is ", bytes.size(), " bytes long"),
                 std::nullopt, cat("at most ", kMaxModelBytes, " bytes; keep weights in files")};
  }
  TESSERA_TRY(const ::onnx::ModelProto model, parse_model(bytes));
  TESSERA_CHECK_OK(check_model(model));
  return Importer(model, options).run();
}

Result<BoundInput> read_tensor(std::string_view bytes) {
  TESSERA_TRY(const ::onnx::TensorProto tensor, parse_tensor_proto(bytes));
  TESSERA_TRY(TensorValue value, tensor_value(tensor, ""));
  return BoundInput{std::move(value.type), std::move(value.data)};
}

}  // namespace tessera::onnx_import
