// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/notation/morello/morello.h"

/// A Morello layout applied to a shape: code shared by lowering, the indexing expression and
/// contiguity.
namespace tessera::notation {

/// A physical dim with its size. Its position is floor(x / inner) mod size of logical dim `dim`,
/// and one position (after OddEven has sorted them) is `stride` slots.
struct PhysicalDim {
  std::size_t dim = 0;
  std::int64_t size = 1;
  std::int64_t inner = 1;   ///< v: the part of the logical dim that is inside
  std::int64_t stride = 1;  ///< α: the part of the buffer that is inside
  bool odd_even = false;    ///< only if that moves something: never for sizes below 4
};

/// The physical dims of `words` for `shape`, slowest first, or kInvalidShape that names what does
/// not fit and what would fit. `spans` has the span of each physical dim if there is a text.
Result<std::vector<PhysicalDim>> fit(const MorelloLayout& words, const Shape& shape,
                                     std::span<const Span> spans = {});

/// floor(x / width) mod count of a logical dim, times `stride`, is part of the slot.
struct MorelloDigit {
  std::int64_t width = 1;
  std::int64_t count = 1;
  std::int64_t stride = 1;
  friend bool operator==(const MorelloDigit&, const MorelloDigit&) = default;
};

/// The digits of one logical dim that are not always 0, most significant first. OddEven(n) is two
/// digits: first the half (position div 2), with stride `stride`; then the parity, with stride n/2
/// · `stride`.
std::vector<MorelloDigit> digits_of(std::span<const PhysicalDim> physical, std::size_t dim);

/// Joins adjacent digits that act as one: the upper stride is the lower one times the lower count.
std::vector<MorelloDigit> joined(const std::vector<MorelloDigit>& digits);

}  // namespace tessera::notation
