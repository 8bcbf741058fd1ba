// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/solver/corners.h"

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
  // With room below it, the block would rest on something else.
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

/// The lowest offset that a waiting block which overlaps the niche may have if it does not rest on
/// a waiting block: on what lies under it, rounded up to its alignment, or above a wall that it
/// crosses. kNever for a block that would lie below the floor, where no block is placed any more.
/// Offsets above `known` are not of interest.
std::int64_t CornerView::direct_offset(const Block& block, const Niche& niche, std::int64_t left,
                                       std::int64_t right, std::int64_t known) const {
  if (block.fixed >= 0) return block.fixed;
  if (block.from >= niche.from && block.to <= niche.to) {
    std::int64_t support = 0;
    for (std::int32_t s = block.from; s < block.to; ++s) {
      support = std::max(support, state_.top(s));
    }
    const std::int64_t offset = align_up(support, block.alignment);
    return offset >= niche.floor ? offset : kNever;
  }
  std::int64_t offset = niche.floor;
  if (block.from < niche.from) offset = std::max(offset, left);
  if (block.to > niche.to) offset = std::max(offset, right);
  for (std::int32_t s = block.from; s < block.to && offset < known; ++s) {
    offset = std::max(offset, state_.floor(s));
  }
  return align_up(offset, block.alignment);
}

/// The lowest top of a waiting block beside the section, on which a block over the section may
/// rest.
/// Stops at the first that is at most `enough`.
std::int64_t CornerView::lowest_top(const Corner& corner, std::int64_t left, std::int64_t right,
                                    std::int64_t enough) const {
  const Niche& niche = corner.niche;
  std::int64_t lowest = kNever;
  const auto consider = [&](std::int32_t b) {
    const Block& block = state_.block(b);
    if (!state_.waits(b) || (block.from <= corner.section && corner.section < block.to)) return;
    if (niche.floor + block.size >= lowest) return;
    const std::int64_t offset = direct_offset(block, niche, left, right, lowest);
    lowest = std::min(lowest, offset + block.size);
  };
  for (std::int32_t s = niche.from; s < niche.to && lowest > enough; ++s) {
    for (const std::int32_t b : state_.beginning(s)) consider(b);
  }
  if (corner.section != niche.from && lowest > enough) {
    for (const std::int32_t b : state_.through(niche.from)) {
      if (state_.block(b).from < niche.from) consider(b);
    }
  }
  return lowest;
}

/// The lowest offset above the floor that a waiting block may have over the corner's section if
/// none is placed at the floor. Stops at the first that is at most `enough`.
std::int64_t CornerView::next_floor(const Corner& corner, std::int32_t low, std::int32_t high,
                                    std::int64_t enough) const {
  const Niche& niche = corner.niche;
  const std::int64_t left = niche.from > low ? state_.floor(niche.from - 1) : kNever;
  const std::int64_t right = niche.to < high ? state_.floor(niche.to) : kNever;
  std::int64_t next = kNever;
  bool may_rest_on_another = false;
  for (const std::int32_t b : state_.through(corner.section)) {
    if (!state_.waits(b)) continue;
    const Block& block = state_.block(b);
    const std::int64_t offset = direct_offset(block, niche, left, right, next);
    may_rest_on_another |= block.fixed < 0;
    if (offset > niche.floor) next = std::min(next, offset);
    if (next <= enough) return next;
  }
  if (!may_rest_on_another) return next;
  return std::min(next, lowest_top(corner, left, right, enough));
}

std::int64_t CornerView::rise(const Corner& corner, std::int32_t low, std::int32_t high) const {
  return next_floor(corner, low, high, corner.niche.floor + 1);
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
  const std::int64_t most = niche.floor + room;
  corner.can_rise = next_floor(corner, low, high, most) <= most;
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
