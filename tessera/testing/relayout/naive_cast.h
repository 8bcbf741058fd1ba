// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/base/dtype.h"

namespace tessera::test {

/// Casts by the definition: every element is decoded bit by bit into an exact number ± mantissa ·
/// 2^exponent, and the nearest number of the other type is found by comparing with the numbers that
/// its codes represent. It uses no float arithmetic and shares no code with Cast.
///
/// Elements [from_first, from_first + n) of `from` become [to_first, ..) of `to`, saturated. The
/// answer has one entry per element: whether it fits. Block floats are written in whole groups.
std::vector<bool> naive_cast(DType from_type, const std::byte* from, std::int64_t from_first,
                             DType to_type, std::byte* to, std::int64_t to_first, std::int64_t n);

/// One element between types that are not block floats as destinations.
bool naive_cast_one(DType from_type, const std::byte* from, std::int64_t from_element,
                    DType to_type, std::byte* to, std::int64_t to_element);

}  // namespace tessera::test
