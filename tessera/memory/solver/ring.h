// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/base/array.h"
#include "tessera/memory/solver/packing.h"

namespace tessera::memory {

/// Packs as a ring buffer does: blocks come in the order of their births, each goes into the next
/// gap above the one before, and the search for a gap begins again at 0 below the ceiling. What
/// lives about equally long, such as what passes through a pipeline, then dies in the order in
/// which it lies in memory, and leaves one gap that moves around; rules that go by lengths of lives
/// leave many.
///
/// Law: a plan that fits ends at or below the ceiling, and no two blocks that share a section meet.
/// Example: lives [0, 2), [1, 3), [2, 4) of 4 bytes below 8: at 0, 4 and 0.
class Ring {
 public:
  /// For a packing without fixed blocks. False when memory is refused.
  [[nodiscard]] bool build(const Packing& packing);

  /// Writes the offset of each block, or gives up: `fits` is false when a block finds no gap below
  /// the ceiling, or gaps are so many that looking for one takes more than some 64 steps a block.
  /// Returns false when memory is refused.
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
  Array<Gap> gaps_;  // rising, never touching, never empty
  std::int64_t next_ = 0;
  std::int64_t steps_left_ = 0;
};

}  // namespace tessera::memory
