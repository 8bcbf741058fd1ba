// SPDX-License-Identifier: Apache-2.0
#include "tools/graph/write_onnx.h"

#include <cstddef>
#include <map>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/graph/random_weights.h"
#include "tools/files/mapped_file.h"
#include "tools/files/replace_file.h"
#include "tools/graph/onnx_module.h"

namespace tessera::tools {
namespace {

constexpr std::int64_t kAlignment =
    4096;  ///< of tensors in a data file, so that they can be mapped

/// The graph with its random weights in a file that does not exist yet, and how long that will be.
Result<std::int64_t> refer_to(const std::string& data_file, const graph::RandomWeights& weights,
                              graph::Graph& graph) {
  Checked end(0);
  for (const graph::ValueId v : weights.values()) {
    TESSERA_TRY(const std::int64_t offset,
                (Checked(ceil_div(end.saturated(), kAlignment)) * kAlignment).value("an offset"));
    graph.values[v].data = graph::Data::of_file(data_file, offset);
    end = Checked(offset) + graph.values[v].type.bytes();
  }
  return end.value("the size of the weights");
}

}  // namespace

Result<WrittenWeights> write_onnx(const graph::Graph& graph, const std::string& file,
                                  std::int64_t seed, std::int64_t most_inline) {
  TESSERA_TRY(const onnx_import::OnnxModule* const module, load_onnx_module());
  const onnx_import::ExportOptions options{folder_of(file)};
  const graph::RandomWeights weights(graph, static_cast<std::uint64_t>(seed));
  WrittenWeights written{std::ssize(weights.values()), weights.elements(), seed};
  if (weights.bytes() <= most_inline) {
    TESSERA_TRY(const graph::Graph filled,
                graph::with_random_weights(graph, static_cast<std::uint64_t>(seed)));
    TESSERA_TRY(const std::string model, module->write(filled, options));
    TESSERA_CHECK_OK(write_whole(file, model));
    return written;
  }
  written.file = file + ".data";
  graph::Graph referring = graph;
  TESSERA_TRY(const std::int64_t size, refer_to(written.file, weights, referring));
  // What ONNX cannot express is known before anything is written.
  TESSERA_TRY(const std::string model, module->write(referring, options));
  TESSERA_TRY(MappedOutput data, MappedOutput::create(written.file, size));
  for (const graph::ValueId v : weights.values()) {
    const graph::Value& value = referring.values[v];
    weights.fill(v, data.bytes().subspan(static_cast<std::size_t>(value.data.offset),
                                         static_cast<std::size_t>(value.type.bytes())));
  }
  TESSERA_CHECK_OK(data.commit());
  TESSERA_CHECK_OK(write_whole(file, model));
  return written;
}

}  // namespace tessera::tools
