// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/lock_step/lock_pairs.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "tessera/base/checked.h"

namespace tessera::memory {
namespace {

struct Range {
  std::int64_t from = 0;
  std::int64_t to = 0;
};

/// The lowest multiple of the alignment from which `size` bytes are outside all taken ranges.
std::int64_t lowest_free(std::vector<Range>& taken, std::int64_t size, std::int64_t alignment) {
  std::ranges::sort(taken, {}, &Range::from);
  std::int64_t at = 0;
  for (const Range& range : taken) {
    if (at + size <= range.from) break;
    at = std::max(at, ceil_div(range.to, alignment) * alignment);
  }
  return at;
}

LockPairs first_fit(std::span<const Buffer> buffers, const Meets& meets,
                    const std::vector<std::size_t>& order) {
  LockPairs plan{std::vector<std::int64_t>(buffers.size()), 0};
  std::vector<std::size_t> placed;
  std::vector<Range> taken;
  for (const std::size_t i : order) {
    const Buffer& buffer = buffers[i];
    if (buffer.size == 0) continue;
    taken.clear();
    for (const std::size_t other : placed) {
      const Buffer& before = buffers[other];
      const bool together = before.lower < buffer.upper && buffer.lower < before.upper;
      if (!together || !meets(i, other)) continue;
      taken.push_back({plan.offsets[other], plan.offsets[other] + before.size});
    }
    plan.offsets[i] = lowest_free(taken, buffer.size, buffer.alignment);
    plan.peak = std::max(plan.peak, plan.offsets[i] + buffer.size);
    placed.push_back(i);
  }
  return plan;
}

/// The buffers in orders that often give low plans, each from its first to its last.
std::vector<std::vector<std::size_t>> orders_of(std::span<const Buffer> buffers) {
  std::vector<std::size_t> all(buffers.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const auto sorted = [&](auto key) {
    std::vector<std::size_t> order = all;
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
      return std::tuple_cat(key(buffers[a]), std::tuple(a)) <
             std::tuple_cat(key(buffers[b]), std::tuple(b));
    });
    return order;
  };
  const auto span = [](const Buffer& buffer) { return buffer.upper - buffer.lower; };
  return {
      sorted([&](const Buffer& b) { return std::tuple(-span(b), -b.size); }),
      sorted([&](const Buffer& b) { return std::tuple(-b.size, -span(b)); }),
      sorted([&](const Buffer& b) { return std::tuple(b.lower, -span(b)); }),
  };
}

}  // namespace

Result<LockPairs> lock_pairs(std::span<const Buffer> buffers, const Meets& meets,
                             std::optional<std::int64_t> capacity) {
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& buffer = buffers[i];
    if (!buffer.fixed && !buffer.alias && buffer.gaps.empty()) continue;
    const auto at = static_cast<std::int64_t>(i);
    return Error{ErrorCode::kNotSupported,
                 "buffers are planned pair by pair without aliases, gaps and fixed offsets",
                 Span{at, at + 1}};
  }
  Problem problem;
  problem.buffers.assign(buffers.begin(), buffers.end());
  TESSERA_CHECK_OK(check(problem));
  LockPairs best;
  bool is_first = true;
  for (const std::vector<std::size_t>& order : orders_of(buffers)) {
    LockPairs plan = first_fit(buffers, meets, order);
    if (is_first || plan.peak < best.peak) best = std::move(plan);
    is_first = false;
    if (capacity && best.peak <= *capacity) break;
  }
  return best;
}

}  // namespace tessera::memory
