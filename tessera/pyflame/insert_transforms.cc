// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/graph/op.h"
#include "tessera/ops/propagate.h"
#include "tessera/pyflame/layout_planner.h"
#include "tessera/pyflame/layout_transform.h"

namespace tessera::pyflame {
namespace {

/// An input, or an output of the graph, that has to be in another layout than its value is made in.
struct Wanted {
  ir::Node* from = nullptr;
  ir::Node* reader = nullptr;  ///< null: an output of the graph
  std::size_t position = 0;    ///< among the inputs of the reader, or the outputs
  MeshLayout layout;
  TransformType type = TransformType::IDENTITY;
};

/// A transform that was inserted.
struct Inserted {
  ir::Node* from = nullptr;
  ir::Node* node = nullptr;
};

/// How the op of a node runs: where it makes its result, and where its inputs have to be for that.
struct Run {
  MeshLayout made;
  std::vector<MeshLayout> required;
};

/// What `ask` answers about the call of a node with an op.
template <typename Ask>
auto ask_about(const ir::Node& node, const graph::Op& op, const Ask& ask)
    -> decltype(ask(std::declval<const graph::Call&>())) {
  graph::Types types;
  for (const ir::Node* const from : node.inputs()) {
    TESSERA_TRY(Shape shape, Shape::make(from->output_spec().shape));
    types.push_back({std::move(shape), from->output_spec().dtype});
  }
  std::vector<const graph::TensorType*> pointers;
  pointers.reserve(types.size());
  for (const graph::TensorType& type : types) pointers.push_back(&type);
  graph::Attributes attributes = node.attributes();
  if (node.op_type() == ir::OpType::RESHAPE) attributes.set("shape", node.output_spec().shape);
  return ask(graph::Call(op, pointers, attributes, 1));
}

/// The layouts of all inputs with which the op of a node makes its result in this layout.
Result<Run> run_in(const ir::Node& node, const MeshLayout& made) {
  Run run{made, {}};
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    TESSERA_TRY(MeshLayout required, get_required_input_layout(node, i, made));
    run.required.push_back(std::move(required));
  }
  return run;
}

/// Layouts in which an op may be able to make its result where it cannot make it in `target`: what
/// results from inputs as they are on the PEs of the target, from those that have to change least
/// for that, and a single PE.
std::vector<MeshLayout> others_to_make(const ir::Node& node, const graph::Op& op,
                                       const MeshLayout& target,
                                       const std::map<ir::NodeId, MeshLayout>& layouts) {
  std::vector<MeshLayout> list;
  const ir::TensorSpec& made = node.output_spec();
  const auto lowered = [](const MeshLayout& layout, const ir::TensorSpec& spec) {
    Result<Layout> low = layout.lower(spec.shape, spec.dtype);
    return low ? std::optional(*std::move(low)) : std::nullopt;
  };
  const std::optional<Layout> wanted = lowered(target, made);
  if (wanted) {
    std::vector<std::optional<Layout>> inputs;
    for (const ir::Node* const from : node.inputs()) {
      const ir::TensorSpec& spec = from->output_spec();
      std::optional<Layout> own = lowered(layouts.at(from->id()), spec);
      const bool is_there = own && own->mesh() == wanted->mesh() &&
                            own->spec().device_map == wanted->spec().device_map;
      if (!is_there) own = spec.shape == made.shape ? lowered(target, spec) : std::nullopt;
      inputs.push_back(std::move(own));
    }
    const auto propagated = [&](const std::vector<std::optional<Layout>>& given) {
      return ask_about(node, op, [&](const graph::Call& call) {
        return ops::propagate(ops::Question{&call, given, {}});
      });
    };
    const auto add = [&](const Result<ops::Answer>& answer) {
      if (!answer || !answer->legal || answer->outputs.empty()) return;
      const Result<MeshLayout> layout = MeshLayout::of(answer->outputs[0]);
      if (layout) list.push_back(*layout);
    };
    const Result<ops::Answer> answer = propagated(inputs);
    add(answer);
    if (answer) {
      for (const ops::Alternative& other : answer->alternatives) add(propagated(other.inputs));
    }
  }
  list.push_back(MeshLayout::SinglePE());
  return list;
}

/// How an op runs that should make its result in `target`: there if it can, else in a layout from
/// which a transform takes it there.
Result<Run> run_of(const ir::Node& node, const std::map<ir::NodeId, MeshLayout>& layouts) {
  const MeshLayout& target = layouts.at(node.id());
  Result<Run> run = run_in(node, target);
  if (run || run.error().code != ErrorCode::kNotSupported) return run;
  const std::optional<graph::Op> op = graph::Op::find(ir::op_name(node.op_type()));
  if (!op) return run;
  for (const MeshLayout& made : others_to_make(node, *op, target, layouts)) {
    Result<Run> other = run_in(node, made);
    if (other) return other;
  }
  return run;
}

/// Adds what is to be read in this layout, unless its value is there as it is made.
Status add_wanted(Wanted want, const MeshLayout& has, std::vector<Wanted>& wanted) {
  if (!LayoutTransformer::needs_transform(has, want.layout)) return ok_status();
  const ir::TensorSpec& spec = want.from->output_spec();
  TESSERA_TRY(const LayoutTransform change,
              LayoutTransformer::create_transform(has, want.layout, spec.shape, spec.dtype));
  want.type = change.type;
  if (change.type != TransformType::IDENTITY) wanted.push_back(std::move(want));
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
  const ir::TensorSpec& made = node.output_spec();
  TESSERA_TRY(const Layout output, output_layout.lower(made.shape, made.dtype));
  TESSERA_TRY(const ops::Answer answer, ask_about(node, *op, [&](const graph::Call& call) {
                ops::Question question{&call, {}, {}};
                question.inputs.resize(node.inputs().size());
                question.outputs.emplace_back(output);
                return ops::propagate(question);
              }));
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
  std::map<ir::NodeId, Run> runs;
  for (const ir::Node* const node : order) {
    // A transform takes its input as it is.
    if (!node->is_operation() || node->op_type() == ir::OpType::LAYOUT_TRANSFORM) continue;
    TESSERA_TRY(Run run, run_of(*node, target_layouts));
    runs.emplace(node->id(), std::move(run));
  }
  const auto made = [&](const ir::Node& node) -> const MeshLayout& {
    const auto found = runs.find(node.id());
    return found != runs.end() ? found->second.made : target_layouts.at(node.id());
  };
  std::vector<Wanted> wanted;
  for (ir::Node* const node : order) {
    const auto found = runs.find(node->id());
    if (found == runs.end()) continue;
    for (std::size_t i = 0; i < node->inputs().size(); ++i) {
      ir::Node* const from = node->inputs()[i];
      TESSERA_CHECK_OK(add_wanted({from, node, i, found->second.required[i]}, made(*from), wanted));
    }
  }
  for (std::size_t o = 0; o < graph.outputs().size(); ++o) {
    ir::Node* const from = graph.outputs()[o];
    const auto target = target_layouts.find(from->id());
    if (target == target_layouts.end()) continue;
    TESSERA_CHECK_OK(add_wanted({from, nullptr, o, target->second}, made(*from), wanted));
  }
  for (ir::Node* const node : order) node->set_layout(made(*node));
  std::vector<Inserted> inserted;
  for (Wanted& want : wanted) {
    ir::Node* shared = nullptr;
    std::size_t of_this = 0;  // transforms of the same value
    for (const Inserted& other : inserted) {
      if (other.from != want.from) continue;
      ++of_this;
      if (want.layout.compatible_with(other.node->output_spec().layout)) shared = other.node;
    }
    if (shared == nullptr) {
      ir::TensorSpec spec = want.from->output_spec();
      spec.layout = std::move(want.layout);
      std::string name = cat("transform_", want.from->id());
      if (of_this > 0) name += cat("_", of_this);
      shared = graph.create_op(ir::OpType::LAYOUT_TRANSFORM, {want.from}, std::move(spec),
                               std::move(name));
      shared->set_metadata("transform_type", static_cast<int>(want.type));
      inserted.push_back({want.from, shared});
    }
    if (want.reader != nullptr) {
      want.reader->replace_input(want.position, shared);
    } else {
      graph.replace_output(want.position, shared);
    }
  }
  return inserted.size();
}

}  // namespace tessera::pyflame
