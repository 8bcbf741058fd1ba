// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tessera/graph/graph.h"
#include "tessera/graph/graph_json.h"

/// Any text is a graph that satisfies the law and prints back as itself, or an error with a span
/// inside the text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera;  // NOLINT(google-build-using-namespace)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<graph::Graph> graph = graph::parse_graph(text);
  if (!graph) {
    const std::optional<Span>& span = graph.error().span;
    if (!span || span->from < 0 || span->to < span->from) std::abort();
    if (span->to > static_cast<std::int64_t>(size)) std::abort();
    return 0;
  }
  if (!graph::check(*graph)) std::abort();
  (void)graph::figures_of(*graph);
  const Result<graph::Graph> back = graph::parse_graph(graph::to_json(*graph));
  if (!back || !(*back == *graph) || !(graph::hash(*back) == graph::hash(*graph))) std::abort();
  return 0;
}
