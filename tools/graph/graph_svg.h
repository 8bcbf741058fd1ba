// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "tessera/graph/graph.h"

namespace tessera::tools {

/// The most nodes that a drawing has; of a larger graph the first ones are drawn, and it says so.
inline constexpr std::size_t kMostDrawnNodes = 500;

/// The graph as SVG: a box for each input, node and output, from top to bottom, with a line for
/// each value that a node computes and another reads. Parameters and constants are lines of text in
/// the box that reads them. Repeated layers of graphs with many nodes are drawn once, in a frame
/// that says how often they occur. Law: well-formed XML whatever the names are; equal graphs give
/// equal texts. The group of node n has the id "node<n>", that of input value v "input<v>", that of
/// output k "output<k>"; a line has the id "line-<id>-<id>".
std::string graph_svg(const graph::Graph& graph);

}  // namespace tessera::tools
