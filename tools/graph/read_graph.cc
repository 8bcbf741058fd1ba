// SPDX-License-Identifier: Apache-2.0
#include "tools/graph/read_graph.h"

#include <charconv>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/graph/graph_json.h"
#include "tools/graph/onnx_module.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

Result<std::int64_t> read_extent(std::string_view text, std::string_view flag) {
  std::int64_t extent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
  if (error == std::errc() && end == text.data() + text.size() && extent >= 0) return extent;
  return Error{
      ErrorCode::kUsage, cat("--", flag, ": ", quote(text), " is no extent"), std::nullopt,
      flag == "dim" ? "as in --dim batch=8,tokens=128" : "as in --shape 'x=1,3,224,224;y=1,10'"};
}

/// Calls visit(name, value) for the parts of "a=1<separator>b=2".
template <typename Visit>
Status each_binding(std::string_view text, char separator, std::string_view flag,
                    const Visit& visit) {
  while (!text.empty()) {
    const std::size_t to = std::min(text.find(separator), text.size());
    const std::string_view part = text.substr(0, to);
    text.remove_prefix(std::min(to + 1, text.size()));
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      return Error{ErrorCode::kUsage, cat("--", flag, ": ", quote(part), " names nothing"),
                   std::nullopt, "write NAME=EXTENT"};
    }
    TESSERA_CHECK_OK(visit(std::string(part.substr(0, equals)), part.substr(equals + 1)));
  }
  return ok_status();
}

}  // namespace

Result<onnx_import::ImportOptions> read_bindings(const std::string& dims,
                                                 const std::string& shapes) {
  onnx_import::ImportOptions options;
  TESSERA_CHECK_OK(
      each_binding(dims, ',', "dim", [&](std::string name, std::string_view value) -> Status {
        TESSERA_TRY(options.dims[std::move(name)], read_extent(value, "dim"));
        return ok_status();
      }));
  TESSERA_CHECK_OK(
      each_binding(shapes, ';', "shape", [&](std::string name, std::string_view value) -> Status {
        std::vector<std::int64_t>& extents = options.shapes[std::move(name)];
        while (!value.empty()) {
          const std::size_t to = std::min(value.find(','), value.size());
          TESSERA_TRY(const std::int64_t extent, read_extent(value.substr(0, to), "shape"));
          extents.push_back(extent);
          value.remove_prefix(std::min(to + 1, value.size()));
        }
        return ok_status();
      }));
  return options;
}

Result<ReadGraph> read_graph(const std::string& bytes, const onnx_import::ImportOptions& options) {
  ReadGraph read;
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || bytes[first] == '{') {
    TESSERA_TRY(read.graph, graph::parse_graph(bytes));
    return read;
  }
  TESSERA_TRY(const onnx_import::OnnxModule* const module, load_onnx_module());
  TESSERA_TRY(onnx_import::Imported imported, module->import(bytes, options));
  read.graph = std::move(imported.graph);
  read.unsupported = std::move(imported.unsupported);
  for (const onnx_import::Unsupported& each : read.unsupported) ++read.unsupported_ops[each.op];
  return read;
}

}  // namespace tessera::tools
