// SPDX-License-Identifier: Apache-2.0
#include "tools/graph/read_model.h"

#include "tessera/base/text.h"
#include "tessera/graph/graph_json.h"
#include "tools/files/replace_file.h"
#include "tools/files/text_file.h"
#include "tools/graph/graph_flags.h"
#include "tools/graph/read_graph.h"
#include "tools/targets/read_target.h"
#include "tools/terminal/text.h"

namespace tessera::tools {

Result<graph::Graph> read_model(const Request& request, Console& console) {
  TESSERA_TRY(onnx_import::ImportOptions options, read_bindings(request));
  const std::string& file = request.text("model");
  options.folder = folder_of(file);
  TESSERA_TRY(const std::string bytes, file == "-"
                                           ? read_text_stream(console.in, graph::kMaxGraphBytes)
                                           : read_text_file(file, graph::kMaxGraphBytes));
  Result<ReadGraph> read =
      read_graph(bytes, file == "-" ? GraphFormat::kUnknown : format_of_name(file), options);
  if (!read) {
    Error error = located(read.error(), file == "-" ? "<stdin>" : file, bytes);
    error.span.reset();
    return error;
  }
  if (read->unsupported.empty()) return std::move(read->graph);
  const onnx_import::Unsupported& first = read->unsupported.front();
  return Error{ErrorCode::kNotSupported,
               cat("node ", quote(first.node), " (", first.op, "): ", first.reason), std::nullopt,
               "tessera graph MODEL lists all nodes that are not supported"};
}

}  // namespace tessera::tools
