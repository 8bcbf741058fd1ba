// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tessera/base/array.h"
#include "tessera/memory/solver/packing.h"

namespace tessera::memory {

/// The blocks that wait to be placed, with a query for the best one that lives within some
/// sections. A k-d tree over (from, to) that keeps the best rank below each node, so a query visits
/// O(sqrt n) nodes at worst and about twenty on traces.
///
/// Law: `best_within(a, b)` is the block with the lowest rank among those that wait with a <= from
/// and to <= b.
/// Example: of lifetimes [0, 4), [1, 3) and [2, 6), in that order of rank, best_within(1, 6) is the
/// second.
class WaitingBlocks {
 public:
  static constexpr std::int32_t kNone = -1;

  /// Sorts `members` (blocks by index) by their lifetimes; nothing waits yet. False when memory is
  /// refused.
  [[nodiscard]] bool build(std::span<const Block> blocks, std::span<const std::int32_t> members);

  /// All members wait, in this order: the first is the best. `order` is a permutation of them.
  [[nodiscard]] bool refill(std::span<const std::int32_t> order);

  std::int32_t best_within(std::int32_t from, std::int32_t to) const;
  void remove(std::int32_t block);

 private:
  struct Point {
    std::int32_t from = 0;
    std::int32_t to = 0;
    std::int32_t rank = 0;
    std::int32_t block = 0;
  };
  struct Node {
    std::int32_t first_from = 0;
    std::int32_t last_from = 0;
    std::int32_t first_to = 0;
    std::int32_t last_to = 0;
    std::int32_t rank = 0;
  };

  // Node i of a level owns the points [cut(level, i), cut(level, i + 1)).
  std::size_t cut(int level, std::size_t i) const { return (points_.size() * i) >> level; }
  Node& node(int level, std::size_t i) { return nodes_[(std::size_t{1} << level) - 1 + i]; }
  const Node& node(int level, std::size_t i) const {
    return nodes_[(std::size_t{1} << level) - 1 + i];
  }
  void split(int level, std::size_t i);
  void sum_up_leaf(std::size_t i);
  void sum_up(int level, std::size_t i);
  void search(int level, std::size_t i, std::int32_t from, std::int32_t to,
              std::int32_t& rank) const;

  int depth_ = 0;
  Array<Point> points_;
  Array<Node> nodes_;
  Array<std::int32_t> rank_of_;   // by block
  Array<std::int32_t> slot_of_;   // by block: its point
  Array<std::int32_t> block_at_;  // by rank
};

}  // namespace tessera::memory
