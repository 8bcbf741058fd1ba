// SPDX-License-Identifier: Apache-2.0
#include "tessera/pyflame/ir_graph.h"

#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>

#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/graph/builder.h"

namespace tessera::pyflame::ir {

std::string_view op_name(OpType op) {
  switch (op) {
    case OpType::INPUT:
    case OpType::PARAMETER:
    case OpType::CONSTANT:
      return "";
    case OpType::ADD:
      return "add";
    case OpType::SUB:
      return "sub";
    case OpType::MUL:
      return "mul";
    case OpType::DIV:
      return "div";
    case OpType::MATMUL:
      return "matmul";
    case OpType::RELU:
      return "relu";
    case OpType::SIGMOID:
      return "sigmoid";
    case OpType::TANH:
      return "tanh";
    case OpType::GELU:
      return "gelu";
    case OpType::EXP:
      return "exp";
    case OpType::LOG:
      return "log";
    case OpType::SQRT:
      return "sqrt";
    case OpType::SOFTMAX:
      return "softmax";
    case OpType::SUM:
      return "reduce_sum";
    case OpType::MEAN:
      return "reduce_mean";
    case OpType::MAX:
      return "reduce_max";
    case OpType::MIN:
      return "reduce_min";
    case OpType::RESHAPE:
      return "reshape";
    case OpType::TRANSPOSE:
      return "transpose";
    case OpType::LAYOUT_TRANSFORM:
      return "layout_transform";
  }
  return "";
}

Node* Graph::create(OpType op, std::vector<Node*> inputs, TensorSpec spec, std::string name) {
  const NodeId id = nodes_.size();
  if (name.empty()) name = cat("node_", id);
  nodes_.push_back(
      std::unique_ptr<Node>(new Node(id, op, std::move(inputs), std::move(spec), std::move(name))));
  return nodes_.back().get();
}

Node* Graph::create_input(TensorSpec spec, std::string name) {
  return create(OpType::INPUT, {}, std::move(spec), std::move(name));
}

Node* Graph::create_parameter(TensorSpec spec, std::string name) {
  return create(OpType::PARAMETER, {}, std::move(spec), std::move(name));
}

Node* Graph::create_op(OpType op, std::vector<Node*> inputs, TensorSpec spec, std::string name) {
  return create(op, std::move(inputs), std::move(spec), std::move(name));
}

bool Graph::owns(const Node* node) const {
  return node != nullptr && node->id_ < nodes_.size() && nodes_[node->id_].get() == node;
}

std::vector<Node*> Graph::topological_order() const {
  std::vector<std::size_t> waits(nodes_.size(), 0);
  std::vector<std::vector<NodeId>> readers(nodes_.size());
  for (const auto& node : nodes_) {
    for (const Node* const input : node->inputs_) {
      ++waits[node->id_];  // for ever, if the input is not a node of this graph
      if (owns(input)) readers[input->id_].push_back(node->id_);
    }
  }
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    if (waits[id] == 0) ready.push(id);
  }
  std::vector<Node*> order;
  while (!ready.empty()) {
    const NodeId id = ready.top();
    ready.pop();
    order.push_back(nodes_[id].get());
    for (const NodeId reader : readers[id]) {
      if (--waits[reader] == 0) ready.push(reader);
    }
  }
  return order;
}

Result<graph::Graph> Graph::lower() const {
  const std::vector<Node*> order = topological_order();
  if (order.size() != nodes_.size()) {
    return Error{
        ErrorCode::kBadGraph,
        cat(nodes_.size() - order.size(), " nodes are in a cycle, or read nodes of another graph"),
        std::nullopt, "a node cannot need its own result"};
  }
  graph::GraphBuilder builder;
  std::unordered_map<const Node*, graph::ValueId> values;
  for (const Node* const node : order) {
    const TensorSpec& spec = node->spec_;
    graph::ValueId id = 0;
    if (!node->is_operation()) {
      TESSERA_TRY(Shape shape, Shape::make(spec.shape));
      const graph::Kind kind = node->op_ == OpType::INPUT       ? graph::Kind::kInput
                               : node->op_ == OpType::PARAMETER ? graph::Kind::kParameter
                                                                : graph::Kind::kConstant;
      TESSERA_TRY(id, builder.given({node->name_, {std::move(shape), spec.dtype}, kind}));
    } else {
      std::vector<graph::ValueId> inputs;
      for (const Node* const input : node->inputs_) inputs.push_back(values[input]);
      graph::Attributes attributes = node->attributes_;
      if (node->op_ == OpType::RESHAPE) attributes.set("shape", spec.shape);
      TESSERA_TRY(id, builder.add(op_name(node->op_), std::move(inputs), std::move(attributes),
                                  node->name_));
      const graph::TensorType& type = builder.type(id);
      if (type.shape.extents() != spec.shape || type.dtype != spec.dtype) {
        return Error{ErrorCode::kShapeMismatch,
                     cat("node ", quote_name(node->name_), " (", op_name(node->op_), ") gives ",
                         type.to_string(), ", but its spec is ", dtype_name(spec.dtype),
                         bracketed(spec.shape))};
      }
    }
    values[node] = id;
  }
  for (const Node* const node : outputs_) {
    if (!owns(node)) return Error{ErrorCode::kBadGraph, "an output is a node of another graph"};
    TESSERA_CHECK_OK(builder.output(values[node]));
  }
  return std::move(builder).finish();
}

std::map<std::size_t, MeshLayout> Graph::layouts() const {
  std::map<std::size_t, MeshLayout> layouts;
  for (const Node* const node : topological_order()) {
    layouts.emplace(layouts.size(), node->spec_.layout);
  }
  return layouts;
}

}  // namespace tessera::pyflame::ir
