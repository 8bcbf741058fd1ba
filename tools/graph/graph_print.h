// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/graph/read_graph.h"
#include "tools/terminal/terminal.h"

namespace tessera::tools {

/// What was asked of a graph besides its figures, as an answer prints it.
struct GraphAnswer {
  ReadGraph read;
  bool fuses = false;
  /// Of an ONNX file that was written: what has random elements, and their seed.
  struct Weights {
    std::int64_t values = 0;
    std::int64_t elements = 0;
    std::int64_t seed = 0;
  };
  std::optional<Weights> random_weights = {};
};

std::string graph_json(const GraphAnswer& answer);
std::string graph_text(const GraphAnswer& answer, const Terminal& terminal);

}  // namespace tessera::tools
