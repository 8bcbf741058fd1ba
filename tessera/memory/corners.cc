// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/corners.h"

#include <algorithm>

namespace tessera::memory {
namespace {

/// Above every offset, and small enough to add sizes to.
constexpr std::int64_t kNever = INT64_MAX / 2;

}  // namespace

bool CornerView::fits(std::int32_t b, std::int64_t floor) const {
  const Block& block = state_.block(b);
  if (block.fixed >= 0) return block.fixed == floor;
  if (floor % block.alignment != 0 || floor + block.size > capacity_) return false;
  std::int64_t support = 0;
  for (std::int32_t s = block.from; s < block.to; ++s) {
    if (floor + block.size > state_.ceiling(s)) return false;
    support = std::max(support, state_.top(s));
  }
  // With room below it the block would rest on something else.
  return !techniques_.canonical_order || align_up(support, block.alignment) == floor;
}

bool CornerView::has_earlier_twin(std::int32_t b, std::int32_t section, bool is_left) const {
  const Block& block = state_.block(b);
  for (const std::int32_t other : is_left ? state_.beginning(section) : state_.ending(section)) {
    if (other >= b) return false;
    const Block& twin = state_.block(other);
    if (state_.waits(other) && twin.from == block.from && twin.to == block.to &&
        twin.size == block.size && twin.alignment == block.alignment && twin.fixed < 0) {
      return true;
    }
  }
  return false;
}

template <typename Visit>
void CornerView::each_candidate(std::int32_t section, const Niche& niche, bool is_left,
                                Visit visit) const {
  for (const std::int32_t b : is_left ? state_.beginning(section) : state_.ending(section)) {
    if (!state_.waits(b)) continue;
    const Block& block = state_.block(b);
    if (block.from < niche.from || block.to > niche.to || !fits(b, niche.floor)) continue;
    if (techniques_.symmetry && block.fixed < 0 && has_earlier_twin(b, section, is_left)) continue;
    if (!visit(b)) return;
  }
}

std::int64_t CornerView::slack(std::int32_t section) const {
  const std::int64_t room = std::min(capacity_, kNever) - state_.floor(section);
  return techniques_.section_inference ? room - state_.waiting_bytes(section) : room;
}

std::int64_t CornerView::lowest_top(std::int32_t section, const Niche& niche, std::int64_t left,
                                    std::int64_t right) const {
  std::int64_t lowest = kNever;
  const auto consider = [&](std::int32_t b) {
    const Block& block = state_.block(b);
    if (!state_.waits(b) || (block.from <= section && section < block.to)) return;
    std::int64_t offset = niche.floor;
    if (block.from < niche.from) offset = std::max(offset, left);
    if (block.to > niche.to) offset = std::max(offset, right);
    lowest = std::min(lowest, std::max(offset, block.fixed) + block.size);
  };
  for (std::int32_t s = niche.from; s < niche.to; ++s) {
    for (const std::int32_t b : state_.beginning(s)) consider(b);
  }
  if (section != niche.from) {
    for (const std::int32_t b : state_.through(niche.from)) {
      if (state_.block(b).from < niche.from) consider(b);
    }
  }
  return lowest;
}

std::int64_t CornerView::next_floor(std::int32_t section, const Niche& niche, std::int32_t low,
                                    std::int32_t high, std::int64_t most) const {
  const std::int64_t left = niche.from > low ? state_.floor(niche.from - 1) : kNever;
  const std::int64_t right = niche.to < high ? state_.floor(niche.to) : kNever;
  std::int64_t next = most + 1;
  std::int64_t alignment_inside = 0;  // the least of those who have to rest on another block
  for (const std::int32_t b : state_.through(section)) {
    if (!state_.waits(b)) continue;
    const Block& block = state_.block(b);
    if (block.fixed >= 0) {
      next = std::min(next, block.fixed);
      continue;
    }
    const bool is_inside = block.from >= niche.from && block.to <= niche.to;
    if (is_inside && niche.floor % block.alignment == 0) {
      alignment_inside =
          alignment_inside == 0 ? block.alignment : std::min(alignment_inside, block.alignment);
      continue;
    }
    std::int64_t offset = niche.floor;
    if (block.from < niche.from) offset = std::max(offset, left);
    if (block.to > niche.to) offset = std::max(offset, right);
    for (std::int32_t s = block.from; s < block.to && offset < next; ++s) {
      offset = std::max(offset, state_.floor(s));
    }
    next = std::min(next, align_up(offset, block.alignment));
  }
  if (alignment_inside > 0 && next > niche.floor + 1) {
    next = std::min(next, lowest_top(section, niche, left, right));
  }
  return next;
}

Corner CornerView::look(const Niche& niche, bool is_left, std::int32_t low,
                        std::int32_t high) const {
  Corner corner;
  corner.section = is_left ? niche.from : niche.to - 1;
  corner.niche = niche;
  corner.is_left = is_left;
  each_candidate(corner.section, niche, is_left, [&](std::int32_t) {
    ++corner.candidates;
    return true;
  });
  const std::int64_t room = slack(corner.section);
  if (room <= 0 || state_.ceiling(corner.section) <= niche.floor) return corner;
  corner.rise = next_floor(corner.section, niche, low, high, niche.floor + room);
  corner.can_rise = corner.rise > niche.floor && corner.rise <= niche.floor + room;
  return corner;
}

bool CornerView::collect(const Corner& corner, Array<std::int32_t>& blocks) const {
  bool has_memory = true;
  each_candidate(corner.section, corner.niche, corner.is_left, [&](std::int32_t b) {
    has_memory = blocks.push(b);
    return has_memory;
  });
  return has_memory;
}

std::int32_t CornerView::only(const Corner& corner) const {
  std::int32_t found = -1;
  each_candidate(corner.section, corner.niche, corner.is_left, [&](std::int32_t b) {
    found = b;
    return false;
  });
  return found;
}

bool CornerView::leaves_room(std::int32_t section) const {
  const auto is_hole = [&](std::int32_t s) { return state_.top(s) < state_.floor(s); };
  std::int32_t from = section;
  std::int32_t to = section + 1;
  while (from > 0 && is_hole(from - 1)) --from;
  while (to < state_.sections() && is_hole(to)) ++to;
  for (const std::int32_t b : state_.through(section)) {
    const Block& block = state_.block(b);
    if (!state_.waits(b) || block.fixed >= 0 || block.from < from || block.to > to) continue;
    std::int64_t bottom = 0;
    std::int64_t top = kNever;
    for (std::int32_t s = block.from; s < block.to; ++s) {
      bottom = std::max(bottom, state_.top(s));
      top = std::min(top, state_.floor(s));
    }
    if (align_up(bottom, block.alignment) + block.size <= top) return true;
  }
  return false;
}

}  // namespace tessera::memory
