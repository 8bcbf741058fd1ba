// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/graph/graph.h"

/// passes/: graphs in, better graphs with the same results out.
namespace tessera::graph {

enum class Dead : std::uint8_t {
  kConstants,   ///< constants that nothing reads
  kEverything,  ///< nodes whose results nothing needs, then constants and parameters
};

/// The graph without what is dead. Inputs stay, read or not, and so does the order of the rest.
/// Law: the outputs have the same types and, for any inputs, the same elements. A second time
/// changes nothing.
Graph without_dead_code(const Graph& graph, Dead dead = Dead::kEverything);

}  // namespace tessera::graph
