// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "onnx/onnx_pb.h"
#include "tessera/base/result.h"
#include "tessera/graph/graph.h"

namespace tessera::onnx_import {

/// A value of the model that is written; without a name, an optional input that is left out.
struct Ref {
  std::string name;
  graph::TensorType type = {};
};

// Attributes of ONNX nodes.
::onnx::AttributeProto attribute(std::string_view name, std::int64_t value);
::onnx::AttributeProto attribute(std::string_view name, double value);
::onnx::AttributeProto attribute(std::string_view name, std::string_view value);
::onnx::AttributeProto attribute(std::string_view name, const std::vector<std::int64_t>& values);
::onnx::AttributeProto attribute(std::string_view name, const std::vector<double>& values);
using AttributeProtos = std::vector<::onnx::AttributeProto>;

/// A tensor with these elements.
::onnx::TensorProto tensor_proto(const std::string& name, const graph::TensorType& type,
                                 std::string bytes);
void set_type(const graph::TensorType& type, ::onnx::TypeProto& proto);

/// Names of which each is given once.
class FreeNames {
 public:
  void take(const std::string& name) { names_.insert(name); }
  /// `stem`, or `stem` with a number; taken from now on.
  std::string take_free(const std::string& stem);

 private:
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, std::int64_t> numbers_;  ///< the last that was tried
};

/// A model while it is written: its nodes, initializers and names.
class ModelWriter {
 public:
  /// The names of the graph's values are taken.
  explicit ModelWriter(const graph::Graph& graph);

  ::onnx::GraphProto& proto() { return *model_.mutable_graph(); }
  ::onnx::ModelProto& model() { return model_; }

  /// `stem`, or `stem` with a number: a value of that name.
  std::string free_name(const std::string& stem) { return names_.take_free(stem); }
  /// The same for a node; no name stays none. Nodes may have names of values, but not of each
  /// other.
  std::string free_node_name(const std::string& stem) {
    return stem.empty() ? stem : node_names_.take_free(stem);
  }
  /// An initializer.
  Ref tensor(const std::string& stem, const graph::TensorType& type, std::string bytes);

  /// Adds a node. Element types that the op of ONNX does not accept are cast to wider ones, and
  /// results back. kNotSupported if there is no such type.
  Status add(const std::string& node, std::string_view op, std::vector<Ref> inputs,
             const std::vector<Ref>& outputs, const AttributeProtos& attributes);

 private:
  ::onnx::NodeProto& append(const std::string& node, std::string_view op,
                            const std::vector<Ref>& inputs, const std::vector<Ref>& outputs);
  void cast(const std::string& node, const Ref& from, const Ref& to);

  ::onnx::ModelProto model_;
  FreeNames names_;
  FreeNames node_names_;
};

/// One node of a graph while it is written with ops of ONNX.
/// Example: rsqrt is
///     TESSERA_TRY(const Ref root, node.step("Sqrt", {node.in(0)}, node.in(0).type));
///     return node.write("Reciprocal", {root});
class NodeWriter {
 public:
  NodeWriter(const graph::Graph& graph, const graph::Node& node, ModelWriter& model);

  std::string_view op() const { return node_.op.name(); }
  const graph::Call& call() const { return call_; }
  bool has(std::size_t i) const { return call_.has(i); }
  Ref in(std::size_t i) const;
  std::vector<Ref> all_inputs() const;
  Ref out(std::size_t i) const;

  /// Those that are given, by their names in ONNX (same_ops.h), except some. ONNX has no empty
  /// lists; the only one is the order of no dims.
  AttributeProtos same_attributes(std::initializer_list<std::string_view> except = {}) const;

  /// A node that computes all outputs of the graph's node.
  Status write(std::string_view op, const std::vector<Ref>& inputs,
               const AttributeProtos& attributes = {});
  /// A node that computes something on the way.
  Result<Ref> step(std::string_view op, const std::vector<Ref>& inputs,
                   const graph::TensorType& type, const AttributeProtos& attributes = {});

  // Constants on the way: a list, one number as [], and elements of any type.
  Ref integers(std::string_view name, const std::vector<std::int64_t>& list);
  Ref integer(std::string_view name, std::int64_t number);
  Ref reals(std::string_view name, const std::vector<double>& list);
  Ref tensor(std::string_view name, const graph::TensorType& type, std::string bytes);
  /// A value with one element as one without dims, as ONNX has limits and paddings.
  Result<Ref> as_scalar(const Ref& x);

 private:
  std::string stem(std::string_view what) const;

  const graph::Graph& graph_;
  const graph::Node& node_;
  ModelWriter& model_;
  std::vector<const graph::TensorType*> types_;
  graph::Call call_;
};

/// Writes one node. Null for an op that ONNX does not have.
using Writer = Status (*)(NodeWriter& node);
Writer writer_of(std::string_view op);

/// One list for each file of writers.
struct NamedWriter {
  std::string_view op;
  Writer write;
};
std::vector<NamedWriter> value_writers();     ///< numbers: elementwise, reductions, products
std::vector<NamedWriter> movement_writers();  ///< shapes and places
std::vector<NamedWriter> window_writers();
std::vector<NamedWriter> same_writers();  ///< for the rest of same_ops.h

}  // namespace tessera::onnx_import
