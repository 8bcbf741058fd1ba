// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tessera/base/dtype.h"
#include "tessera/base/result.h"

namespace tessera::run {

/// Elements of any type in memory, and the numbers with which kernels compute (compute_type of
/// kernels/kernel.h). Packed elements: those of i4 and i2 share bytes, the first in the low bits.
///
/// A result becomes an element as on machines with IEEE arithmetic: floats round to nearest, ties
/// to even; what is too large becomes infinity, or the largest number of f8E4M3FN, which has none.
/// Integers wrap around, and booleans are 0 or 1.

/// compute[i] = the number of element i.
Status to_compute(std::span<const std::byte> elements, DType dtype, std::byte* compute,
                  std::int64_t count);
/// Element i = compute[i] as an element. `compute` may be changed.
Status from_compute(std::byte* compute, DType dtype, std::span<std::byte> elements,
                    std::int64_t count);

/// The type in which shares of a sum of such elements are kept until they are combined: f32 for
/// narrower floats, i32 for booleans and integers below a byte, the type itself otherwise.
DType share_type(DType dtype);

/// The number that leaves all others as they are: 0 for sums, the smallest number for a maximum.
/// Written to count elements of a compute type.
enum class Neutral : std::uint8_t { kZero, kOne, kLeast, kLargest };
void fill_compute(std::byte* compute, DType dtype, std::int64_t count, Neutral neutral);

}  // namespace tessera::run
