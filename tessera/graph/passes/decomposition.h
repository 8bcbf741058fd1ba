// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/graph/graph.h"

namespace tessera::graph {

/// A node while it is written with others. Calls need no checks in between: the first that fails
/// keeps its error, and those after it do nothing.
/// Example: x·sigmoid(x) is d.returns({d.add("mul", {d.in(0), d.add("sigmoid", {d.in(0)})})}).
class Decomposition {
 public:
  /// `graph` has the values that the node reads.
  Decomposition(const Graph& graph, const Node& node, std::vector<const TensorType*> types)
      : graph_(&graph), node_(&node), types_(std::move(types)) {}

  /// The node: its inputs, attributes and their defaults.
  bool has(std::size_t i) const { return call().has(i); }
  ValueId in(std::size_t i) const { return node_->inputs[i]; }
  const Shape& shape(std::size_t i) const { return call().shape(i); }
  DType dtype(std::size_t i) const { return call().dtype(i); }
  std::size_t outputs() const { return node_->outputs.size(); }
  Call call() const { return {node_->op, types_, node_->attributes, node_->outputs.size()}; }

  /// Adds a node with one output.
  ValueId add(std::string_view name, std::vector<ValueId> inputs, Attributes attributes = {});
  /// `x` as elements of another type; `x` itself if it has this type.
  ValueId cast(ValueId x, DType dtype);
  ValueId reshape(ValueId x, std::vector<std::int64_t> extents);
  /// A constant without dims, of type f32 or f64.
  ValueId number(double number, DType dtype);
  /// The values that take the place of the node's outputs.
  void returns(std::vector<ValueId> values) { results_ = std::move(values); }

  // What came of it. Values from `first()` on are new, in order.
  const std::optional<Error>& error() const { return error_; }
  ValueId first() const { return static_cast<ValueId>(graph_->values.size()); }
  const std::vector<Value>& values() const { return values_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<ValueId>& results() const { return results_; }

 private:
  const TensorType& type(ValueId v) const {
    return v < first() ? graph_->values[v].type : values_[v - first()].type;
  }

  const Graph* graph_;
  const Node* node_;
  std::vector<const TensorType*> types_;
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::vector<ValueId> results_;
  std::optional<Error> error_;
};

/// Each op with the function that writes its nodes with others. Nodes that are added may be of
/// other ops of the table, in one direction: attention adds softmax.
const std::map<std::string_view, void (*)(Decomposition&)>& decompositions();

}  // namespace tessera::graph
