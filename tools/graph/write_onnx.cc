// SPDX-License-Identifier: Apache-2.0
#include "tools/graph/write_onnx.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/graph/random_weights.h"
#include "tools/files/commit_together.h"
#include "tools/files/mapped_file.h"
#include "tools/files/replace_file.h"
#include "tools/graph/onnx_module.h"
#include "tools/terminal/text.h"

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

Status check_is_not_read(const graph::Graph& graph, const std::string& data_file) {
  for (const graph::Value& value : graph.values) {
    if (value.data.form != graph::Data::Form::kFile || !is_one_file(value.data.file, data_file)) {
      continue;
    }
    return Error{ErrorCode::kIo,
                 cat(quote(data_file), " would be replaced, but value ", quote(value.name),
                     " has its elements there"),
                 std::nullopt, "write the model under another name"};
  }
  return ok_status();
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
  TESSERA_CHECK_OK(check_is_not_read(graph, written.file));
  graph::Graph referring = graph;
  TESSERA_TRY(const std::int64_t size, refer_to(written.file, weights, referring));
  // What ONNX cannot express is known before anything is written.
  TESSERA_TRY(const std::string model, module->write(referring, options));
  std::vector<NamedOutput> files;
  for (const std::int64_t bytes : {size, std::ssize(model)}) {
    const std::string& name = files.empty() ? written.file : file;
    TESSERA_TRY(MappedOutput output, MappedOutput::create(name, bytes));
    files.push_back({name, std::move(output)});
  }
  for (const graph::ValueId v : weights.values()) {
    const graph::Value& value = referring.values[v];
    weights.fill(v, files[0].file.bytes().subspan(static_cast<std::size_t>(value.data.offset),
                                                  static_cast<std::size_t>(value.type.bytes())));
  }
  std::ranges::copy(std::as_bytes(std::span(model)), files[1].file.bytes().begin());
  TESSERA_CHECK_OK(commit_together(files));
  return written;
}

}  // namespace tessera::tools
