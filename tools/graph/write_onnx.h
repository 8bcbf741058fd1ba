// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tessera/base/result.h"
#include "tessera/graph/graph.h"

namespace tessera::tools {

/// What got random elements in a file that was written.
struct WrittenWeights {
  std::int64_t values = 0;
  std::int64_t elements = 0;
  std::int64_t seed = 0;
  std::string file = {};  ///< where they are, if not in the model itself
};

/// More random bytes than this are in a file of their own: protobuf has at most 2 GiB.
inline constexpr std::int64_t kMostInline = std::int64_t{1} << 30;

/// Writes a graph as an ONNX model. ONNX needs the elements of every weight; those that the graph
/// does not have are random (graph/random_weights.h). Above `most_inline` bytes they go to the file
/// `file`.data, as external data of the model.
/// Law: on an error, both files have their former content. kIo where the graph reads elements from
/// the data file that it would replace.
Result<WrittenWeights> write_onnx(const graph::Graph& graph, const std::string& file,
                                  std::int64_t seed, std::int64_t most_inline = kMostInline);

}  // namespace tessera::tools
