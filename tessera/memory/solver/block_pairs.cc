// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/solver/block_pairs.h"

#include <algorithm>

#include "tessera/memory/solver/obstacles.h"

namespace tessera::memory {
namespace {

/// Differences strictly between `above` and `below` are forbidden.
struct Forbidden {
  std::int32_t other = 0;
  std::int64_t above = 0;
  std::int64_t below = 0;
};

bool are_alike(const Packing& packing, std::size_t a, std::size_t b) {
  const Block& one = packing.blocks[a];
  const Block& two = packing.blocks[b];
  if (one.fixed >= 0 || two.fixed >= 0 || one.size != two.size || one.alignment != two.alignment ||
      one.from != two.from || one.to != two.to) {
    return false;
  }
  if (!packing.has_gaps()) return true;
  const std::span<const Strip> of_one = packing.strips_of(a);
  const std::span<const Strip> of_two = packing.strips_of(b);
  return std::equal(of_one.begin(), of_one.end(), of_two.begin(), of_two.end(),
                    [](const Strip& s, const Strip& t) {
                      return s.from == t.from && s.to == t.to && s.low == t.low && s.high == t.high;
                    });
}

}  // namespace

bool BlockPairs::build(const Packing& packing) {
  pairs.clear();
  sides.clear();
  Obstacles obstacles;
  Array<std::int64_t> origin;  // obstacles of blocks at 0 are differences
  Array<Forbidden> forbidden;
  if (!obstacles.build(packing) || !origin.assign(packing.blocks.size(), 0)) return false;
  for (std::size_t a = 0; a < packing.blocks.size(); ++a) {
    const auto own = static_cast<std::int32_t>(a);
    const std::int64_t size = packing.blocks[a].size;
    if (!obstacles.find(own) || !forbidden.reserve(obstacles.count())) return false;
    forbidden.clear();
    obstacles.each(origin, [&](std::int32_t b, std::int64_t from, std::int64_t to) {
      if (b > own) (void)forbidden.push({b, -to, size - from});  // there is room
    });
    std::sort(forbidden.begin(), forbidden.end(), [](const Forbidden& x, const Forbidden& y) {
      return x.other != y.other ? x.other < y.other : x.above < y.above;
    });
    std::int64_t from = -kFar;
    for (std::size_t i = 0; i < forbidden.size(); ++i) {
      const Forbidden& range = forbidden[i];
      const bool is_first = i == 0 || forbidden[i - 1].other != range.other;
      const bool is_last = i + 1 == forbidden.size() || forbidden[i + 1].other != range.other;
      if (is_first) {
        from = -kFar;
        const auto next = static_cast<std::int32_t>(sides.size());
        const auto b = static_cast<std::size_t>(range.other);
        if (!pairs.push({own, range.other, next, 0, are_alike(packing, a, b)})) return false;
      }
      if (range.above >= from) {  // allowed differences lie between the previous range and this
        if (!sides.push({from, range.above})) return false;
        ++pairs.back().sides;
      }
      from = std::max(from, range.below);
      if (!is_last) continue;
      if (!sides.push({from, kFar})) return false;
      ++pairs.back().sides;
    }
  }
  return true;
}

}  // namespace tessera::memory
