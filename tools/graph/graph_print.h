// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/graph/read_graph.h"
#include "tools/graph/write_onnx.h"
#include "tools/terminal/terminal.h"

namespace tessera::tools {

/// What was asked of a graph besides its figures, as an answer prints it.
struct GraphAnswer {
  ReadGraph read;
  bool fuses = false;
  /// With --decompose: how many nodes of each op were written with others.
  std::optional<std::map<std::string, std::int64_t>> decomposed = {};
  std::optional<WrittenWeights> random_weights = {};  ///< of an ONNX file that was written
  std::vector<std::string> written = {};              ///< files
  std::string not_written = {};                       ///< the file that a whole model would have
};

std::string graph_json(const GraphAnswer& answer);
std::string graph_text(const GraphAnswer& answer, const Terminal& terminal);

}  // namespace tessera::tools
