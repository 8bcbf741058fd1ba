// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/lock_step/meetings.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tessera/base/checked.h"

namespace tessera::memory {
namespace {

constexpr std::int64_t kMaxPairs = std::int64_t{1} << 22;
constexpr std::int64_t kMaxComparisons = std::int64_t{1} << 31;

/// Pairs of blocks that share a section, each once; false when there are more than kMaxPairs.
template <typename Visit>
bool for_each_pair(const Packing& packing, const Visit& visit) {
  std::vector<std::uint32_t> order(packing.blocks.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(packing.blocks[a].from, a) < std::pair(packing.blocks[b].from, b);
  });
  std::vector<std::uint32_t> alive;
  std::int64_t pairs = 0;
  for (const std::uint32_t b : order) {
    std::erase_if(alive,
                  [&](std::uint32_t a) { return packing.blocks[a].to <= packing.blocks[b].from; });
    pairs += static_cast<std::int64_t>(alive.size());
    if (pairs > kMaxPairs) return false;
    for (const std::uint32_t a : alive) visit(a, b);
    alive.push_back(b);
  }
  return true;
}

/// sizes of blocks by class: [block · classes + class].
std::vector<std::int64_t> block_sizes(const Packing& packing, const ClassSizes& sizes) {
  const std::size_t classes = sizes.size();
  std::vector<std::int64_t> out(packing.blocks.size() * classes, 0);
  for (std::size_t i = 0; i < packing.block_of.size(); ++i) {
    if (packing.block_of[i] < 0) continue;
    std::int64_t* own = out.data() + static_cast<std::size_t>(packing.block_of[i]) * classes;
    for (std::size_t c = 0; c < classes; ++c) {
      if (sizes[c][i] > 0) own[c] = std::max(own[c], packing.delta[i] + sizes[c][i]);
    }
  }
  return out;
}

void find_components(Relation& relation) {
  const std::size_t blocks = relation.meetings.size();
  std::vector<bool> seen(blocks, false);
  for (std::uint32_t start = 0; start < blocks; ++start) {
    if (seen[start]) continue;
    seen[start] = true;
    std::vector<std::uint32_t> component = {start};
    for (std::size_t i = 0; i < component.size(); ++i) {
      for (const Meeting& meeting : relation.meetings[component[i]]) {
        if (seen[meeting.other]) continue;
        seen[meeting.other] = true;
        component.push_back(meeting.other);
      }
    }
    std::sort(component.begin(), component.end());
    relation.components.push_back(std::move(component));
  }
}

}  // namespace

std::optional<Relation> relate(const Packing& packing, const ClassSizes& sizes) {
  const auto classes = static_cast<std::int64_t>(sizes.size());
  std::int64_t pairs = 0;
  if (!for_each_pair(packing, [&](std::uint32_t, std::uint32_t) { ++pairs; })) return std::nullopt;
  if ((Checked(pairs) * classes).saturated() > kMaxComparisons) return std::nullopt;
  Relation out{packing, {}, {}, sizes.size(), block_sizes(packing, sizes)};
  const std::vector<std::int64_t>& by_class = out.sizes;
  out.meetings.resize(packing.blocks.size());
  for_each_pair(packing, [&](std::uint32_t a, std::uint32_t b) {
    const std::int64_t* of_a = by_class.data() + a * sizes.size();
    const std::int64_t* of_b = by_class.data() + b * sizes.size();
    std::int64_t clear_a = 0;
    std::int64_t clear_b = 0;
    for (std::size_t c = 0; c < sizes.size(); ++c) {
      if (of_a[c] == 0 || of_b[c] == 0) continue;
      clear_a = std::max(clear_a, of_a[c]);
      clear_b = std::max(clear_b, of_b[c]);
    }
    if (clear_a == 0) return;  // no place has both
    out.meetings[a].push_back({b, clear_b, clear_a});
    out.meetings[b].push_back({a, clear_a, clear_b});
  });
  find_components(out);
  return out;
}

}  // namespace tessera::memory
