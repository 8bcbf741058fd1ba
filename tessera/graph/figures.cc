// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/checked.h"
#include "tessera/graph/graph.h"

namespace tessera::graph {

Figures figures_of(const Graph& graph) {
  Checked parameters(0);
  Checked parameter_bytes(0);
  Checked flops(0);
  Checked bytes(0);
  Checked moved(0);
  for (const Value& value : graph.values) {
    bytes += value.type.bytes();
    if (value.kind != Kind::kParameter) continue;
    parameters += value.type.shape.elements();
    parameter_bytes += value.type.bytes();
  }
  Figures figures;
  for (const Node& node : graph.nodes) {
    ++figures.ops[std::string(node.op.name())];
    flops += flops_of(graph, node);
    if (node.op.rule().is_view) continue;
    for (const ValueId v : node.inputs) {
      if (v != kAbsent) moved += graph.values[v].type.bytes();
    }
    for (const ValueId v : node.outputs) moved += graph.values[v].type.bytes();
  }
  figures.nodes = std::ssize(graph.nodes);
  figures.values = std::ssize(graph.values);
  figures.parameters = parameters.saturated();
  figures.parameter_bytes = parameter_bytes.saturated();
  figures.flops = flops.saturated();
  figures.bytes = bytes.saturated();
  figures.moved_bytes = moved.saturated();
  return figures;
}

}  // namespace tessera::graph
