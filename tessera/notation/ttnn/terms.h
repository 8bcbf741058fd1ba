// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/ttnn/ttnn.h"

/// The arithmetic of the seed's TTNN terms, shared by what reads, lowers, raises and explains them.
namespace tessera::notation {

/// Where the items stand in their text.
struct TermsSpans {
  Span stride;
  Span shard;
  Span tile;
  Span grid;
  Span physical_shard;
};

/// Rows and columns of what follows from the terms.
struct TermsNumbers {
  std::array<std::int64_t, 2> physical{};
  std::array<std::int64_t, 2> needed{};  ///< E of each line
  std::array<std::int64_t, 2> tile{};    ///< 1x1 when unsaid
  std::array<std::int64_t, 2> grid{};
  std::array<std::int64_t, 2> atoms{};           ///< of a shard
  std::array<std::int64_t, 2> physical_shard{};  ///< atoms·tile
  std::vector<std::int64_t> steps;  ///< rows that one step along each dim but the last moves
};

/// What follows from terms that fit the shape and themselves, or what contradicts what.
Result<TermsNumbers> terms_numbers(const TtnnTerms& words, const Shape& shape,
                                   const TermsSpans* spans = nullptr);

/// As the public `lower`; errors point at the item that is wrong.
Result<Layout> lower_terms(const TtnnTerms& words, const Shape& shape, DType dtype,
                           const TermsSpans* spans);

/// Reads `ttnn<stride=[..], shard_shape=[..], ..>` and lowers it. Items stand in any order, each
/// once; stride and shard_shape must be said.
Result<Tensor> read_ttnn_terms(std::string_view source, const TensorType& type);

}  // namespace tessera::notation
