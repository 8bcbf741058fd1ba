// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/onnx/onnx_import.h"
#include "tools/graph/graph_flags.h"

namespace tessera::tools {

/// A model from a file, or from a generator.
struct ReadGraph {
  graph::Graph graph;
  std::vector<onnx_import::Unsupported> unsupported;  ///< of an ONNX file; empty: the whole model
  std::map<std::string, std::int64_t>
      unsupported_ops;  ///< nodes of the file that are not in `graph`
};

/// Reads a graph from JSON, or from ONNX with the module of onnx/. Bytes of unknown format are JSON
/// if they begin like an object. Errors have a span where the file is JSON. kUsage for extents of
/// `options` that JSON has no use for.
Result<ReadGraph> read_graph(const std::string& bytes, GraphFormat format,
                             const onnx_import::ImportOptions& options);

}  // namespace tessera::tools
