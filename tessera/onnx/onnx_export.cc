// SPDX-License-Identifier: Apache-2.0
#include "tessera/onnx/onnx_export.h"

#include <algorithm>
#include <filesystem>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/graph/passes/decompose.h"
#include "tessera/onnx/model_shim.h"
#include "tessera/onnx/node_view.h"
#include "tessera/onnx/node_writer.h"
#include "tessera/onnx/onnx_import.h"
#include "tessera/version.h"

namespace tessera::onnx_import {
namespace {

using graph::Data;
using graph::Graph;
using graph::Kind;
using graph::Value;
using graph::ValueId;
using ::onnx::TensorProto;

constexpr int kWrittenFormat = 8;  ///< the version of the file format that belongs to the opset
constexpr std::size_t kMostListed = 10;  ///< in the sentence of an error; reasons have all

/// What ONNX 17 has no op for, and is written with others.
std::vector<std::string> missing_ops() { return {"attention", "gelu", "group_norm", "rms_norm"}; }

/// The data's file as ONNX has it: relative to the folder of the model, and in it.
std::string location_in(const std::string& folder, const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path base = fs::absolute(folder, error).lexically_normal();
  const fs::path path = fs::absolute(file, error).lexically_normal();
  // A folder that ends in a slash has an empty last part.
  const fs::path inside = path.lexically_relative(base.has_filename() ? base : base.parent_path());
  if (error || inside.empty() || *inside.begin() == "..") return "";
  return inside.generic_string();
}

class Exporter {
 public:
  Exporter(const Graph& graph, const ExportOptions& options)
      : graph_(graph), options_(options), model_(graph) {}

  Result<std::string> run() {
    TESSERA_CHECK_OK(check_size());
    ::onnx::ModelProto& model = model_.model();
    model.set_ir_version(kWrittenFormat);
    model.set_producer_name("tessera");
    model.set_producer_version(std::string(kVersion));
    model.add_opset_import()->set_version(kWrittenOpset);
    model_.proto().set_name(graph_.name.empty() ? "graph" : graph_.name);
    for (const Value& value : graph_.values) {
      const Status added = add_value(value);
      if (!added) refuse(value.name, graph::kind_name(value.kind), added.error());
    }
    for (const graph::Node& node : graph_.nodes) {
      NodeWriter writer(graph_, node, model_);
      const Status added = add_node(node, writer);
      if (!added) refuse(shown(node), node.op.name(), added.error());
    }
    add_outputs();
    if (!refused_.empty()) return refusal();
    TESSERA_CHECK_OK(check_model(model));
    return bytes_of_model(model);
  }

 private:
  /// protobuf writes at most 2 GiB, and says so only after it has filled them.
  Status check_size() const {
    Checked bytes(0);
    for (const Value& value : graph_.values) {
      const bool in_full =
          value.data.form == Data::Form::kBytes ||
          (value.data.form == Data::Form::kFill && !is_written_as_fill(value.type.dtype));
      if (in_full) bytes += value.type.bytes();
    }
    if (bytes.saturated() <= static_cast<std::int64_t>(kMaxModelBytes)) return ok_status();
    return Error{ErrorCode::kTooLarge,
                 cat("the model has ", bytes.saturated(), " bytes of weights"), std::nullopt,
                 cat("an ONNX file has at most ", kMaxModelBytes,
                     " bytes; a graph as JSON has no limit and needs no weights")};
  }

  static bool is_written_as_fill(DType dtype) { return dtype != DType::kBF16; }

  Status add_value(const Value& value) {
    if (onnx_type_of(value.type.dtype) == 0) {
      return not_supported(cat("elements of type ", dtype_name(value.type.dtype)));
    }
    if (value.kind == Kind::kInput) {
      add_info(value, *model_.proto().add_input());
      return ok_status();
    }
    if (value.kind == Kind::kComputed) return ok_status();
    switch (value.data.form) {
      case Data::Form::kNone:
        return not_supported("it has no elements, which ONNX needs");
      case Data::Form::kBytes:
        add_tensor(value, *value.data.bytes);
        return ok_status();
      case Data::Form::kFill:
        add_fill(value);
        return ok_status();
      case Data::Form::kFile:
        break;
    }
    const std::string location = location_in(options_.folder, value.data.file);
    if (location.empty()) {
      return not_supported(cat("its elements are in ", quote_name(value.data.file),
                               ", which is not in the folder of the model"));
    }
    TensorProto& tensor = add_tensor(value, "");
    tensor.clear_raw_data();
    tensor.set_data_location(TensorProto::EXTERNAL);
    for (const auto& [key, entry] : {std::pair<std::string, std::string>{"location", location},
                                     {"offset", std::to_string(value.data.offset)},
                                     {"length", std::to_string(value.type.bytes())}}) {
      auto* const added = tensor.add_external_data();
      added->set_key(key);
      added->set_value(entry);
    }
    return ok_status();
  }

  TensorProto& add_tensor(const Value& value, std::string bytes) {
    TensorProto& tensor = *model_.proto().add_initializer();
    tensor = tensor_proto(value.name, value.type, std::move(bytes));
    if (value.kind != kind_of_initializer(value.type.dtype)) {
      tensor.set_doc_string(std::string(kind_note(value.kind)));
    }
    return tensor;
  }

  /// A weight that is one number needs no memory in ONNX either: ConstantOfShape.
  void add_fill(const Value& value) {
    if (!is_written_as_fill(value.type.dtype)) {
      std::string bytes;
      for (std::int64_t i = 0; i < value.type.shape.elements(); ++i) bytes += *value.data.bytes;
      add_tensor(value, std::move(bytes));
      return;
    }
    const std::vector<std::int64_t>& extents = value.type.shape.extents();
    const Ref shape =
        model_.tensor(cat(value.name, ".shape"), {*Shape::make({std::ssize(extents)}), DType::kI64},
                      *graph::bytes_of(extents, DType::kI64));
    ::onnx::NodeProto& node = *model_.proto().add_node();
    node.set_name(model_.free_node_name(value.name));
    node.set_op_type("ConstantOfShape");
    node.add_input(shape.name);
    node.add_output(value.name);
    ::onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name("value");
    attribute.set_type(::onnx::AttributeProto::TENSOR);
    *attribute.mutable_t() =
        tensor_proto("", {*Shape::make({1}), value.type.dtype}, *value.data.bytes);
    if (value.kind != Kind::kConstant) node.set_doc_string(std::string(kind_note(value.kind)));
  }

  static void add_info(const Value& value, ::onnx::ValueInfoProto& info) {
    info.set_name(value.name);
    set_type(value.type, *info.mutable_type());
  }

  Status add_node(const graph::Node& node, NodeWriter& writer) {
    const Writer write = writer_of(node.op.name());
    if (write != nullptr) return write(writer);
    // What cannot be decomposed reads a tensor without elements. If its result has none, and their
    // type is that of its first input, they are the same.
    const bool is_empty = !node.outputs.empty() && writer.has(0) &&
                          writer.out(0).type == writer.in(0).type &&
                          writer.out(0).type.shape.elements() == 0;
    const std::vector<std::string> missing = missing_ops();
    if (std::ranges::count(missing, node.op.name()) == 0) {
      return not_supported("ONNX has no such op");
    }
    if (is_empty) return writer.write("Identity", {writer.in(0)});
    return not_supported("it reads a tensor without elements");
  }

  /// Every output of a model has a name of its own.
  void add_outputs() {
    std::unordered_set<ValueId> named;
    for (const ValueId v : graph_.outputs) {
      Value value = graph_.values[v];
      if (!named.insert(v).second) {
        value.name = model_.free_name(value.name);
        const Status added =
            model_.add(value.name, "Identity", {{graph_.values[v].name, value.type}},
                       {{value.name, value.type}}, {});
        if (!added) refuse(value.name, "output", added.error());
      }
      add_info(value, *model_.proto().add_output());
    }
    for (ValueId v = 0; v < graph_.values.size(); ++v) {
      const Value& value = graph_.values[v];
      if (value.kind != Kind::kComputed || named.contains(v)) continue;
      add_info(value, *model_.proto().add_value_info());
    }
  }

  std::string shown(const graph::Node& node) const {
    if (!node.name.empty() || node.outputs.empty()) return node.name;
    return graph_.values[node.outputs[0]].name;
  }

  void refuse(const std::string& node, std::string_view op, const Error& error) {
    refused_.push_back({node, std::string(op), error.message, {}});
  }

  Error refusal() const {
    Error error = not_supported(cat("ONNX ", kWrittenOpset, " cannot express ", refused_.size(),
                                    refused_.size() == 1 ? " part" : " parts", " of the graph: "));
    for (std::size_t i = 0; i < std::min(refused_.size(), kMostListed); ++i) {
      error.message += cat(i == 0 ? "" : "; ", quote_name(refused_[i].node), " (", refused_[i].op,
                           "): ", refused_[i].reason);
    }
    if (refused_.size() > kMostListed) {
      error.message += cat("; and ", refused_.size() - kMostListed, " more");
    }
    error.help = "a graph as JSON (docs/graph.md) has all of them";
    for (const Unsupported& each : refused_) {
      error.reasons.push_back(
          {"not_in_onnx", {{"node", each.node}, {"op", each.op}, {"because", each.reason}}});
    }
    return error;
  }

  const Graph& graph_;
  const ExportOptions& options_;
  ModelWriter model_;
  std::vector<Unsupported> refused_;
};

}  // namespace

Result<std::string> export_onnx(const Graph& graph, const ExportOptions& options) {
  const std::vector<std::string> missing = missing_ops();
  const bool lacks_some = std::ranges::any_of(graph.nodes, [&](const graph::Node& node) {
    return std::ranges::count(missing, node.op.name()) > 0;
  });
  if (!lacks_some) return Exporter(graph, options).run();
  TESSERA_TRY(const Graph simpler, graph::with_decomposed_ops(graph, missing));
  return Exporter(simpler, options).run();
}

}  // namespace tessera::onnx_import
