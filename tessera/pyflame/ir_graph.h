// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/dtype.h"
#include "tessera/base/result.h"
#include "tessera/graph/graph.h"
#include "tessera/pyflame/mesh_layout.h"

/// The graph of PyFlame programs, in PyFlame's own words: a facade over graph::Graph, which `lower`
/// makes. Types are checked there, by the one table of ops.
///
///     ir::Graph graph;
///     ir::Node* const x = graph.create_input({{32, 1024}}, "x");
///     ir::Node* const w = graph.create_parameter({{1024, 512}}, "w");
///     ir::Node* const h = graph.create_op(ir::OpType::MATMUL, {x, w}, {{32, 512}}, "h");
///     graph.add_output(h);
///     const Result<graph::Graph> lowered = graph.lower();
namespace tessera::pyflame::ir {

using NodeId = std::size_t;

// NOLINTBEGIN(readability-identifier-naming): PyFlame's own spelling.
enum class OpType : std::uint8_t {
  INPUT,
  PARAMETER,
  CONSTANT,
  ADD,
  SUB,
  MUL,
  DIV,
  MATMUL,
  RELU,
  SIGMOID,
  TANH,
  GELU,
  EXP,
  LOG,
  SQRT,
  SOFTMAX,
  SUM,
  MEAN,
  MAX,
  MIN,
  RESHAPE,
  TRANSPOSE,
  LAYOUT_TRANSFORM,
};
// NOLINTEND(readability-identifier-naming)

/// The name of the op in the table of graph/op.h; "" for inputs, parameters and constants.
std::string_view op_name(OpType op);

/// What a node produces, and where it lives.
struct TensorSpec {
  std::vector<std::int64_t> shape;
  DType dtype = DType::kF32;
  MeshLayout layout = {};
};

class Graph;

class Node {
 public:
  NodeId id() const { return id_; }
  OpType op_type() const { return op_; }
  const std::string& name() const { return name_; }
  const TensorSpec& output_spec() const { return spec_; }
  const std::vector<Node*>& inputs() const { return inputs_; }
  bool is_operation() const { return !op_name(op_).empty(); }

  /// Makes input i another node, also one that was created later. `i` is below inputs().size().
  void replace_input(std::size_t i, Node* input) { inputs_[i] = input; }
  /// Attributes of the op, as in docs/graph.md: {"axes", ..} of a sum.
  void set_attribute(std::string_view name, graph::Attribute value) {
    attributes_.set(name, std::move(value));
  }
  /// Numbers for a code generator; they do not change what the graph means.
  void set_metadata(const std::string& key, int value) { metadata_[key] = value; }
  const graph::Attributes& attributes() const { return attributes_; }
  void set_layout(MeshLayout layout) { spec_.layout = std::move(layout); }
  const std::map<std::string, int>& metadata() const { return metadata_; }

 private:
  friend class Graph;
  Node(NodeId id, OpType op, std::vector<Node*> inputs, TensorSpec spec, std::string name)
      : id_(id),
        op_(op),
        inputs_(std::move(inputs)),
        spec_(std::move(spec)),
        name_(std::move(name)) {}

  NodeId id_;
  OpType op_;
  std::vector<Node*> inputs_;
  TensorSpec spec_;
  std::string name_;
  graph::Attributes attributes_;
  std::map<std::string, int> metadata_;
};

/// Owns its nodes; pointers to them stay valid as long as it lives.
class Graph {
 public:
  Node* create_input(TensorSpec spec, std::string name);
  Node* create_parameter(TensorSpec spec, std::string name);
  Node* create_op(OpType op, std::vector<Node*> inputs, TensorSpec spec, std::string name = "");
  void add_output(Node* node) { outputs_.push_back(node); }
  /// Makes output i another node. `i` is below outputs().size().
  void replace_output(std::size_t i, Node* node) { outputs_[i] = node; }

  const std::vector<Node*>& outputs() const { return outputs_; }
  std::size_t size() const { return nodes_.size(); }
  /// Every node after its inputs, else in the order of creation. Nodes of a cycle are left out:
  /// `lower` reports it.
  std::vector<Node*> topological_order() const;

  /// The graph: value k is the output of node k of topological_order(). Errors: kBadGraph for a
  /// cycle, kShapeMismatch where a spec is not what the op gives, and the errors of graph::infer.
  Result<graph::Graph> lower() const;
  /// The layouts of the specs, by the numbers of those values.
  std::map<std::size_t, MeshLayout> layouts() const;

 private:
  bool owns(const Node* node) const;
  Node* create(OpType op, std::vector<Node*> inputs, TensorSpec spec, std::string name);

  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<Node*> outputs_;
};

}  // namespace tessera::pyflame::ir
