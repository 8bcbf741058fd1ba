// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/frontend/node.h"
#include "tessera/graph/graph.h"
#include "tessera/layout/layout.h"

namespace tessera::frontend {

/// What tensors are made of, as a graph: parts without elements are nodes, each once, and whatever
/// has elements is a constant or parameter. Lists have an item per value of the graph.
struct Expression {
  graph::Graph graph;
  std::vector<NodePointer> nodes;
  std::vector<std::optional<Layout>> layouts;  ///< that tensors were given
};

/// The graph whose outputs are these nodes. Random elements of leaves are made.
Result<Expression> expression_of(const std::vector<NodePointer>& outputs, std::string name = "");

}  // namespace tessera::frontend
