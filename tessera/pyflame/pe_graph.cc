// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "tessera/graph/program.h"
#include "tessera/pyflame/pe_memory_planner.h"

namespace tessera::pyflame {

PEGraph PEGraph::of(const graph::Graph& graph) {
  memory::Program program = graph::program_of(graph);
  PEGraph out;
  out.ops = std::move(program.ops);
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    const graph::TensorType& type = graph.values[v].type;
    out.add({graph.values[v].name, type.shape.extents(), type.dtype, program.values[v].kind,
             program.values[v].output});
  }
  return out;
}

TensorId PEGraph::add(PETensor tensor) {
  tensors.push_back(std::move(tensor));
  return tensors.size() - 1;
}

TensorId PEGraph::compute(std::string name, std::vector<TensorId> inputs,
                          std::vector<std::int64_t> shape, DType dtype) {
  const TensorId output = add({name, std::move(shape), dtype});
  ops.push_back({std::move(name), std::move(inputs), {output}});
  return output;
}

TensorId PEGraph::compute_in_place(std::string name, std::vector<TensorId> inputs,
                                   std::vector<std::int64_t> shape, DType dtype) {
  const TensorId output = compute(std::move(name), std::move(inputs), std::move(shape), dtype);
  if (!ops.back().inputs.empty()) ops.back().in_place = {{output, ops.back().inputs[0]}};
  return output;
}

memory::Program PEGraph::program() const {
  memory::Program out;
  out.ops = ops;
  for (const PETensor& tensor : tensors) {
    out.values.push_back({tensor.name, tensor.kind, tensor.output, tensor.stays});
  }
  return out;
}

}  // namespace tessera::pyflame
