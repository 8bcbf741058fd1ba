// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>

#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/graph/op.h"
#include "tessera/ops/propagate.h"
#include "tessera/pyflame/layout_planner.h"
#include "tessera/pyflame/layout_transform.h"

namespace tessera::pyflame {
namespace {

/// An input that has to be in another layout.
struct Wanted {
  ir::Node* node = nullptr;
  std::size_t input = 0;
  MeshLayout layout;
  TransformType type = TransformType::IDENTITY;
};

/// A transform that was inserted.
struct Inserted {
  ir::Node* from = nullptr;
  ir::Node* node = nullptr;
};

/// What every input of a node needs that is not in the layout that it has.
Status add_wanted(ir::Node& node, const std::map<ir::NodeId, MeshLayout>& layouts,
                  std::vector<Wanted>& wanted) {
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    const ir::Node& from = *node.inputs()[i];
    const MeshLayout& has = layouts.at(from.id());
    TESSERA_TRY(MeshLayout required, get_required_input_layout(node, i, layouts.at(node.id())));
    if (!LayoutTransformer::needs_transform(has, required)) continue;
    const ir::TensorSpec& spec = from.output_spec();
    TESSERA_TRY(const LayoutTransform change,
                LayoutTransformer::create_transform(has, required, spec.shape, spec.dtype));
    if (change.type == TransformType::IDENTITY) continue;
    wanted.push_back({&node, i, std::move(required), change.type});
  }
  return ok_status();
}

}  // namespace

Result<MeshLayout> get_required_input_layout(const ir::Node& node, std::size_t input,
                                             const MeshLayout& output_layout) {
  const std::optional<graph::Op> op = graph::Op::find(ir::op_name(node.op_type()));
  if (!op || input >= node.inputs().size()) {
    return Error{ErrorCode::kOutOfRange,
                 cat("node ", quote_name(node.name()), " has no input ", input), std::nullopt,
                 "inputs count from 0; nodes that compute nothing have none"};
  }
  graph::Types types;
  for (const ir::Node* const from : node.inputs()) {
    TESSERA_TRY(Shape shape, Shape::make(from->output_spec().shape));
    types.push_back({std::move(shape), from->output_spec().dtype});
  }
  std::vector<const graph::TensorType*> pointers;
  for (const graph::TensorType& type : types) pointers.push_back(&type);
  graph::Attributes attributes = node.attributes();
  const ir::TensorSpec& made = node.output_spec();
  if (node.op_type() == ir::OpType::RESHAPE) attributes.set("shape", made.shape);
  const graph::Call call(*op, pointers, attributes, 1);
  TESSERA_TRY(Layout output, output_layout.lower(made.shape, made.dtype));
  ops::Question question{&call, {}, {}};
  question.inputs.resize(types.size());
  question.outputs.emplace_back(std::move(output));
  TESSERA_TRY(const ops::Answer answer, ops::propagate(question));
  if (!answer.legal || !answer.inputs[input]) {
    return Error{ErrorCode::kNotSupported,
                 cat("node ", quote_name(node.name()), " (", op->name(),
                     ") cannot make its result in this layout: ", answer.reason),
                 std::nullopt, "choose another layout for the result"};
  }
  return MeshLayout::of(*answer.inputs[input]);
}

Result<std::size_t> insert_transforms(ir::Graph& graph,
                                      const std::map<ir::NodeId, MeshLayout>& target_layouts) {
  const std::vector<ir::Node*> order = graph.topological_order();
  if (order.size() != graph.size()) {
    return Error{ErrorCode::kBadGraph, "nodes are in a cycle, or read nodes of another graph",
                 std::nullopt, "a node cannot need its own result"};
  }
  for (const ir::Node* const node : order) {
    if (target_layouts.contains(node->id())) continue;
    return Error{ErrorCode::kBadGraph, cat("node ", quote_name(node->name()), " has no layout"),
                 std::nullopt, "every node needs one, such as MeshLayout::SinglePE()"};
  }
  std::vector<Wanted> wanted;
  for (ir::Node* const node : order) {
    // A transform takes its input as it is.
    if (!node->is_operation() || node->op_type() == ir::OpType::LAYOUT_TRANSFORM) continue;
    TESSERA_CHECK_OK(add_wanted(*node, target_layouts, wanted));
  }
  for (ir::Node* const node : order) node->set_layout(target_layouts.at(node->id()));
  std::vector<Inserted> inserted;
  for (Wanted& want : wanted) {
    ir::Node* const from = want.node->inputs()[want.input];
    ir::Node* shared = nullptr;
    std::size_t of_this = 0;  // transforms of the same value
    for (const Inserted& other : inserted) {
      if (other.from != from) continue;
      ++of_this;
      if (want.layout.compatible_with(other.node->output_spec().layout)) shared = other.node;
    }
    if (shared == nullptr) {
      ir::TensorSpec spec = from->output_spec();
      spec.layout = std::move(want.layout);
      std::string name = cat("transform_", from->id());
      if (of_this > 0) name += cat("_", of_this);
      shared =
          graph.create_op(ir::OpType::LAYOUT_TRANSFORM, {from}, std::move(spec), std::move(name));
      shared->set_metadata("transform_type", static_cast<int>(want.type));
      inserted.push_back({from, shared});
    }
    want.node->replace_input(want.input, shared);
  }
  return inserted.size();
}

}  // namespace tessera::pyflame
