// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/ttnn/ttnn.h"

/// The arithmetic of the terms of the TTNN layout document, shared by the code that reads, lowers,
/// raises and explains them.
namespace tessera::notation {

/// The spans of the items.
struct TermsSpans {
  Span stride;
  Span shard;
  Span tile;
  Span grid;
  Span physical_shard;
};

/// The numbers that follow from the terms, for rows and columns.
struct TermsNumbers {
  std::array<std::int64_t, 2> physical{};
  std::array<std::int64_t, 2> needed{};  ///< E of each line
  std::array<std::int64_t, 2> tile{};    ///< 1x1 if not given
  std::array<std::int64_t, 2> grid{};
  std::array<std::int64_t, 2> atoms{};           ///< of a shard
  std::array<std::int64_t, 2> physical_shard{};  ///< atoms·tile
  std::vector<std::int64_t> steps;               ///< rows per step along each dim except the last
};

/// The numbers of terms that are consistent and fit the shape, or the contradiction.
Result<TermsNumbers> terms_numbers(const TtnnTerms& words, const Shape& shape,
                                   const TermsSpans* spans = nullptr);

/// Like the public `lower`, but errors point at the invalid item.
Result<Layout> lower_terms(const TtnnTerms& words, const Shape& shape, DType dtype,
                           const TermsSpans* spans);

/// Reads `ttnn<stride=[..], shard_shape=[..], ..>` and lowers it. Items may be in any order, each
/// once; stride and shard_shape are required.
Result<Tensor> read_ttnn_terms(std::string_view source, const TensorType& type);

}  // namespace tessera::notation
