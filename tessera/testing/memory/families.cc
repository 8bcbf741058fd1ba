// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/memory/families.h"

#include <algorithm>
#include <bitset>
#include <numeric>

namespace tessera::test {
namespace {

using memory::Buffer;
using memory::Gap;
using memory::Problem;

void add_member(Family& family, const Buffer& buffer, std::size_t index, std::int64_t delta) {
  family.members.push_back(index);
  family.deltas.push_back(delta);
  if (buffer.size > 0) family.size = std::max(family.size, delta + buffer.size);
  family.lower = std::min(family.lower, buffer.lower);
  family.upper = std::max(family.upper, buffer.upper);
  family.alignment = std::lcm(family.alignment, buffer.alignment);
  family.gaps.insert(family.gaps.end(), buffer.gaps.begin(), buffer.gaps.end());
  if (delta % buffer.alignment != 0) family.possible = false;
  if (buffer.fixed) {
    const std::int64_t start = *buffer.fixed - delta;
    if (start < 0 || (family.fixed && *family.fixed != start)) family.possible = false;
    family.fixed = start;
  }
}

using Bytes = std::bitset<static_cast<std::size_t>(kMostNaiveBytes)>;

/// Places one family after the other at every offset below a capacity; the fixed ones first, so
/// that those that overlap are found at once.
class EveryOffset {
 public:
  explicit EveryOffset(const std::vector<Family>& families)
      : families_(families), starts_(families.size()) {
    std::int64_t last = INT64_MIN;
    first_ = INT64_MAX;
    for (const Family& family : families) {
      first_ = std::min(first_, family.lower);
      last = std::max(last, family.upper);
    }
    taken_.resize(families.empty() ? 0 : static_cast<std::size_t>(last - first_));
    for (const bool is_fixed : {true, false}) {
      for (std::size_t f = 0; f < families.size(); ++f) {
        if (families[f].fixed.has_value() == is_fixed) order_.push_back(f);
      }
    }
    for (const Family& family : families) {
      std::vector<Bytes>& of_family = bytes_.emplace_back(taken_.size());
      for (std::size_t t = 0; t < taken_.size(); ++t) {
        const Family::Kept kept = family.kept_at(first_ + static_cast<std::int64_t>(t));
        for (std::int64_t byte = kept.from; byte < kept.to; ++byte) {
          of_family[t].set(static_cast<std::size_t>(byte));
        }
      }
    }
  }

  bool fits(std::int64_t capacity) { return place(0, capacity); }
  const std::vector<std::int64_t>& starts() const { return starts_; }

 private:
  bool place(std::size_t placed, std::int64_t capacity) {
    if (placed == families_.size()) return true;
    const std::size_t f = order_[placed];
    const Family& family = families_[f];
    if (family.size == 0) {  // it is in nobody's way
      starts_[f] = family.fixed.value_or(0);
      return place(placed + 1, capacity);
    }
    const std::int64_t highest = capacity - family.size;
    const std::int64_t last = std::min(highest, family.fixed.value_or(highest));
    for (std::int64_t start = family.fixed.value_or(0); start <= last; ++start) {
      if (start % family.alignment != 0) continue;
      starts_[f] = start;
      if (!is_free(f, start)) continue;
      flip(f, start);
      const bool found = place(placed + 1, capacity);
      flip(f, start);
      if (found) return true;
    }
    return false;
  }

  bool is_free(std::size_t f, std::int64_t start) const {
    for (std::size_t t = 0; t < taken_.size(); ++t) {
      if ((taken_[t] & (bytes_[f][t] << static_cast<std::size_t>(start))).any()) return false;
    }
    return true;
  }
  void flip(std::size_t f, std::int64_t start) {
    for (std::size_t t = 0; t < taken_.size(); ++t) {
      taken_[t] ^= bytes_[f][t] << static_cast<std::size_t>(start);
    }
  }

  const std::vector<Family>& families_;
  std::int64_t first_ = 0;
  std::vector<std::vector<Bytes>> bytes_;  // of each family at each moment, from its start
  std::vector<Bytes> taken_;
  std::vector<std::size_t> order_;
  std::vector<std::int64_t> starts_;
};

}  // namespace

Family::Kept Family::kept_at(std::int64_t moment) const {
  if (moment < lower || moment >= upper) return {};
  for (const Gap& gap : gaps) {
    if (gap.lower <= moment && moment < gap.upper) return {gap.kept_from, gap.kept_to};
  }
  return {0, size};
}

std::vector<Family> families_of(const Problem& problem) {
  std::vector<Family> families(problem.buffers.size());
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    std::int64_t delta = 0;
    std::size_t root = i;
    for (; problem.buffers[root].alias; root = problem.buffers[root].alias->of) {
      delta += problem.buffers[root].alias->delta;
    }
    add_member(families[root], problem.buffers[i], i, delta);
  }
  std::erase_if(families, [](const Family& family) { return family.members.empty(); });
  for (Family& family : families) {
    if (family.fixed && *family.fixed % family.alignment != 0) family.possible = false;
  }
  return families;
}

std::optional<std::vector<std::int64_t>> lowest_of_every_offset(
    const std::vector<Family>& families) {
  std::int64_t least = 0;
  for (const Family& family : families) {
    if (family.size > 0) least = std::max(least, family.fixed.value_or(0) + family.size);
  }
  if (least > kMostNaiveBytes) return std::nullopt;
  EveryOffset offsets(families);
  for (std::int64_t capacity = least; capacity <= kMostNaiveBytes; ++capacity) {
    if (offsets.fits(capacity)) return offsets.starts();
  }
  return std::nullopt;
}

}  // namespace tessera::test
