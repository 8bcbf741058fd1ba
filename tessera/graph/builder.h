// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/graph/graph.h"

namespace tessera::graph {

/// Makes a graph node by node and checks as it goes, so that an error names the call that is wrong.
/// Law: check(finish()) is ok. An error leaves the builder as it was.
/// Example: see graph.h.
class GraphBuilder {
 public:
  /// The name of the graph is not checked before `check`: it has to be UTF-8.
  explicit GraphBuilder(std::string name = "") { graph_.name = std::move(name); }

  Result<ValueId> input(std::string name, std::vector<std::int64_t> shape,
                        DType dtype = DType::kF32);
  Result<ValueId> parameter(std::string name, std::vector<std::int64_t> shape,
                            DType dtype = DType::kF32, Data data = {});
  Result<ValueId> constant(std::string name, std::vector<std::int64_t> shape, DType dtype,
                           Data data);
  /// Any value that is not computed.
  Result<ValueId> given(Value value);

  /// Adds a node with one output. Without a name, node and output are called after the op:
  /// "matmul", "matmul_1", ..; with one, both have that name.
  Result<ValueId> add(std::string_view op, std::vector<ValueId> inputs, Attributes attributes = {},
                      std::string name = "");
  /// Adds a node whose outputs have these names.
  Result<std::vector<ValueId>> add_node(std::string name, std::string_view op,
                                        std::vector<ValueId> inputs,
                                        std::vector<std::string> outputs,
                                        Attributes attributes = {},
                                        const std::vector<TensorType>& declared = {});
  /// Makes a value an output of the graph. kOutOfRange for a value that does not exist.
  Status output(ValueId value);

  const TensorType& type(ValueId value) const { return graph_.values[value].type; }
  const Graph& graph() const { return graph_; }
  /// The value of this name; kAbsent without one.
  ValueId find(std::string_view name) const;
  /// `stem`, or `stem` with the smallest free number: "add_2".
  std::string free_name(std::string_view stem);

  Graph finish() && { return std::move(graph_); }

 private:
  Status check_name(std::string_view name) const;

  Graph graph_;
  std::unordered_map<std::string, ValueId> by_name_;
  std::unordered_map<std::string, std::int64_t> numbers_;  ///< the next to try for each stem
};

}  // namespace tessera::graph
