// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tessera/graph/graph.h"

namespace tessera::graph {

/// What a graph adds up to. Sums that do not fit an int64 are INT64_MAX.
struct Figures {
  std::int64_t nodes = 0;
  std::int64_t values = 0;
  std::int64_t parameters = 0;  ///< elements of parameters
  std::int64_t parameter_bytes = 0;
  std::int64_t flops = 0;        ///< of one run; a multiplication and an addition are two
  std::int64_t bytes = 0;        ///< of all values, each once
  std::int64_t moved_bytes = 0;  ///< what nodes read and write, if nothing stays in a cache;
                                 ///< views move nothing
  std::map<std::string, std::int64_t> ops;  ///< nodes by op
};

/// Example: matmul of f32[2, 3] and a parameter f32[3, 4]: 48 flops, 12 parameters, 104 bytes.
Figures figures_of(const Graph& graph);

}  // namespace tessera::graph
