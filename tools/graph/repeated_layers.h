// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/graph/graph.h"

namespace tessera::tools {

/// Nodes that follow each other several times, such as the layers of a transformer.
struct RepeatedLayer {
  std::vector<std::size_t> nodes;  ///< of the first time, ascending
  std::int64_t times = 0;
};

/// A graph with each repetition once.
struct FoldedGraph {
  std::vector<std::size_t> shown;       ///< nodes that are left, ascending
  std::vector<std::size_t> stands_for;  ///< for each node, the one that is shown for it
  std::vector<RepeatedLayer> layers;    ///< no node is in two
};

/// Folds the repetition that saves most nodes, until at most `enough` are left, nothing
/// repeats, or 64 are folded.
/// Nodes repeat if each time the same ops with the same attributes and types follow each other, and
/// read the same: a node of this time at the same position, one of the time before, or one node
/// from before the first time.
/// Law: a node that is shown stands for itself, and every node for one with its op, attributes and
/// types.
FoldedGraph fold_repeated_layers(const graph::Graph& graph, std::size_t enough);

}  // namespace tessera::tools
