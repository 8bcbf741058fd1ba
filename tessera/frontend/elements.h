// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tessera/base/result.h"
#include "tessera/graph/op.h"

namespace tessera::frontend {

/// Numbers as packed elements, rounded to the type. kOutOfRange for a number that an integer type
/// cannot have as a 64-bit integer (NaN, 1e30); smaller ones wrap.
Result<std::string> elements_of(std::span<const double> numbers, DType dtype);

/// Normally distributed numbers as elements of this type. Number i is a function of the seed and of
/// i: the bits of i are mixed to two uniform numbers, and Box and Muller's transform makes two
/// normal ones of them.
Result<std::string> normal_elements(std::uint64_t seed, const graph::TensorType& type);

/// kOutOfMemory for more bytes than this host has memory.
Status check_room(std::int64_t bytes);

/// `count` times the same bytes.
std::string repeated(const std::string& element, std::int64_t count);

}  // namespace tessera::frontend
