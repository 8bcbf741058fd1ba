// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "tessera/base/array.h"
#include "tessera/memory/solver/packing.h"

namespace tessera::memory {

/// Beyond every difference of two offsets.
inline constexpr std::int64_t kFar = std::int64_t{1} << 62;

/// Differences from `least` to `most`, inclusive, between the offsets of two blocks.
struct Side {
  std::int64_t least = -kFar;
  std::int64_t most = kFar;
};

/// Two blocks that may be in each other's way, and the differences offset(b) - offset(a) at which
/// they are not: ranges in ascending order with forbidden differences between them. Two blocks
/// without gaps have two: a above b, and b above a. Blocks that interlock have more.
struct BlockPair {
  std::int32_t a = 0;
  std::int32_t b = 0;  ///< above a
  std::int32_t first_side = 0;
  std::int32_t sides = 0;  ///< at least 2
  /// The blocks are alike: swapped, they are the same plan.
  bool is_alike = false;
};

/// All pairs of blocks that may be in each other's way.
///
/// Law: offsets are a plan ⇔ they are multiples of the alignments, fixed where a block is fixed,
/// and the difference of every pair is on one of its sides.
/// Example: 8 bytes with a gap that keeps [0, 2), and 6 bytes that are live only in the gap: the
/// second may be 6 or more bytes below the first, or 2 or more above.
struct BlockPairs {
  Array<BlockPair> pairs;
  Array<Side> sides;

  /// False when memory is refused.
  [[nodiscard]] bool build(const Packing& packing);
  std::span<const Side> sides_of(const BlockPair& pair) const {
    return {sides.data() + pair.first_side, static_cast<std::size_t>(pair.sides)};
  }
};

}  // namespace tessera::memory
