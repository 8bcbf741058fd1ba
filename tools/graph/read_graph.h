// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/onnx/onnx_import.h"
#include "tools/command/command.h"

namespace tessera::tools {

/// A model from a file, or from a generator.
struct ReadGraph {
  graph::Graph graph;
  std::vector<onnx_import::Unsupported> unsupported;  ///< of an ONNX file; empty: the whole model
  std::map<std::string, std::int64_t>
      unsupported_ops;  ///< nodes of the file that are not in `graph`
};

/// The values of --dim and --shape: "batch=8,seq=128" and "x=1,3,224,224;y=2". kUsage for others.
Result<onnx_import::ImportOptions> read_bindings(const std::string& dims,
                                                 const std::string& shapes);

/// Reads a graph from JSON or, if the bytes are no JSON object, from ONNX with the module of
/// onnx/. Errors have a span where the file is JSON; `text` is then its text.
Result<ReadGraph> read_graph(const std::string& bytes, const onnx_import::ImportOptions& options);

}  // namespace tessera::tools
