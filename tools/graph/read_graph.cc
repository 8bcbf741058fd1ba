// SPDX-License-Identifier: Apache-2.0
#include "tools/graph/read_graph.h"

#include <utility>

#include "tessera/graph/graph_json.h"
#include "tools/graph/onnx_module.h"

namespace tessera::tools {
namespace {

bool looks_like_json(const std::string& bytes) {
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  return first == std::string::npos || bytes[first] == '{';
}

/// The error of bytes that are no model, with what they may be instead.
Error no_model(Error error, GraphFormat format, bool is_like_json) {
  if (error.code != ErrorCode::kSyntax) return error;
  if (format == GraphFormat::kUnknown) error.help = "a graph is a JSON object or an ONNX model";
  if (is_like_json) error.help = "it begins like JSON: a graph in JSON is named NAME.json";
  return error;
}

}  // namespace

Result<ReadGraph> read_graph(const std::string& bytes, GraphFormat format,
                             const onnx_import::ImportOptions& options) {
  ReadGraph read;
  const bool is_like_json = looks_like_json(bytes);
  if (format == GraphFormat::kJson || (format == GraphFormat::kUnknown && is_like_json)) {
    if (!options.dims.empty() || !options.shapes.empty()) {
      return Error{ErrorCode::kUsage, "a graph in JSON has no open dims", std::nullopt,
                   "--dim and --shape are for ONNX files"};
    }
    TESSERA_TRY(read.graph, graph::parse_graph(bytes));
    return read;
  }
  TESSERA_TRY(const onnx_import::OnnxModule* const module, load_onnx_module());
  Result<onnx_import::Imported> imported = module->import(bytes, options);
  if (!imported) return no_model(imported.error(), format, is_like_json);
  read.graph = std::move(imported->graph);
  read.unsupported = std::move(imported->unsupported);
  for (const onnx_import::Unsupported& each : read.unsupported) ++read.unsupported_ops[each.op];
  return read;
}

}  // namespace tessera::tools
