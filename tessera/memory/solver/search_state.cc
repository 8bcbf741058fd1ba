// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/solver/search_state.h"

#include <algorithm>

#include "tessera/base/mixing.h"

namespace tessera::memory {

template <typename Range>
bool SearchState::fill(Lists& lists, const Range& range_of) {
  const auto sections = static_cast<std::size_t>(sections_);
  if (!lists.first.assign(sections + 2, 0)) return false;
  for (const Block& block : blocks_) {
    const auto [from, to] = range_of(block);
    for (std::int32_t s = from; s < to; ++s) ++lists.first[static_cast<std::size_t>(s) + 2];
  }
  for (std::size_t s = 0; s < sections; ++s) lists.first[s + 2] += lists.first[s + 1];
  if (!lists.items.assign(static_cast<std::size_t>(lists.first[sections + 1]), 0)) return false;
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    const auto [from, to] = range_of(blocks_[b]);
    for (std::int32_t s = from; s < to; ++s) {
      std::int32_t& next = lists.first[static_cast<std::size_t>(s) + 1];
      lists.items[static_cast<std::size_t>(next++)] = static_cast<std::int32_t>(b);
    }
  }
  return true;
}

bool SearchState::reset(const Packing& packing) {
  using Range = std::pair<std::int32_t, std::int32_t>;
  sections_ = packing.sections;
  blocks_ = packing.blocks;
  const auto sections = static_cast<std::size_t>(sections_);
  trail_.clear();
  if (!floor_.assign(sections, 0) || !top_.assign(sections, 0) || !bytes_.assign(sections, 0) ||
      !ceiling_.assign(sections, INT64_MAX) || !count_.assign(sections, 0) ||
      !crossing_.assign(sections + 1, 0) || !hash_.assign(sections, 0) ||
      !offset_.assign(blocks_.size(), -1) || !block_hash_.assign(blocks_.size(), 0) ||
      !fill(begin_, [](const Block& b) { return Range{b.from, b.from + 1}; }) ||
      !fill(end_, [](const Block& b) { return Range{b.to - 1, b.to}; }) ||
      !fill(through_, [](const Block& b) { return Range{b.from, b.to}; })) {
    return false;
  }
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    block_hash_[b] = mixed(b + 1);
    count_in(static_cast<std::int32_t>(b), 1);
    const Block& block = blocks_[b];
    if (block.fixed < 0) continue;
    for (std::int32_t s = block.from; s < block.to; ++s) {
      std::int64_t& ceiling = ceiling_[static_cast<std::size_t>(s)];
      ceiling = std::min(ceiling, block.fixed);
    }
  }
  return true;
}

void SearchState::count_in(std::int32_t b, std::int32_t sign) {
  const Block& block = this->block(b);
  hash_[static_cast<std::size_t>(block.from)] ^= block_hash_[static_cast<std::size_t>(b)];
  for (auto s = static_cast<std::size_t>(block.from); s < static_cast<std::size_t>(block.to); ++s) {
    bytes_[s] += sign * block.size;
    count_[s] += sign;
    crossing_[s] += sign;
  }
  crossing_[static_cast<std::size_t>(block.from)] -= sign;
}

void SearchState::lower_ceilings(std::int32_t b) {
  for (std::int32_t s = block(b).from; s < block(b).to; ++s) {
    std::int64_t lowest = INT64_MAX;
    for (const std::int32_t other : through(s)) {
      if (waits(other) && block(other).fixed >= 0) lowest = std::min(lowest, block(other).fixed);
    }
    ceiling_[static_cast<std::size_t>(s)] = lowest;
  }
}

bool SearchState::put_down(std::int32_t b, std::int64_t offset) {
  const Block& block = this->block(b);
  const auto changes = static_cast<std::size_t>(block.to - block.from) + 1;
  if (!trail_.reserve_more(changes)) return false;
  offset_[static_cast<std::size_t>(b)] = offset;
  count_in(b, -1);
  for (std::int32_t s = block.from; s < block.to; ++s) {
    const auto i = static_cast<std::size_t>(s);
    (void)trail_.push({floor_[i], top_[i], s, -1});
    floor_[i] = top_[i] = offset + block.size;
  }
  (void)trail_.push({0, 0, -1, b});
  if (block.fixed >= 0) lower_ceilings(b);
  return true;
}

bool SearchState::raise(std::int32_t s, std::int64_t floor) {
  const auto i = static_cast<std::size_t>(s);
  if (!trail_.push({floor_[i], top_[i], s, -1})) return false;
  floor_[i] = floor;
  return true;
}

void SearchState::undo(std::size_t mark) {
  for (; trail_.size() > mark; trail_.pop()) {
    const Change& change = trail_.back();
    if (change.block >= 0) {
      offset_[static_cast<std::size_t>(change.block)] = -1;
      count_in(change.block, 1);
      if (block(change.block).fixed >= 0) lower_ceilings(change.block);
      continue;
    }
    floor_[static_cast<std::size_t>(change.section)] = change.floor;
    top_[static_cast<std::size_t>(change.section)] = change.top;
  }
}

}  // namespace tessera::memory
