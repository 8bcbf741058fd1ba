// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/base/dtype.h"
#include "tessera/base/result.h"
#include "tessera/layout/form.h"

namespace tessera::relayout {

/// How two elements, given as their bits in memory, are combined into one.
struct Combiner {
  std::uint64_t neutral = 0;  ///< combine(neutral, x) = x
  std::uint64_t (*combine)(std::uint64_t, std::uint64_t) = nullptr;
  /// to[i] = combine(to[i], from[i]) for `count` contiguous elements of any alignment. The arrays
  /// must not overlap. Which of two NaNs a sum or product keeps is unspecified.
  void (*combine_all)(std::byte* to, const std::byte* from, std::int64_t count) = nullptr;
};

/// Sums and products of integers wrap around; integers without a sign in their name (i32) compare
/// as signed integers. kNotSupported for types without arithmetic here (f16, bf16, 8-bit floats,
/// elements smaller than a byte, block floats), for `and` and `or` of floats, and for all other
/// reductions of booleans.
Result<Combiner> combiner_of(Reduction reduction, DType dtype);

}  // namespace tessera::relayout
