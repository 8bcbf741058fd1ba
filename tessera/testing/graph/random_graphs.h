// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tessera/graph/graph.h"
#include "tessera/testing/generate.h"

/// testing/graph/: random graphs, and a naive evaluator of every op. Graphs go out, or tensors. The
/// evaluator is written from the ONNX text of each op and shares no code with graph/ but the types.
namespace tessera::test {

/// A valid graph of small tensors: inputs, parameters and constants with every form of data, and up
/// to `nodes` nodes of many ops, some with several outputs or optional inputs left out. Integers
/// are small, so that results can be compared exactly.
graph::Graph random_graph(Dice& dice, int nodes);

/// The same graph with one thing changed: a name, an extent of an input, a number, an attribute, an
/// operand, an op. Not always valid, never equal to what came in.
graph::Graph changed(Dice& dice, graph::Graph graph);

/// Small integers as elements of this type: -4 .. 4, or 0 .. 4 for unsigned types and booleans.
std::string random_elements(Dice& dice, std::int64_t count, DType dtype);

}  // namespace tessera::test
