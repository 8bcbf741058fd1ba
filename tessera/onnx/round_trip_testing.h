// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/graph/graph.h"
#include "tessera/onnx/onnx_export.h"
#include "tessera/onnx/onnx_import.h"

/// The law of export: from the second trip on, a graph that is written and read stays as it is.
namespace tessera::test {

/// The graph after it was written and read. kNotSupported for what is written but not read.
inline Result<graph::Graph> onnx_trip(const graph::Graph& graph, const std::string& folder) {
  TESSERA_TRY(const std::string bytes, onnx_import::export_onnx(graph, {folder}));
  onnx_import::ImportOptions options;
  options.folder = folder;
  TESSERA_TRY(onnx_import::Imported imported, onnx_import::import_onnx(bytes, options));
  if (imported.unsupported.empty()) return std::move(imported.graph);
  const onnx_import::Unsupported& first = imported.unsupported[0];
  return Error{ErrorCode::kNotSupported, cat(first.node, " (", first.op, "): ", first.reason)};
}

/// The graph after one trip; a failure unless the third trip gives what the second gave, and the
/// types of the outputs stay.
inline graph::Graph expect_round_trip(const graph::Graph& graph, const std::string& folder = ".") {
  const Result<graph::Graph> first = onnx_trip(graph, folder);
  if (!first) {
    ADD_FAILURE() << first.error().message << "\n" << graph::to_string(graph);
    return {};
  }
  const Result<graph::Graph> second = onnx_trip(*first, folder);
  const Result<graph::Graph> third = second ? onnx_trip(*second, folder) : second;
  if (!third) {
    ADD_FAILURE() << third.error().message << "\n" << graph::to_string(*first);
    return *first;
  }
  EXPECT_EQ(graph::hash(*second), graph::hash(*third)) << graph::to_string(*second) << "\n"
                                                       << graph::to_string(*third);
  EXPECT_TRUE(*second == *third);
  EXPECT_EQ(first->outputs.size(), graph.outputs.size());
  for (std::size_t i = 0; i < std::min(first->outputs.size(), graph.outputs.size()); ++i) {
    EXPECT_EQ(first->values[first->outputs[i]].type, graph.values[graph.outputs[i]].type);
  }
  return *first;
}

}  // namespace tessera::test
