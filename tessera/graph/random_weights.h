// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/graph/graph.h"

namespace tessera::graph {

/// The number of the stream of random elements of a value: the hash of its name by Fowler, Noll and
/// Vo (FNV-1a, 64 bits).
std::uint64_t random_stream(std::string_view name);

/// Random elements for every parameter and constant of type f64, f32, f16 or bf16 that has none, so
/// that a model can be run without trained weights. What a norm reads is in [1/2, 3/2), since a
/// variance is positive; other elements are in ±1/√n, where n is the number of elements for each
/// index of the largest dim, so that sums of products stay near their terms.
/// Law: the elements of a value follow from its name, its type, whether a norm reads it and the
/// seed. So they are the same on every machine, and in every graph of a model: in the one that
/// reads a prompt and in the one that decodes.
class RandomWeights {
 public:
  /// Refers to the graph.
  RandomWeights(const Graph& graph, std::uint64_t seed);

  const std::vector<ValueId>& values() const { return values_; }
  /// Of all of them; INT64_MAX if they do not fit.
  std::int64_t elements() const { return elements_; }
  std::int64_t bytes() const { return bytes_; }
  /// The elements of one of them. `out` has as many bytes as its type.
  void fill(ValueId value, std::span<std::byte> out) const;

 private:
  const Graph* graph_;
  std::uint64_t seed_;
  std::vector<ValueId> values_;
  std::vector<bool> positive_;  ///< of all values of the graph
  std::int64_t elements_ = 0;
  std::int64_t bytes_ = 0;
};

/// The most bytes that with_random_weights makes.
inline constexpr std::int64_t kMaxRandomBytes = (std::int64_t{1} << 31) - 1;

/// The graph with these elements; everything else stays. kTooLarge beyond kMaxRandomBytes.
Result<Graph> with_random_weights(const Graph& graph, std::uint64_t seed);

}  // namespace tessera::graph
