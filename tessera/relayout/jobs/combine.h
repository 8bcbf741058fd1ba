// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/base/dtype.h"
#include "tessera/base/result.h"
#include "tessera/layout/form.h"

namespace tessera::relayout {

/// How two elements, as the bits that memory holds, become one.
struct Combiner {
  std::uint64_t neutral = 0;  ///< combine(neutral, x) = x
  std::uint64_t (*combine)(std::uint64_t, std::uint64_t) = nullptr;
  /// to[i] = combine(to[i], from[i]) for `count` neighbours in memory of any alignment, which do
  /// not overlap. Which of two NaNs a sum or product keeps is not said.
  void (*combine_all)(std::byte* to, const std::byte* from, std::int64_t count) = nullptr;
};

/// Sums and products of integers are modulo their size; integers without a sign of their own (i32)
/// compare as signed ones. kNotSupported for types that have no arithmetic here (f16, bf16, 8-bit
/// floats, elements below a byte, block floats), for `and` and `or` of floats, and for anything
/// else of booleans.
Result<Combiner> combiner_of(Reduction reduction, DType dtype);

}  // namespace tessera::relayout
