// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/graph/graph.h"

namespace tessera::graph {

/// The graph with every node replaced by constants whose results follow from constants and shapes
/// alone (fold.h). The constants have the names of the values that they replace; nodes and
/// constants that nothing needs any more are removed. Parameters are not folded, since training may
/// change them.
/// Law: for any inputs, the outputs have the same types and elements.
Graph with_folded_constants(const Graph& graph);

/// The graph with equal nodes computed once: the same op and attributes on the same inputs. The
/// first stays, readers of the others read its outputs, and what nothing needs any more is removed.
/// Opaque ops are never joined.
/// Law: for any inputs, the outputs have the same types and elements. A second time changes
/// nothing.
Graph without_repeated_nodes(const Graph& graph);

}  // namespace tessera::graph
