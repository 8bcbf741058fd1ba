// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/graph/graph.h"

/// Fusing: which nodes can run as one loop, so that what passes between them is never stored.
///
/// A group is a tree of nodes around one *root*, the last of them. Every other node of the group
/// computes one value with as many elements as the root's output, and only elementwise nodes and
/// views of the group read it. A view (reshape, flatten, squeeze, unsqueeze, identity, dropout) has
/// the elements of its input in the same order. So element e of each value, counted in row-major
/// order, is used up where element e of the root is computed, and the group writes the outputs of
/// its root and nothing else.
///
///     h = matmul(x, w)         contraction {h, y, z}: reads x, w, b, writes z
///     y = add(h, b)
///     z = gelu(y)
///     s = reduce_sum(z)        other {s}: reads z, writes s
///     t = exp(s)               elementwise {t, u}: reads s, writes u
///     u = add(t, t)
///
/// Had y been reshaped before the gelu, the reshape would be one more node of the first group.
///
/// The graph itself stays as it is: groups are a partition of its nodes.
namespace tessera::graph {

enum class GroupKind : std::uint8_t {
  kView,         ///< views only: nothing is computed
  kElementwise,  ///< elementwise nodes, and views between them
  kContraction,  ///< one product or convolution, and elementwise nodes and views on its result
  kOther,        ///< one node of any other op
};
/// "view", "elementwise", "contraction", "other".
std::string_view group_kind_name(GroupKind kind);

struct Group {
  GroupKind kind = GroupKind::kOther;
  std::vector<std::size_t> nodes =
      {};                            ///< positions in graph.nodes, ascending; the last is the root
  std::vector<ValueId> inputs = {};  ///< what it reads from outside, each once, in order of reading
  std::vector<ValueId> outputs = {};  ///< those of the root
  friend bool operator==(const Group&, const Group&) = default;
};

/// Groups in the order of their roots. From the end of the graph to its start, each node joins the
/// group that reads it where the rule above allows that, and is the root of a new one elsewhere.
/// Laws: every node is in exactly one group. The order is one in which groups can run: a group
/// reads only values that are given and outputs of groups before it, so no path leaves a group and
/// enters it again. Running them one after the other gives the results of the graph.
std::vector<Group> fuse(const Graph& graph);

/// A group as a graph of its own: what it reads are parameters and constants, with their data, and
/// inputs. Values keep their names.
/// Law: `check` accepts it, and its outputs are those of the group.
Graph graph_of(const Graph& graph, const Group& group);

}  // namespace tessera::graph
