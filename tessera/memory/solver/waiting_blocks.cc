// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/solver/waiting_blocks.h"

#include <algorithm>

namespace tessera::memory {
namespace {

constexpr std::int32_t kGone = INT32_MAX;
constexpr std::size_t kLeaf = 8;

}  // namespace

bool WaitingBlocks::build(std::span<const Block> blocks, std::span<const std::int32_t> members) {
  depth_ = 0;
  while ((members.size() >> depth_) > kLeaf) ++depth_;
  if (!points_.resize(members.size()) || !nodes_.resize((std::size_t{2} << depth_) - 1) ||
      !rank_of_.resize(blocks.size()) || !slot_of_.resize(blocks.size())) {
    return false;
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Block& block = blocks[static_cast<std::size_t>(members[i])];
    points_[i] = {block.from, block.to, kGone, members[i]};
  }
  split(0, 0);
  for (std::size_t i = 0; i < points_.size(); ++i) {
    slot_of_[static_cast<std::size_t>(points_[i].block)] = static_cast<std::int32_t>(i);
  }
  return true;
}

void WaitingBlocks::split(int level, std::size_t i) {
  if (level == depth_) return;
  Point* const begin = points_.begin();
  Point* const middle = begin + cut(level + 1, 2 * i + 1);
  // Ties by index, so that the tree does not depend on how nth_element orders equal elements.
  if (level % 2 == 0) {
    std::nth_element(begin + cut(level, i), middle, begin + cut(level, i + 1),
                     [](const Point& a, const Point& b) {
                       return a.from != b.from ? a.from < b.from : a.block < b.block;
                     });
  } else {
    std::nth_element(begin + cut(level, i), middle, begin + cut(level, i + 1),
                     [](const Point& a, const Point& b) {
                       return a.to != b.to ? a.to < b.to : a.block < b.block;
                     });
  }
  split(level + 1, 2 * i);
  split(level + 1, 2 * i + 1);
}

bool WaitingBlocks::refill(std::span<const std::int32_t> order) {
  if (!block_at_.copy(order)) return false;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    rank_of_[static_cast<std::size_t>(order[rank])] = static_cast<std::int32_t>(rank);
  }
  for (Point& point : points_) point.rank = rank_of_[static_cast<std::size_t>(point.block)];
  for (std::size_t i = 0; i < (std::size_t{1} << depth_); ++i) sum_up_leaf(i);
  for (int level = depth_; level-- > 0;) {
    for (std::size_t i = 0; i < (std::size_t{1} << level); ++i) sum_up(level, i);
  }
  return true;
}

void WaitingBlocks::sum_up_leaf(std::size_t i) {
  Node sum{INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, kGone};
  for (std::size_t k = cut(depth_, i); k < cut(depth_, i + 1); ++k) {
    const Point& point = points_[k];
    if (point.rank == kGone) continue;
    sum.first_from = std::min(sum.first_from, point.from);
    sum.last_from = std::max(sum.last_from, point.from);
    sum.first_to = std::min(sum.first_to, point.to);
    sum.last_to = std::max(sum.last_to, point.to);
    sum.rank = std::min(sum.rank, point.rank);
  }
  node(depth_, i) = sum;
}

void WaitingBlocks::sum_up(int level, std::size_t i) {
  const Node& a = node(level + 1, 2 * i);
  const Node& b = node(level + 1, 2 * i + 1);
  node(level, i) = {std::min(a.first_from, b.first_from), std::max(a.last_from, b.last_from),
                    std::min(a.first_to, b.first_to), std::max(a.last_to, b.last_to),
                    std::min(a.rank, b.rank)};
}

void WaitingBlocks::search(int level, std::size_t i, std::int32_t from, std::int32_t to,
                           std::int32_t& rank) const {
  const Node& here = node(level, i);
  if (here.rank >= rank || here.last_from < from || here.first_to > to) return;
  if (here.first_from >= from && here.last_to <= to) {
    rank = here.rank;
    return;
  }
  if (level == depth_) {
    for (std::size_t k = cut(level, i); k < cut(level, i + 1); ++k) {
      const Point& point = points_[k];
      if (point.rank < rank && point.from >= from && point.to <= to) rank = point.rank;
    }
    return;
  }
  const std::size_t better =
      2 * i + (node(level + 1, 2 * i).rank <= node(level + 1, 2 * i + 1).rank ? 0 : 1);
  search(level + 1, better, from, to, rank);
  search(level + 1, better ^ 1, from, to, rank);
}

std::int32_t WaitingBlocks::best_within(std::int32_t from, std::int32_t to) const {
  std::int32_t rank = kGone;
  search(0, 0, from, to, rank);
  return rank == kGone ? kNone : block_at_[static_cast<std::size_t>(rank)];
}

void WaitingBlocks::remove(std::int32_t block) {
  const auto slot = static_cast<std::size_t>(slot_of_[static_cast<std::size_t>(block)]);
  points_[slot].rank = kGone;
  // The last leaf that begins at or before the slot.
  std::size_t i = (((slot + 1) << depth_) - 1) / points_.size();
  sum_up_leaf(i);
  for (int level = depth_; level-- > 0;) {
    i /= 2;
    sum_up(level, i);
  }
}

}  // namespace tessera::memory
