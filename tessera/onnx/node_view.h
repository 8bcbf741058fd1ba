// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/onnx_pb.h"
#include "tessera/base/result.h"
#include "tessera/graph/builder.h"

namespace tessera::onnx_import {

/// The types of ONNX that graphs have; kNotSupported for strings, complex numbers and the like.
Result<DType> dtype_of(std::int64_t onnx_type);
std::int32_t onnx_type_of(DType dtype);

/// What a tensor of a model is: import makes initializers of float types parameters and others
/// constants. A tensor that is neither has its kind as a note in its doc_string.
graph::Kind kind_of_initializer(DType dtype);
std::string_view kind_note(graph::Kind kind);
/// The kind of a note; `otherwise` for every other text.
graph::Kind kind_of_note(std::string_view note, graph::Kind otherwise);

/// The elements of a tensor of a model. External data stay in their file, whose presence and length
/// are checked; small integers are read. kIo for files that are absent or too short or lie outside
/// `folder`, kContradiction for data that do not match the shape.
struct TensorValue {
  graph::TensorType type;
  graph::Data data;
};
Result<TensorValue> tensor_value(const ::onnx::TensorProto& tensor, const std::string& folder);

/// One node of a model while it is converted: its inputs as values, its attributes, and where its
/// results go. Nodes whose inputs are known become constants (graph/fold.h).
class NodeView {
 public:
  NodeView(const ::onnx::NodeProto& proto, int version, std::vector<graph::ValueId> inputs,
           graph::GraphBuilder& builder, const std::string& folder)
      : proto_(proto),
        version_(version),
        inputs_(std::move(inputs)),
        builder_(builder),
        folder_(folder),
        results_(static_cast<std::size_t>(proto.output_size()), graph::kAbsent) {}

  const std::string& op() const { return proto_.op_type(); }
  int version() const { return version_; }
  const std::string& folder() const { return folder_; }
  const std::string& note() const { return proto_.doc_string(); }

  std::size_t inputs() const { return inputs_.size(); }
  bool has(std::size_t i) const { return i < inputs_.size() && inputs_[i] != graph::kAbsent; }
  graph::ValueId input(std::size_t i) const {
    return i < inputs_.size() ? inputs_[i] : graph::kAbsent;
  }
  const std::vector<graph::ValueId>& all_inputs() const { return inputs_; }
  const graph::TensorType& type(graph::ValueId v) const { return builder_.type(v); }
  const graph::TensorType& input_type(std::size_t i) const { return builder_.type(inputs_[i]); }
  const Shape& shape(std::size_t i) const { return input_type(i).shape; }

  /// The elements of an input that decides a type; kNotSupported if they are not known.
  Result<std::vector<std::int64_t>> integers(std::size_t i) const;
  Result<std::vector<double>> reals(std::size_t i) const;

  const ::onnx::AttributeProto* attribute(std::string_view name) const;
  bool given(std::string_view name) const { return attribute(name) != nullptr; }
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  double real(std::string_view name, double otherwise) const;
  std::string text(std::string_view name, std::string_view otherwise) const;
  std::vector<std::int64_t> integer_list(std::string_view name) const;
  std::vector<double> real_list(std::string_view name) const;
  /// Those that are given of the attributes that `op` of a graph has (same_ops.h), except some.
  graph::Attributes same_attributes(std::string_view op,
                                    std::initializer_list<std::string_view> except = {}) const;

  std::size_t outputs() const { return results_.size(); }
  bool wants(std::size_t i) const {
    return i < results_.size() && !proto_.output(static_cast<int>(i)).empty();
  }

  /// Adds a node, or the constants that it gives. `result` is the number of the output that it is;
  /// nullopt for a step on the way.
  Result<graph::ValueId> emit(std::string_view op, std::vector<graph::ValueId> inputs,
                              graph::Attributes attributes = {},
                              std::optional<std::size_t> result = std::nullopt);
  /// The same for the first `count` outputs of the model's node.
  Result<std::vector<graph::ValueId>> emit_all(std::string_view op,
                                               std::vector<graph::ValueId> inputs,
                                               graph::Attributes attributes, std::size_t count);
  Result<graph::ValueId> constant(std::vector<std::int64_t> shape, DType dtype, graph::Data data,
                                  std::optional<std::size_t> result = std::nullopt,
                                  graph::Kind kind = graph::Kind::kConstant);
  /// One number of the type of `like`.
  Result<graph::ValueId> number(double value, graph::ValueId like);

  /// The values of the node's outputs; kAbsent for those that were not made.
  const std::vector<graph::ValueId>& results() const { return results_; }

 private:
  std::string name_of(std::optional<std::size_t> result);
  Result<std::vector<graph::ValueId>> emit_at(std::string_view op,
                                              std::vector<graph::ValueId> inputs,
                                              graph::Attributes attributes,
                                              const std::vector<std::optional<std::size_t>>& at);

  const ::onnx::NodeProto& proto_;
  int version_;
  std::vector<graph::ValueId> inputs_;
  graph::GraphBuilder& builder_;
  const std::string& folder_;
  std::vector<graph::ValueId> results_;
};

/// kNotSupported with this reason.
Error not_supported(std::string reason);

/// Converts one node. Null for an op without a converter.
using Converter = Status (*)(NodeView& node);
Converter converter_of(std::string_view op);

/// One list for each file of converters.
struct NamedConverter {
  std::string_view op;
  Converter convert;
};
std::vector<NamedConverter> value_converters();     ///< numbers: elementwise, reductions, products
std::vector<NamedConverter> movement_converters();  ///< shapes and places
std::vector<NamedConverter> window_converters();
std::vector<NamedConverter> same_converters();  ///< for the rest of same_ops.h

}  // namespace tessera::onnx_import
