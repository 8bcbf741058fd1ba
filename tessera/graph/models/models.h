// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tessera/base/dtype.h"
#include "tessera/base/result.h"
#include "tessera/graph/graph.h"

/// models/: well-known models from a few numbers, for tests, benchmarks and first plans. Graphs go
/// out; parameters have no data, since shapes and costs need none.
namespace tessera::graph {

/// Numbers that a model does not have are ignored; 0 stands for the model's own default.
struct ModelOptions {
  std::int64_t batch = 0;
  std::int64_t layers = 0;    ///< blocks of a transformer or mixer
  std::int64_t sequence = 0;  ///< tokens in
  std::int64_t past = 0;      ///< llama: tokens in the cache; above 0 with sequence 1 is decoding
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  ///< llama: heads of keys and values
  std::int64_t vocabulary = 0;
  std::int64_t image = 0;  ///< rows and columns
  DType dtype = DType::kF32;
};

/// "mlp", "resnet50", "mobilenet-v2", "bert-base", "llama", "unet-block", "mlp-mixer".
std::span<const std::string_view> model_names();

/// One of these models. kUnknownName for another name, kOutOfRange for numbers that do not fit the
/// model, such as heads that do not divide the hidden size.
/// Example: make_model("resnet50", {}) has 25,557,032 parameters, as published.
Result<Graph> make_model(std::string_view name, const ModelOptions& options);

}  // namespace tessera::graph
