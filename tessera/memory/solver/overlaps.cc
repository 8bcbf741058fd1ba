// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/solver/overlaps.h"

#include <algorithm>
#include <bit>

namespace tessera::memory {

template <typename Lived>
bool Overlaps::build_of(std::span<const Lived> all) {
  const std::size_t count = all.size();
  width_ = std::bit_ceil(std::max<std::size_t>(count, 1));
  if (!births_.resize(count) || !by_birth_.resize(count) || !last_death_.assign(2 * width_, -1)) {
    return false;
  }
  for (std::size_t i = 0; i < count; ++i) by_birth_[i] = static_cast<std::int32_t>(i);
  const Lived* const lived = all.data();
  std::sort(by_birth_.begin(), by_birth_.end(), [lived](std::int32_t a, std::int32_t b) {
    return lived[a].from != lived[b].from ? lived[a].from < lived[b].from : a < b;
  });
  for (std::size_t i = 0; i < count; ++i) {
    births_[i] = lived[by_birth_[i]].from;
    last_death_[width_ + i] = lived[by_birth_[i]].to;
  }
  for (std::size_t node = width_; node-- > 1;) {
    last_death_[node] = std::max(last_death_[2 * node], last_death_[2 * node + 1]);
  }
  return true;
}

bool Overlaps::build(const Array<Block>& blocks) { return build_of<Block>(blocks); }
bool Overlaps::build(const Array<Strip>& strips) { return build_of<Strip>(strips); }

void Overlaps::visit(std::size_t node, std::size_t low, std::size_t high, std::size_t end,
                     std::int32_t from, Array<std::int32_t>& found) const {
  if (low >= end || last_death_[node] <= from) return;
  if (high - low == 1) {
    (void)found.push(by_birth_[low]);  // there is room: see meet
    return;
  }
  const std::size_t middle = (low + high) / 2;
  visit(2 * node, low, middle, end, from, found);
  visit(2 * node + 1, middle, high, end, from, found);
}

bool Overlaps::meet(std::int32_t from, std::int32_t to, Array<std::int32_t>& found) const {
  found.clear();
  if (!found.reserve(by_birth_.size())) return false;
  const std::int32_t* const begin = births_.begin();
  const auto before =
      static_cast<std::size_t>(std::lower_bound(begin, births_.end(), from) - begin);
  const auto end =
      static_cast<std::size_t>(std::lower_bound(begin + before, births_.end(), to) - begin);
  visit(1, 0, width_, before, from, found);
  for (std::size_t i = before; i < end; ++i) (void)found.push(by_birth_[i]);
  return true;
}

}  // namespace tessera::memory
