// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/passes/rewrite.h"

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/graph/fold.h"
#include "tessera/graph/passes/dead_code.h"

namespace tessera::graph {

Graph with_folded_constants(const Graph& graph) {
  Graph out = graph;
  std::vector<Node> nodes;
  for (const Node& node : graph.nodes) {
    std::vector<const TensorType*> types;
    std::vector<const Data*> data;
    static const Data kUnknown;
    for (const ValueId v : node.inputs) {
      const Value* const value = v == kAbsent ? nullptr : &out.values[v];
      types.push_back(value == nullptr ? nullptr : &value->type);
      const bool constant = value != nullptr && value->kind == Kind::kConstant;
      data.push_back(value == nullptr ? nullptr : constant ? &value->data : &kUnknown);
    }
    Types outputs;
    for (const ValueId v : node.outputs) outputs.push_back(graph.values[v].type);
    const auto known =
        fold(Call(node.op, types, node.attributes, node.outputs.size()), data, outputs);
    if (!known) {
      nodes.push_back(node);
      continue;
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      Value& value = out.values[node.outputs[i]];
      value.kind = Kind::kConstant;
      value.data = (*known)[i];
    }
  }
  out.nodes = std::move(nodes);
  return without_dead_code(out);
}

Graph without_repeated_nodes(const Graph& graph) {
  Graph out = graph;
  std::vector<ValueId> same(graph.values.size());  // the value to read instead
  for (std::size_t v = 0; v < same.size(); ++v) same[v] = static_cast<ValueId>(v);
  std::unordered_map<std::string, std::size_t> first;  // by all that decides the results
  for (std::size_t n = 0; n < out.nodes.size(); ++n) {
    Node& node = out.nodes[n];
    for (ValueId& v : node.inputs) v = v == kAbsent ? kAbsent : same[v];
    if (node.op.rule().is_open) continue;
    std::string key = cat(node.op.name(), "/", node.outputs.size());
    for (const ValueId v : node.inputs) key += cat("/", v);
    for (const auto& [name, value] : node.attributes) {
      const std::string text = to_string(value);
      key += cat("/", name, "=", value.index(), ":", text.size(), ":", text);
    }
    const auto [at, fresh] = first.try_emplace(std::move(key), n);
    if (fresh) continue;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      same[node.outputs[i]] = out.nodes[at->second].outputs[i];
    }
  }
  for (ValueId& v : out.outputs) v = same[v];
  return without_dead_code(out);  // what repeats is no longer read
}

}  // namespace tessera::graph
