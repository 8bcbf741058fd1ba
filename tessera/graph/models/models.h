// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tessera/base/dtype.h"
#include "tessera/base/result.h"
#include "tessera/graph/graph.h"

/// models/: well-known models from a few numbers, for tests, benchmarks and first plans. Graphs go
/// out; parameters have no data, since shapes and costs need none.
namespace tessera::graph {

/// What a model is made from. Numbers that are not given are the model's own defaults.
struct ModelOptions {
  using Number = std::optional<std::int64_t>;
  Number batch = {};
  Number layers = {};    ///< blocks of a transformer or mixer
  Number sequence = {};  ///< tokens in
  /// llama: tokens in the cache that is read; keys and values are outputs then, also with 0. The
  /// default of sequence is 1 if there are any.
  Number past = {};
  Number hidden = {};  ///< the width
  Number heads = {};
  Number kv_heads = {};  ///< llama: heads of keys and values
  Number vocabulary = {};
  Number image = {};  ///< rows and columns
  DType dtype = DType::kF32;
};

/// A number of ModelOptions by name.
struct ModelNumber {
  std::string_view name;  ///< "batch-size", "layers", .. "kv-heads", ..
  ModelOptions::Number ModelOptions::* value = nullptr;
  std::int64_t least = 1;
  std::int64_t most = 0;
};
std::span<const ModelNumber> model_numbers();
/// The names of those that a model has; none for an unknown model.
std::span<const std::string_view> numbers_of(std::string_view model);

/// "mlp", "resnet50", "mobilenet-v2", "bert-base", "llama", "unet-block", "mlp-mixer".
std::span<const std::string_view> model_names();

/// One of these models. kUnknownName for another name and for a number that the model does not
/// have, kOutOfRange for numbers that do not fit the model, such as heads that do not divide the
/// hidden size.
/// Example: make_model("resnet50", {}) has 25,557,032 parameters, as published.
Result<Graph> make_model(std::string_view name, const ModelOptions& options);

}  // namespace tessera::graph
