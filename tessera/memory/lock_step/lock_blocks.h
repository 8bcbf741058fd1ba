// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tessera/memory/lock_step/meetings.h"

namespace tessera::memory {

/// A free block of a lock step: one whose offset is not fixed.
struct LockBlock {
  std::uint32_t id = 0;  ///< in the relation
  std::int64_t size = 0;
  std::int64_t alignment = 1;
  /// The free blocks that conflict with it, by their numbers here, ascending.
  std::vector<Meeting> meetings;
  /// Offsets strictly between the two values are blocked by a fixed block. Sorted by the first
  /// value.
  std::vector<std::pair<std::int64_t, std::int64_t>> walls;
  std::int32_t twin = -1;  ///< the last block before it that is identical; see LockBlocks
};

/// The free blocks of some components, numbered from 0. Fixed blocks are walls for the blocks that
/// conflict with them.
///
/// Two blocks are alike if they have the same size and alignment, conflict with the same blocks and
/// walls with the same bytes to clear, and, if they conflict with each other, clear the same. Then
/// they can be swapped in every plan.
struct LockBlocks {
  LockBlocks(const Relation& relation, const std::vector<std::uint32_t>& ids);

  std::size_t count() const { return blocks.size(); }
  /// The lowest offset of a block that is not below `from` and hits no wall.
  std::int64_t lowest(std::size_t b, std::int64_t from) const;
  /// The highest offset not above `to` that hits no wall; -1 when there is none.
  std::int64_t highest(std::size_t b, std::int64_t to) const;

  /// One past the highest byte of a plan.
  std::int64_t peak(const std::vector<std::int64_t>& offsets) const;
  /// The lowest peak above `capacity` that is possible for a plan whose blocks all rest.
  std::int64_t above(std::int64_t capacity) const { return capacity / grain * grain + grain; }

  std::vector<LockBlock> blocks;
  std::int64_t fixed_end = 0;  ///< of the highest fixed block
  /// Every offset and end is a multiple of this in a plan whose blocks all rest: on 0, or on the
  /// bytes that they must clear of a block below, rounded up to the alignment.
  std::int64_t grain = 1;
};

}  // namespace tessera::memory
