// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/solver/obstacles.h"

namespace tessera::memory {

bool Obstacles::build(const Packing& packing) {
  packing_ = &packing;
  if (!packing.has_gaps()) return overlaps_.build(packing.blocks);
  if (!block_of_.resize(packing.strips.size())) return false;
  for (std::size_t b = 0; b < packing.blocks.size(); ++b) {
    for (std::int32_t s = packing.first_strip[b]; s < packing.first_strip[b + 1]; ++s) {
      block_of_[static_cast<std::size_t>(s)] = static_cast<std::int32_t>(b);
    }
  }
  return overlaps_.build(packing.strips);
}

bool Obstacles::find(std::int32_t block) {
  block_ = block;
  const auto own = static_cast<std::size_t>(block);
  const Block& put = packing_->blocks[own];
  if (!packing_->has_gaps()) return overlaps_.meet(put.from, put.to, met_);
  near_.clear();
  for (const Strip& strip : packing_->strips_of(own)) {
    if (!overlaps_.meet(strip.from, strip.to, met_)) return false;
    for (const std::int32_t met : met_) {
      const auto s = static_cast<std::size_t>(met);
      if (block_of_[s] == block) continue;
      const Strip& other = packing_->strips[s];
      const std::int64_t from = other.low + (put.size - strip.high);
      if (!near_.push({block_of_[s], from, other.high - strip.low})) return false;
    }
  }
  return true;
}

}  // namespace tessera::memory
