// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/passes/dead_code.h"

#include <algorithm>

namespace tessera::graph {

Graph without_dead_code(const Graph& graph, Dead dead) {
  std::vector<bool> read(graph.values.size(), false);
  std::vector<bool> runs(graph.nodes.size(), dead == Dead::kConstants);
  for (const ValueId v : graph.outputs) read[v] = true;
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {  // readers come after what they read
    const Node& node = graph.nodes[n];
    runs[n] = runs[n] || std::ranges::any_of(node.outputs, [&](ValueId v) { return read[v]; });
    if (!runs[n]) continue;
    for (const ValueId v : node.inputs) {
      if (v != kAbsent) read[v] = true;
    }
    for (const ValueId v : node.outputs) read[v] = true;
  }
  Graph out;
  out.name = graph.name;
  std::vector<ValueId> moved(graph.values.size(), kAbsent);
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    const Kind kind = graph.values[v].kind;
    const bool stays =
        kind == Kind::kInput || (kind == Kind::kParameter && dead == Dead::kConstants);
    if (!read[v] && !stays) continue;
    moved[v] = static_cast<ValueId>(out.values.size());
    out.values.push_back(graph.values[v]);
  }
  const auto renamed = [&](std::vector<ValueId> list) {
    for (ValueId& v : list) v = v == kAbsent ? kAbsent : moved[v];
    return list;
  };
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!runs[n]) continue;
    const Node& node = graph.nodes[n];
    out.nodes.push_back(
        {node.name, node.op, renamed(node.inputs), renamed(node.outputs), node.attributes});
  }
  out.outputs = renamed(graph.outputs);
  return out;
}

}  // namespace tessera::graph
