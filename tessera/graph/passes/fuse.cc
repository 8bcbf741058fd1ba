// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/passes/fuse.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

namespace tessera::graph {
namespace {

bool is_elementwise(const Node& node) { return node.op.rule().family == Family::kElementwise; }

bool is_contraction(const Node& node) {
  return node.op.rule().family == Family::kContraction || node.op.is("conv") ||
         node.op.is("conv_transpose");
}

GroupKind group_kind_of(const Node& node) {
  if (is_elementwise(node)) return GroupKind::kElementwise;
  if (node.op.rule().is_view) return GroupKind::kView;
  return is_contraction(node) ? GroupKind::kContraction : GroupKind::kOther;
}

/// What a group reads from outside and writes, once its nodes are known.
void name_values(const Graph& graph, Group& group) {
  std::unordered_set<ValueId> known = {kAbsent};  // computed inside, or read before
  for (const std::size_t n : group.nodes) {
    for (const ValueId v : graph.nodes[n].inputs) {
      if (known.insert(v).second) group.inputs.push_back(v);
    }
    known.insert(graph.nodes[n].outputs.begin(), graph.nodes[n].outputs.end());
  }
  group.outputs = graph.nodes[group.nodes.back()].outputs;
}

}  // namespace

std::string_view group_kind_name(GroupKind kind) {
  constexpr std::array<std::string_view, 4> kNames = {"view", "elementwise", "contraction",
                                                      "other"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<Group> fuse(const Graph& graph) {
  // The group whose elementwise nodes and views are a value's only readers.
  constexpr std::size_t kNone = SIZE_MAX;           // nothing reads the value
  constexpr std::size_t kElsewhere = SIZE_MAX - 1;  // it has to be stored
  std::vector<std::size_t> reader(graph.values.size(), kNone);
  for (const ValueId v : graph.outputs) reader[v] = kElsewhere;

  std::vector<Group> groups;  // by descending root, nodes descending
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    const GroupKind kind = group_kind_of(node);
    std::size_t at = kElsewhere;
    if (kind != GroupKind::kOther) at = reader[node.outputs[0]];
    if (at < groups.size()) {
      Group& group = groups[at];
      const ValueId root = graph.nodes[group.nodes[0]].outputs[0];
      const bool fits = graph.values[node.outputs[0]].type.shape.elements() ==
                        graph.values[root].type.shape.elements();
      const bool is_second = kind == GroupKind::kContraction && group.kind == kind;
      if (!fits || is_second) at = kElsewhere;
    }
    if (at < groups.size()) {
      groups[at].kind = std::max(groups[at].kind, kind);
      groups[at].nodes.push_back(n);
    } else {
      at = groups.size();
      groups.push_back({kind, {n}});
    }
    const bool is_pointwise = kind == GroupKind::kElementwise || kind == GroupKind::kView;
    const std::size_t mine = is_pointwise ? at : kElsewhere;
    for (const ValueId v : node.inputs) {
      if (v != kAbsent) reader[v] = reader[v] == kNone || reader[v] == mine ? mine : kElsewhere;
    }
  }
  std::ranges::reverse(groups);
  for (Group& group : groups) {
    std::ranges::reverse(group.nodes);
    name_values(graph, group);
  }
  return groups;
}

Graph graph_of(const Graph& graph, const Group& group) {
  Graph out;
  out.name = graph.name;
  std::unordered_map<ValueId, ValueId> moved = {{kAbsent, kAbsent}};
  const auto add = [&](ValueId v) {
    moved.emplace(v, static_cast<ValueId>(out.values.size()));
    out.values.push_back(graph.values[v]);
  };
  const auto renamed = [&](std::vector<ValueId> list) {
    for (ValueId& v : list) v = moved.at(v);
    return list;
  };
  for (const ValueId v : group.inputs) {
    add(v);
    if (out.values.back().kind == Kind::kComputed) out.values.back().kind = Kind::kInput;
  }
  for (const std::size_t n : group.nodes) {
    const Node& node = graph.nodes[n];
    for (const ValueId v : node.outputs) add(v);
    out.nodes.push_back(
        {node.name, node.op, renamed(node.inputs), renamed(node.outputs), node.attributes});
  }
  out.outputs = renamed(group.outputs);
  return out;
}

}  // namespace tessera::graph
