// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/base/array.h"
#include "tessera/memory/solver/packing.h"

namespace tessera::memory {

/// Packs like a ring buffer: blocks are placed in the order of their births, each into the next gap
/// above the previous block; at the ceiling the search for a gap restarts at 0. Blocks with about
/// equal lifetimes, such as data that pass through a pipeline, then die in the order in which they
/// lie in memory, and leave one moving gap. Heuristics that sort by lifetime leave many gaps.
///
/// Law: a plan that fits ends at or below the ceiling, and no two blocks that share a section
/// overlap.
/// Example: lifetimes [0, 2), [1, 3), [2, 4) of 4 bytes below 8: at 0, 4 and 0.
class Ring {
 public:
  /// For a packing without fixed blocks. False when memory is refused.
  [[nodiscard]] bool build(const Packing& packing);

  /// Writes the offset of each block, or gives up: `fits` is false when a block finds no gap below
  /// the ceiling, or when there are so many gaps that the search takes more than about 64 steps per
  /// block. Returns false when memory is refused.
  [[nodiscard]] bool run(std::int64_t ceiling, Array<std::int64_t>& offsets, bool& fits);

 private:
  struct Gap {
    std::int64_t from = 0;
    std::int64_t to = 0;
  };

  std::size_t first_above(std::int64_t offset) const;
  [[nodiscard]] bool replace(std::size_t at, std::size_t count, Gap low, Gap high);
  [[nodiscard]] bool give_back(Gap freed);
  [[nodiscard]] bool take(const Block& block, std::int64_t& offset);

  const Packing* packing_ = nullptr;
  Array<std::int32_t> births_;
  Array<std::int32_t> deaths_;
  Array<Gap> gaps_;  // ascending, never touching, never empty
  std::int64_t next_ = 0;
  std::int64_t steps_left_ = 0;
};

}  // namespace tessera::memory
