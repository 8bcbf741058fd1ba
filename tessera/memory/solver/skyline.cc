// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/solver/skyline.h"

#include <algorithm>

namespace tessera::memory {
namespace {

/// The first section at or after `section` whose height is not known yet; shortens the path to it.
std::int32_t next_open(Array<std::int32_t>& next, std::int32_t section) {
  std::int32_t* const link = next.data();
  while (link[section] != section) {
    link[section] = link[link[section]];
    section = link[section];
  }
  return section;
}

}  // namespace

bool Skyline::build(const Packing& packing, std::span<const std::int32_t> members,
                    std::span<const std::int64_t> offsets) {
  packing_ = &packing;
  const auto sections = static_cast<std::size_t>(packing.sections);
  if (!waiting_.build(packing.blocks, members)) return false;
  if (members.size() == packing.blocks.size()) return floor_.assign(sections, 0);
  Array<std::int64_t> others;
  if (!others.copy(offsets)) return false;
  for (const std::int32_t member : members) others[static_cast<std::size_t>(member)] = -1;
  return reached(packing, others, floor_);
}

bool Skyline::start() {
  stretches_.clear();
  lows_.clear();
  for (std::int32_t from = 0; from < packing_->sections;) {
    const std::int64_t height = floor_[static_cast<std::size_t>(from)];
    std::int32_t to = from + 1;
    while (to < packing_->sections && floor_[static_cast<std::size_t>(to)] == height) ++to;
    const auto stretch = static_cast<std::int32_t>(stretches_.size());
    if (!stretches_.push({from, to, stretch - 1, stretch + 1, height, false})) return false;
    if (!add_low(stretch)) return false;
    from = to;
  }
  if (!stretches_.empty()) stretches_.back().after = -1;
  return true;
}

namespace {
constexpr auto kHigher = [](const auto& a, const auto& b) {
  return a.height != b.height ? a.height > b.height : a.stretch > b.stretch;
};
}  // namespace

bool Skyline::add_low(std::int32_t stretch) {
  if (!lows_.push({at(stretch).height, stretch})) return false;
  std::push_heap(lows_.begin(), lows_.end(), kHigher);
  return true;
}

std::int32_t Skyline::take_lowest() {
  for (;;) {
    std::pop_heap(lows_.begin(), lows_.end(), kHigher);
    const Low low = lows_.back();
    lows_.pop();
    const Stretch& stretch = at(low.stretch);
    if (!stretch.gone && stretch.height == low.height) return low.stretch;
  }
}

void Skyline::swallow(std::int32_t stretch, std::int32_t neighbour) {
  Stretch& kept = at(stretch);
  Stretch& lost = at(neighbour);
  lost.gone = true;
  if (kept.before == neighbour) {
    kept.from = lost.from;
    kept.before = lost.before;
    if (kept.before >= 0) at(kept.before).after = stretch;
  } else {
    kept.to = lost.to;
    kept.after = lost.after;
    if (kept.after >= 0) at(kept.after).before = stretch;
  }
}

bool Skyline::fill_up(std::int32_t stretch) {
  Stretch& low = at(stretch);
  std::int64_t height = INT64_MAX;
  if (low.before >= 0) height = at(low.before).height;
  if (low.after >= 0) height = std::min(height, at(low.after).height);
  low.height = height;
  if (low.before >= 0 && at(low.before).height == height) swallow(stretch, low.before);
  if (low.after >= 0 && at(low.after).height == height) swallow(stretch, low.after);
  return add_low(stretch);
}

bool Skyline::cut_off(std::int32_t stretch, std::int32_t from, std::int32_t to) {
  const auto piece = static_cast<std::int32_t>(stretches_.size());
  if (!stretches_.push({from, to, -1, -1, at(stretch).height, false})) return false;
  Stretch& rest = at(stretch);
  if (from == rest.from) {
    rest.from = to;
    at(piece).before = rest.before;
    at(piece).after = stretch;
    if (rest.before >= 0) at(rest.before).after = piece;
    rest.before = piece;
  } else {
    rest.to = from;
    at(piece).after = rest.after;
    at(piece).before = stretch;
    if (rest.after >= 0) at(rest.after).before = piece;
    rest.after = piece;
  }
  return add_low(piece);
}

bool Skyline::put(std::int32_t stretch, const Block& block, std::int64_t top) {
  if (at(stretch).from < block.from && !cut_off(stretch, at(stretch).from, block.from)) {
    return false;
  }
  if (at(stretch).to > block.to && !cut_off(stretch, block.to, at(stretch).to)) return false;
  Stretch& raised = at(stretch);
  raised.height = top;
  if (raised.before >= 0 && at(raised.before).height == top) swallow(stretch, raised.before);
  if (raised.after >= 0 && at(raised.after).height == top) swallow(stretch, raised.after);
  return add_low(stretch);
}

bool Skyline::run(std::span<const std::int32_t> order, std::span<std::int64_t> offsets) {
  if (!start() || !waiting_.refill(order)) return false;
  for (std::size_t left = order.size(); left > 0;) {
    const std::int32_t lowest = take_lowest();
    const std::int32_t best = waiting_.best_within(at(lowest).from, at(lowest).to);
    if (best == WaitingBlocks::kNone) {
      if (!fill_up(lowest)) return false;
      continue;
    }
    const Block& block = packing_->blocks[static_cast<std::size_t>(best)];
    const std::int64_t offset = align_up(at(lowest).height, block.alignment);
    offsets[static_cast<std::size_t>(best)] = offset;
    waiting_.remove(best);
    --left;
    if (!put(lowest, block, offset + block.size)) return false;
  }
  return true;
}

bool reached(const Packing& packing, std::span<const std::int64_t> offsets,
             Array<std::int64_t>& heights) {
  const auto sections = static_cast<std::size_t>(packing.sections);
  struct Top {
    std::int64_t height;
    std::int32_t block;
  };
  Array<Top> tops;
  Array<std::int32_t> next;
  if (!heights.assign(sections, 0) || !tops.reserve(packing.blocks.size()) ||
      !next.resize(sections + 1)) {
    return false;
  }
  for (std::size_t i = 0; i < packing.blocks.size(); ++i) {
    if (offsets[i] < 0) continue;
    if (!tops.push({offsets[i] + packing.blocks[i].size, static_cast<std::int32_t>(i)})) {
      return false;
    }
  }
  std::sort(tops.begin(), tops.end(), [](const Top& a, const Top& b) {
    return a.height != b.height ? a.height > b.height : a.block < b.block;
  });
  // From the highest down, each section is written once, by the first block that covers it.
  for (std::size_t s = 0; s <= sections; ++s) next[s] = static_cast<std::int32_t>(s);
  for (const Top& top : tops) {
    const Block& block = packing.blocks[static_cast<std::size_t>(top.block)];
    for (std::int32_t s = next_open(next, block.from); s < block.to; s = next_open(next, s)) {
      heights[static_cast<std::size_t>(s)] = top.height;
      next[static_cast<std::size_t>(s)] = s + 1;
    }
  }
  return true;
}

}  // namespace tessera::memory
