// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/solver/ring.h"

#include <algorithm>

#include "tessera/memory/solver/first_fit.h"

namespace tessera::memory {

bool Ring::build(const Packing& packing) {
  packing_ = &packing;
  const std::size_t count = packing.blocks.size();
  if (!births_.resize(count) || !deaths_.resize(count)) return false;
  for (std::size_t i = 0; i < count; ++i) births_[i] = deaths_[i] = static_cast<std::int32_t>(i);
  const auto block = [&](std::int32_t i) -> const Block& {
    return packing.blocks[static_cast<std::size_t>(i)];
  };
  // Of blocks that are born together, the one that dies first comes first.
  std::sort(births_.begin(), births_.end(), [&](std::int32_t a, std::int32_t b) {
    if (block(a).from != block(b).from) return block(a).from < block(b).from;
    return block(a).to != block(b).to ? block(a).to < block(b).to : a < b;
  });
  std::sort(deaths_.begin(), deaths_.end(), [&](std::int32_t a, std::int32_t b) {
    return block(a).to != block(b).to ? block(a).to < block(b).to : a < b;
  });
  return true;
}

/// The first gap with room above `offset`.
std::size_t Ring::first_above(std::int64_t offset) const {
  const Gap* const found =
      std::upper_bound(gaps_.begin(), gaps_.end(), offset,
                       [](std::int64_t value, const Gap& gap) { return value < gap.to; });
  return static_cast<std::size_t>(found - gaps_.begin());
}

/// Replaces `count` gaps by `low` and `high`, leaving out empty ones.
bool Ring::replace(std::size_t at, std::size_t count, Gap low, Gap high) {
  Gap fresh[2];
  std::size_t news = 0;
  for (const Gap& gap : {low, high}) {
    if (gap.from < gap.to) fresh[news++] = gap;
  }
  const std::size_t before = gaps_.size();
  if (news != count) steps_left_ -= static_cast<std::int64_t>((before - at) / 8);
  if (news > count) {
    for (std::size_t i = count; i < news; ++i) {
      if (!gaps_.push({})) return false;
    }
    std::move_backward(gaps_.begin() + at + count, gaps_.begin() + before, gaps_.end());
  } else if (news < count) {
    std::move(gaps_.begin() + at + count, gaps_.begin() + before, gaps_.begin() + at + news);
    for (std::size_t i = news; i < count; ++i) gaps_.pop();
  }
  std::copy(fresh, fresh + news, gaps_.begin() + at);
  return true;
}

bool Ring::give_back(Gap freed) {
  std::size_t at = first_above(freed.from);  // lies above the freed range
  std::size_t joined = 0;
  if (at < gaps_.size() && gaps_[at].from == freed.to) {
    freed.to = gaps_[at].to;
    ++joined;
  }
  if (at > 0 && gaps_[at - 1].to == freed.from) {
    freed.from = gaps_[--at].from;
    ++joined;
  }
  return replace(at, joined, freed, {});
}

/// The offset stays unset when there is no gap for the block.
bool Ring::take(const Block& block, std::int64_t& offset) {
  offset = kNowhere;
  const std::size_t start = first_above(next_);
  for (std::size_t i = 0; i < gaps_.size() && steps_left_ > 0; ++i) {
    --steps_left_;
    const std::size_t at = start + i < gaps_.size() ? start + i : start + i - gaps_.size();
    const Gap gap = gaps_[at];
    const std::int64_t place = align_up(gap.from, block.alignment);
    if (place > gap.to - block.size) continue;
    offset = place;
    next_ = place + block.size;
    return replace(at, 1, {gap.from, place}, {next_, gap.to});
  }
  return true;
}

bool Ring::run(std::int64_t ceiling, Array<std::int64_t>& offsets, bool& fits) {
  constexpr std::int64_t kStepsABlock = 64;
  const std::size_t count = births_.size();
  steps_left_ = kStepsABlock * static_cast<std::int64_t>(count);
  next_ = 0;
  fits = false;
  gaps_.clear();
  if (!offsets.assign(count, kNowhere) || !gaps_.push({0, ceiling})) return false;
  std::size_t died = 0;
  for (const std::int32_t born : births_) {
    const Block& block = packing_->blocks[static_cast<std::size_t>(born)];
    for (; died < count; ++died) {
      const auto dead = static_cast<std::size_t>(deaths_[died]);
      const Block& gone = packing_->blocks[dead];
      if (gone.to > block.from) break;
      if (!give_back({offsets[dead], offsets[dead] + gone.size})) return false;
    }
    std::int64_t& offset = offsets[static_cast<std::size_t>(born)];
    if (!take(block, offset)) return false;
    if (offset == kNowhere || steps_left_ <= 0) return true;
  }
  fits = true;
  return true;
}

}  // namespace tessera::memory
