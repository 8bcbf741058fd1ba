// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tessera/base/array.h"
#include "tessera/memory/solver/overlaps.h"
#include "tessera/memory/solver/packing.h"

namespace tessera::memory {

/// The offset of a block that has not been placed yet.
inline constexpr std::int64_t kNowhere = -1;

/// What is in the way of a block: the ranges of bytes that it has to avoid.
///
/// Law: a block at offset p shares a byte with a placed block at some moment ⇔ for one of that
/// block's obstacles, p < to and p + size > from, with the size of the block that is placed.
/// Without gaps every block that is live together with it is one obstacle, its range. With gaps
/// there is one for each two strips that share a section: strip [l, h) of the block and strip
/// [l', h') of the other, at offset q, meet exactly when q + l' - h < p < q + h' - l. Then `from`
/// may be above `to`, and `to` below 0.
/// Example: a block of 8 bytes that keeps [0, 2) in its gap, and in the gap a block at 2 of 6
/// bytes: the obstacle is [8, 8). At 0 it is avoided; at 1, where 1 < 8 and 1 + 8 > 8, it is not.
class Obstacles {
 public:
  /// False when memory is refused, here and below.
  [[nodiscard]] bool build(const Packing& packing);

  /// Finds what is in the way of `block`, placed or not.
  [[nodiscard]] bool find(std::int32_t block);
  /// How many were found.
  std::size_t count() const { return packing_->has_gaps() ? near_.size() : met_.size(); }

  /// Calls visit(other, from, to) for the obstacles of those that have an offset.
  template <typename Visit>
  void each(std::span<const std::int64_t> offsets, const Visit& visit) const {
    if (packing_->has_gaps()) {
      for (const Near& near : near_) {
        const std::int64_t offset = offsets[static_cast<std::size_t>(near.other)];
        if (offset != kNowhere) visit(near.other, offset + near.from, offset + near.to);
      }
      return;
    }
    for (const std::int32_t other : met_) {
      const auto i = static_cast<std::size_t>(other);
      if (other == block_ || offsets[i] == kNowhere) continue;
      visit(other, offsets[i], offsets[i] + packing_->blocks[i].size);
    }
  }

 private:
  /// An obstacle, counted from the offset of the block that it belongs to.
  struct Near {
    std::int32_t other = 0;
    std::int64_t from = 0;
    std::int64_t to = 0;
  };

  const Packing* packing_ = nullptr;
  Overlaps overlaps_;             // of strips if there are gaps, otherwise of blocks
  Array<std::int32_t> block_of_;  // of each strip
  Array<std::int32_t> met_;
  Array<Near> near_;
  std::int32_t block_ = -1;
};

}  // namespace tessera::memory
