// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/base/result.h"
#include "tessera/graph/graph.h"
#include "tools/command/command.h"

namespace tessera::tools {

/// The model that the positional "model" names, JSON or ONNX, with the flags "dim" and "shape" for
/// what a file leaves open. Errors: those of read_graph, with the position in the file;
/// kNotSupported for a node that has no op, by name.
Result<graph::Graph> read_model(const Request& request, Console& console);

}  // namespace tessera::tools
