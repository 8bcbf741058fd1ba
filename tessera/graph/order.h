// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/graph/graph.h"

namespace tessera::graph {

/// An order in which the nodes can run: positions in graph.nodes, each after those it reads from.
/// Nodes that are in such an order already keep it; in general, the first that can run is next.
/// Everything else about the graph may be wrong. kBadGraph for a value that two nodes compute, and
/// for a cycle, whose nodes are named in order; `*wrong` is then one of these nodes.
Result<std::vector<std::size_t>> topological_order(const Graph& graph,
                                                   std::size_t* wrong = nullptr);

/// Puts the nodes into that order.
Status sort_nodes(Graph& graph);

}  // namespace tessera::graph
