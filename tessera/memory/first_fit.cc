// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/first_fit.h"

#include <algorithm>

namespace tessera::memory {

bool FirstFit::build(const Packing& packing) {
  packing_ = &packing;
  return overlaps_.build(packing);
}

bool FirstFit::lowest(std::int32_t block, std::span<const std::int64_t> offsets,
                      std::int64_t& offset) {
  const Block& put = packing_->blocks[static_cast<std::size_t>(block)];
  if (!overlaps_.meet(put.from, put.to, met_) || !taken_.reserve(met_.size())) return false;
  taken_.clear();
  for (const std::int32_t other : met_) {
    const auto at = static_cast<std::size_t>(other);
    if (other == block || offsets[at] == kNowhere) continue;
    if (!taken_.push({offsets[at], offsets[at] + packing_->blocks[at].size})) return false;
  }
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

bool FirstFit::is_free(std::int32_t block, std::int64_t offset,
                       std::span<const std::int64_t> offsets, bool& free) {
  const Block& put = packing_->blocks[static_cast<std::size_t>(block)];
  if (!overlaps_.meet(put.from, put.to, met_)) return false;
  free = true;
  for (const std::int32_t other : met_) {
    const auto at = static_cast<std::size_t>(other);
    if (other == block || offsets[at] == kNowhere) continue;
    if (offsets[at] < offset + put.size && offset < offsets[at] + packing_->blocks[at].size) {
      free = false;
      return true;
    }
  }
  return true;
}

bool FirstFit::follow_hints(std::int64_t peak, std::span<std::int64_t> offsets) {
  for (std::size_t i = 0; i < packing_->blocks.size(); ++i) {
    const Block& block = packing_->blocks[i];
    if (block.hint < 0 || block.fixed >= 0 || offsets[i] == block.hint) continue;
    if (block.hint % block.alignment != 0 || block.hint > peak - block.size) continue;
    bool free = false;
    if (!is_free(static_cast<std::int32_t>(i), block.hint, offsets, free)) return false;
    if (free) offsets[i] = block.hint;
  }
  return true;
}

bool has_hints(const Packing& packing) {
  return std::any_of(packing.blocks.begin(), packing.blocks.end(),
                     [](const Block& block) { return block.hint >= 0 && block.fixed < 0; });
}

}  // namespace tessera::memory
