// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/lock_step/lock_blocks.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace tessera::memory {
namespace {

/// Twins are searched among the last blocks of the same size, up to this many.
constexpr std::size_t kTwinsTried = 16;

bool is_same(const Meeting& a, const Meeting& b) {
  return a.other == b.other && a.clear_other == b.clear_other && a.clear_us == b.clear_us;
}

/// True when blocks a and b can be swapped; they have the same size and alignment.
bool are_alike(const std::vector<LockBlock>& blocks, std::uint32_t a, std::uint32_t b) {
  const std::vector<Meeting>& of_a = blocks[a].meetings;
  const std::vector<Meeting>& of_b = blocks[b].meetings;
  if (of_a.size() != of_b.size() || blocks[a].walls != blocks[b].walls) return false;
  std::size_t i = 0;
  std::size_t k = 0;
  for (;;) {
    if (i < of_a.size() && of_a[i].other == b) {
      if (of_a[i].clear_other != of_a[i].clear_us) return false;
      ++i;
    } else if (k < of_b.size() && of_b[k].other == a) {
      ++k;
    } else if (i == of_a.size() || k == of_b.size()) {
      return i == of_a.size() && k == of_b.size();
    } else if (!is_same(of_a[i++], of_b[k++])) {
      return false;
    }
  }
}

void find_twins(std::vector<LockBlock>& blocks) {
  std::vector<std::uint32_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto kind = [&](std::uint32_t b) {
    return std::tuple(blocks[b].size, blocks[b].alignment, blocks[b].meetings.size());
  };
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(kind(a), a) < std::pair(kind(b), b);
  });
  for (std::size_t i = 1; i < order.size(); ++i) {
    for (std::size_t back = 1; back <= std::min(i, kTwinsTried); ++back) {
      const std::uint32_t before = order[i - back];
      if (kind(before) != kind(order[i])) break;
      if (!are_alike(blocks, before, order[i])) continue;
      blocks[order[i]].twin = static_cast<std::int32_t>(before);
      break;
    }
  }
}

}  // namespace

LockBlocks::LockBlocks(const Relation& relation, const std::vector<std::uint32_t>& ids) {
  std::vector<std::uint32_t> number(relation.packing.blocks.size(), 0);
  grain = 0;
  for (const std::uint32_t id : ids) {
    const Block& block = relation.packing.blocks[id];
    grain = std::gcd(grain, block.size);
    if (block.alignment > 1) grain = std::gcd(grain, block.alignment);
    if (block.fixed >= 0) {
      grain = std::gcd(grain, block.fixed);
      fixed_end = std::max(fixed_end, block.fixed + block.size);
      continue;
    }
    number[id] = static_cast<std::uint32_t>(blocks.size());
    LockBlock& own = blocks.emplace_back();
    own.id = id;
    own.size = block.size;
    own.alignment = block.alignment;
  }
  for (LockBlock& own : blocks) {
    for (const Meeting& meeting : relation.meetings[own.id]) {
      grain = std::gcd(grain, meeting.clear_us);
      grain = std::gcd(grain, meeting.clear_other);
      const std::int64_t fixed = relation.packing.blocks[meeting.other].fixed;
      if (fixed >= 0) {
        own.walls.emplace_back(fixed - meeting.clear_us, fixed + meeting.clear_other);
      } else {
        own.meetings.push_back({number[meeting.other], meeting.clear_other, meeting.clear_us});
      }
    }
    std::sort(own.walls.begin(), own.walls.end());
    std::sort(own.meetings.begin(), own.meetings.end(),
              [](const Meeting& a, const Meeting& b) { return a.other < b.other; });
  }
  grain = std::max<std::int64_t>(grain, 1);
  find_twins(blocks);
}

std::int64_t LockBlocks::lowest(std::size_t b, std::int64_t from) const {
  const LockBlock& block = blocks[b];
  std::int64_t offset = align_up(from, block.alignment);
  for (const auto& [below, above] : block.walls) {
    if (offset <= below) break;  // the same holds for all that follow
    if (offset < above) offset = align_up(above, block.alignment);
  }
  return offset;
}

std::int64_t LockBlocks::highest(std::size_t b, std::int64_t to) const {
  const LockBlock& block = blocks[b];
  for (;;) {
    if (to < 0) return -1;
    std::int64_t offset = to - to % block.alignment;
    for (const auto& [below, above] : block.walls) {
      if (offset > below && offset < above) offset = std::min(offset, below);
    }
    if (offset == to) return offset;
    to = offset;
  }
}

std::int64_t LockBlocks::peak(const std::vector<std::int64_t>& offsets) const {
  std::int64_t end = fixed_end;
  for (std::size_t b = 0; b < blocks.size(); ++b) end = std::max(end, offsets[b] + blocks[b].size);
  return end;
}

}  // namespace tessera::memory
