// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tessera/base/array.h"
#include "tessera/memory/solver/packing.h"

namespace tessera::memory {

/// Finds the blocks that are live together with a block, without a table of pairs: blocks sorted by
/// birth, with a tree of the latest deaths over them. O(log n) for each block found. The same for
/// strips.
///
/// Example: for lifetimes [0, 2), [1, 3) and [2, 4), the blocks that overlap the first are itself
/// and the second.
class Overlaps {
 public:
  [[nodiscard]] bool build(const Array<Block>& blocks);
  [[nodiscard]] bool build(const Array<Strip>& strips);

  /// Writes to `found` every block or strip that is live in some section of [from, to), by birth.
  [[nodiscard]] bool meet(std::int32_t from, std::int32_t to, Array<std::int32_t>& found) const;

 private:
  template <typename Lived>
  [[nodiscard]] bool build_of(std::span<const Lived> all);
  void visit(std::size_t node, std::size_t low, std::size_t high, std::size_t end,
             std::int32_t from, Array<std::int32_t>& found) const;

  std::size_t width_ = 1;
  Array<std::int32_t> births_;      // sorted
  Array<std::int32_t> by_birth_;    // the block or strip of each birth
  Array<std::int32_t> last_death_;  // of a node's blocks; the leaves begin at width_
};

}  // namespace tessera::memory
