// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/pyflame/pe_memory_planner.h"

namespace tessera::pyflame {

PEGraph PEGraph::of(graph::Graph graph) {
  PEGraph out;
  out.graph_ = std::move(graph);
  return out;
}

TensorId PEGraph::add(PETensor tensor) {
  const TensorId id = tensors();
  Result<Shape> shape = Shape::make(std::move(tensor.shape));
  if (!shape && !error_) {
    error_ = shape.error();
    error_->message = cat(tensor.name.empty() ? cat("tensor ", id) : quote_name(tensor.name), ": ",
                          error_->message);
    error_->span = Span{static_cast<std::int64_t>(id), static_cast<std::int64_t>(id) + 1};
  }
  graph_.values.push_back(
      {std::move(tensor.name), {shape ? *std::move(shape) : Shape(), tensor.dtype}, tensor.kind});
  const auto value = static_cast<graph::ValueId>(id);
  if (tensor.output) graph_.outputs.push_back(value);
  if (tensor.stays) memory_.staying.push_back(value);
  return id;
}

TensorId PEGraph::compute(std::string name, const std::vector<TensorId>& inputs,
                          std::vector<std::int64_t> shape, DType dtype) {
  const TensorId output = add({name, std::move(shape), dtype});
  add_node(std::move(name), inputs, {static_cast<graph::ValueId>(output)});
  return output;
}

TensorId PEGraph::compute_in_place(std::string name, const std::vector<TensorId>& inputs,
                                   std::vector<std::int64_t> shape, DType dtype) {
  const TensorId output = compute(std::move(name), inputs, std::move(shape), dtype);
  if (!inputs.empty()) last_memory().in_place = {{output, inputs[0]}};
  return output;
}

void PEGraph::run(std::string name, const std::vector<TensorId>& inputs) {
  add_node(std::move(name), inputs, {});
}

void PEGraph::set_output(TensorId tensor) {
  if (tensor < tensors()) {
    graph_.outputs.push_back(static_cast<graph::ValueId>(tensor));
  } else if (!error_) {
    error_ = Error{ErrorCode::kOutOfRange,
                   cat("tensor ", tensor, " is an output, but there are ", tensors()), std::nullopt,
                   "tensors are named by their positions, from 0"};
  }
}

void PEGraph::add_node(std::string name, const std::vector<TensorId>& inputs,
                       std::vector<graph::ValueId> outputs) {
  graph::Node node{std::move(name), *graph::Op::find("opaque"), {}, std::move(outputs)};
  for (const TensorId id : inputs) {
    if (id >= graph::kAbsent && !error_) {
      error_ =
          Error{ErrorCode::kOutOfRange,
                cat(quote_name(node.name), " reads tensor ", id, ", but there are ", tensors()),
                std::nullopt, "tensors are named by their positions, from 0"};
    }
    node.inputs.push_back(static_cast<graph::ValueId>(id));
  }
  graph_.nodes.push_back(std::move(node));
}

}  // namespace tessera::pyflame
