// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tessera/graph/graph.h"
#include "tessera/graph/graph_json.h"
#include "tessera/onnx/onnx_export.h"
#include "tessera/onnx/onnx_import.h"

namespace {

using namespace tessera;  // NOLINT(google-build-using-namespace)

/// What is written is read back whole, with the types of the outputs.
void check_trip(const graph::Graph& graph) {
  const Result<std::string> bytes = onnx_import::export_onnx(graph, {});
  if (!bytes) return;
  const Result<onnx_import::Imported> back = onnx_import::import_onnx(*bytes, {});
  if (!back || !back->unsupported.empty()) std::abort();
  if (back->graph.outputs.size() != graph.outputs.size()) std::abort();
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const graph::Value& before = graph.values[graph.outputs[i]];
    const graph::Value& after = back->graph.values[back->graph.outputs[i]];
    if (!(before.type == after.type)) std::abort();
  }
}

}  // namespace

/// Any bytes are an error with a message, or a graph that satisfies the law, with a reason for each
/// node that it leaves out. A whole graph survives its JSON form and a trip through ONNX.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  onnx_import::ImportOptions options;
  options.dims["n"] = 2;
  options.folder = "/nonexistent";  // whatever a model names, no file is opened
  const Result<onnx_import::Imported> imported = onnx_import::import_onnx(bytes, options);
  if (!imported) {
    if (imported.error().message.empty()) std::abort();
    return 0;
  }
  if (!graph::check(imported->graph)) std::abort();
  for (const onnx_import::Unsupported& each : imported->unsupported) {
    if (each.reason.empty()) std::abort();
  }
  if (!imported->unsupported.empty()) return 0;
  const Result<graph::Graph> back = graph::parse_graph(graph::to_json(imported->graph));
  if (!back || !(*back == imported->graph)) std::abort();
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 20;
  if (graph::figures_of(imported->graph).bytes <= kMostBytes) check_trip(imported->graph);
  return 0;
}
