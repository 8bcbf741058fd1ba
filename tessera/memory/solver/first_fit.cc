// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/solver/first_fit.h"

#include <algorithm>
#include <utility>

namespace tessera::memory {

bool FirstFit::build(const Packing& packing) {
  packing_ = &packing;
  return obstacles_.build(packing);
}

bool FirstFit::lowest(std::int32_t block, std::span<const std::int64_t> offsets,
                      std::int64_t& offset) {
  const Block& put = packing_->blocks[static_cast<std::size_t>(block)];
  if (!obstacles_.find(block) || !taken_.reserve(obstacles_.count())) return false;
  taken_.clear();
  obstacles_.each(offsets, [this](std::int32_t, std::int64_t from, std::int64_t to) {
    (void)taken_.push({from, to});  // there is room
  });
  std::sort(taken_.begin(), taken_.end(), [](const Range& a, const Range& b) {
    return a.from != b.from ? a.from < b.from : a.to < b.to;
  });
  offset = 0;
  for (const Range& range : taken_) {
    if (range.from >= offset + put.size) break;
    offset = std::max(offset, align_up(range.to, put.alignment));
  }
  return true;
}

bool FirstFit::in_the_way(std::int32_t block, std::span<const std::int64_t> offsets,
                          Array<std::int32_t>& found) {
  const Block& put = packing_->blocks[static_cast<std::size_t>(block)];
  const std::int64_t from = offsets[static_cast<std::size_t>(block)];
  if (!obstacles_.find(block) || !found.reserve(obstacles_.count())) return false;
  found.clear();
  obstacles_.each(offsets, [&](std::int32_t other, std::int64_t low, std::int64_t high) {
    if (low < from + put.size && from < high) (void)found.push(other);  // there is room
  });
  if (packing_->has_gaps()) {  // several strips of one block may be in the way
    std::sort(found.begin(), found.end());
    found.shrink(static_cast<std::size_t>(std::unique(found.begin(), found.end()) - found.begin()));
  }
  return true;
}

bool FirstFit::follow_hints(std::int64_t peak, std::chrono::steady_clock::time_point deadline,
                            std::span<std::int64_t> offsets) {
  Array<std::int32_t> others;
  for (std::size_t i = 0; i < packing_->blocks.size(); ++i) {
    const Block& block = packing_->blocks[i];
    if (block.hint < 0 || block.fixed >= 0 || offsets[i] == block.hint) continue;
    if (block.hint % block.alignment != 0 || block.hint > peak - block.size) continue;
    if (std::chrono::steady_clock::now() >= deadline) return true;
    const std::int64_t before = std::exchange(offsets[i], block.hint);
    if (!in_the_way(static_cast<std::int32_t>(i), offsets, others)) {
      offsets[i] = before;
      return false;
    }
    if (!others.empty()) offsets[i] = before;
  }
  return true;
}

}  // namespace tessera::memory
