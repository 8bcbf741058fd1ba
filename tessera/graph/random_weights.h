// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/base/result.h"
#include "tessera/graph/graph.h"

namespace tessera::graph {

/// The most bytes that with_random_weights makes: what one ONNX file can hold.
inline constexpr std::int64_t kMaxRandomBytes = (std::int64_t{1} << 31) - 1;

struct RandomWeights {
  Graph graph;
  std::int64_t values = 0;  ///< how many got elements
  std::int64_t elements = 0;
};

/// The graph with random elements for every parameter and constant of type f64, f32, f16 or bf16
/// that has none, so that a model can be run without trained weights. What a norm reads is in [1/2,
/// 3/2), since a variance is positive; other elements are in ±1/√n, where n is the number of
/// elements for each index of the largest dim, so that sums of products stay near their terms. Law:
/// the same graph and seed give the same elements on every machine; everything else stays.
/// kTooLarge beyond kMaxRandomBytes.
Result<RandomWeights> with_random_weights(const Graph& graph, std::uint64_t seed);

}  // namespace tessera::graph
