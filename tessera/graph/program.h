// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/graph/graph.h"
#include "tessera/memory/liveness.h"

namespace tessera::graph {

struct ProgramOptions {
  /// An elementwise output may overwrite an input of the same type that dies there.
  bool in_place = true;
  /// Reshapes and other ops that keep the order of elements copy nothing. True only where every
  /// value is row-major in the memory of one place.
  bool views = false;
};

/// The graph as memory/ sees it: value v of the graph is value v of the program, node k is op k.
/// Law: memory::lifetimes accepts it for every graph that `check` accepts.
memory::Program program_of(const Graph& graph, const ProgramOptions& options = {});

/// Bytes of each value on a place that holds all of it.
std::vector<std::int64_t> sizes_of(const Graph& graph);

}  // namespace tessera::graph
