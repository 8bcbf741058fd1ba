// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/notation/morello/morello.h"

/// A Morello layout laid over a shape: what lowering, the indexing expression and contiguity share.
namespace tessera::notation {

/// A physical dim with its size. Its position is floor(x / inner) mod size of logical dim `dim`,
/// and one position (after OddEven has sorted them) is `stride` slots.
struct PhysicalDim {
  std::size_t dim = 0;
  std::int64_t size = 1;
  std::int64_t inner = 1;   ///< v: how much of the logical dim lies inside
  std::int64_t stride = 1;  ///< α: how much of the buffer lies inside
  bool odd_even = false;    ///< only where that moves something: never for sizes below 4
};

/// The physical dims of `words` for `shape`, slowest first, or kInvalidShape with what does not fit
/// and what would. `spans` says where each physical dim stands in a text, if there is one.
Result<std::vector<PhysicalDim>> fit(const MorelloLayout& words, const Shape& shape,
                                     std::span<const Span> spans = {});

/// floor(x / width) mod count of a logical dim, times `stride`, is part of the slot.
struct MorelloDigit {
  std::int64_t width = 1;
  std::int64_t count = 1;
  std::int64_t stride = 1;
  friend bool operator==(const MorelloDigit&, const MorelloDigit&) = default;
};

/// The digits of one logical dim that are not always 0, most significant first. OddEven(n) is two:
/// halves of `stride`, then the parity of n/2 · `stride`.
std::vector<MorelloDigit> digits_of(std::span<const PhysicalDim> physical, std::size_t dim);

/// Joins neighbours that act as one: the upper stride is the lower one times the lower count.
std::vector<MorelloDigit> joined(const std::vector<MorelloDigit>& digits);

}  // namespace tessera::notation
