// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "tools/graph/read_graph.h"
#include "tools/graph/write_onnx.h"
#include "tools/terminal/terminal.h"

namespace tessera::tools {

/// What was asked of a graph besides its figures, as an answer prints it.
struct GraphAnswer {
  ReadGraph read;
  bool fuses = false;
  std::optional<WrittenWeights> random_weights = {};  ///< of an ONNX file that was written
};

std::string graph_json(const GraphAnswer& answer);
std::string graph_text(const GraphAnswer& answer, const Terminal& terminal);

}  // namespace tessera::tools
