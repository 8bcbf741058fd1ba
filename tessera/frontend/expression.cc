// SPDX-License-Identifier: Apache-2.0
#include "tessera/frontend/expression.h"

#include <unordered_map>
#include <utility>

#include "tessera/graph/builder.h"

namespace tessera::frontend {
namespace {

/// Adds nodes to a graph, operands first; without recursion, as expressions may be deep.
class Collector {
 public:
  explicit Collector(std::string name) : builder_(std::move(name)) {}

  Status add(const NodePointer& wanted) {
    std::vector<Visit> open;
    TESSERA_CHECK_OK(visit(wanted, open));
    while (!open.empty()) {
      Visit& last = open.back();
      if (last.next < last.operands.size()) {
        const NodePointer operand = last.operands[last.next++];
        TESSERA_CHECK_OK(visit(operand, open));  // `last` may have moved
        continue;
      }
      TESSERA_CHECK_OK(add_op(last));
      open.pop_back();
    }
    return builder_.output(numbers_.at(wanted.get()));
  }

  Expression finish() && {
    made_.graph = std::move(builder_).finish();
    return std::move(made_);
  }

 private:
  struct Visit {
    NodePointer node;
    std::vector<NodePointer> operands;
    std::size_t next = 0;
  };

  Status visit(const NodePointer& node, std::vector<Visit>& open) {
    if (numbers_.contains(node.get())) return ok_status();
    TESSERA_CHECK_OK(node->make_random());
    graph::Data data = node->elements();
    if (data.form == graph::Data::Form::kNone) {
      open.push_back({node, node->operands()});
      // Another thread may have evaluated the node in between, and released its operands.
      data = node->elements();
      if (data.form == graph::Data::Form::kNone) return ok_status();
      open.pop_back();
    }
    const bool is_computed = node->kind == graph::Kind::kComputed;
    const graph::Kind kind = is_computed ? graph::Kind::kConstant : node->kind;
    TESSERA_TRY(const graph::ValueId id, builder_.given({builder_.free_name(node->stem), node->type,
                                                         kind, std::move(data)}));
    note(node, id);
    return ok_status();
  }

  Status add_op(const Visit& visit) {
    std::vector<graph::ValueId> operands;
    operands.reserve(visit.operands.size());
    for (const NodePointer& operand : visit.operands) {
      operands.push_back(numbers_.at(operand.get()));
    }
    TESSERA_TRY(const graph::ValueId id,
                builder_.add(visit.node->op->name(), std::move(operands), visit.node->attributes));
    note(visit.node, id);
    return ok_status();
  }

  void note(const NodePointer& node, graph::ValueId id) {
    numbers_.emplace(node.get(), id);
    made_.nodes.push_back(node);
    made_.layouts.push_back(node->layout);
  }

  graph::GraphBuilder builder_;
  std::unordered_map<const Tensor::Node*, graph::ValueId> numbers_;
  Expression made_;
};

}  // namespace

Result<Expression> expression_of(const std::vector<NodePointer>& outputs, std::string name) {
  Collector collector(std::move(name));
  for (const NodePointer& node : outputs) TESSERA_CHECK_OK(collector.add(node));
  return std::move(collector).finish();
}

}  // namespace tessera::frontend
