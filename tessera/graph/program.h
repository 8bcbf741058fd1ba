// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "tessera/graph/graph.h"
#include "tessera/memory/liveness.h"

namespace tessera::graph {

/// What a node needs of memory besides its values.
struct NodeMemory {
  std::vector<memory::Scratch> scratch = {};
  std::vector<memory::InPlace> in_place = {};  ///< tried before those that follow from the op
};

struct ProgramOptions {
  /// An elementwise output may overwrite an input of the same type that dies there.
  bool in_place = true;
  /// Reshapes and other ops that keep the order of elements copy nothing. True only where every
  /// value is row-major in the memory of one place.
  bool views = false;
  std::map<std::size_t, NodeMemory> nodes = {};  ///< by position in graph.nodes
  std::vector<ValueId> staying = {};             ///< inputs that are needed throughout
};

/// The graph as memory/ sees it: value v of the graph is value v of the program, node k is op k.
/// Law: memory::lifetimes accepts it for every graph that `check` accepts.
memory::Program program_of(const Graph& graph, const ProgramOptions& options = {});

/// Bytes of each value on a place that holds all of it.
std::vector<std::int64_t> sizes_of(const Graph& graph);

}  // namespace tessera::graph
