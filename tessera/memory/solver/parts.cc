// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/solver/parts.h"

#include <algorithm>

namespace tessera::memory {

bool parts_of(const Packing& packing, const Array<std::int64_t>& offsets, bool cut,
              Array<Part>& parts) {
  parts.clear();
  if (packing.sections == 0) return true;
  // The last section of the blocks that begin in a section, or before it.
  Array<std::int32_t> reach;
  Array<std::int32_t> part_of;
  const auto sections = static_cast<std::size_t>(packing.sections);
  if (!reach.assign(sections, 0) || !part_of.assign(sections, 0)) return false;
  for (const Block& block : packing.blocks) {
    std::int32_t& to = reach[static_cast<std::size_t>(block.from)];
    to = std::max(to, block.to);
  }
  std::int32_t end = 0;
  for (std::int32_t s = 0; s < packing.sections; ++s) {
    if (s == 0 || (cut && s >= end)) {
      if (!parts.push({s, s + 1})) return false;
    }
    end = std::max(end, reach[static_cast<std::size_t>(s)]);
    Part& part = parts.back();
    part.to = s + 1;
    part.proven_bound = std::max(part.proven_bound, packing.live[static_cast<std::size_t>(s)]);
    part_of[static_cast<std::size_t>(s)] = static_cast<std::int32_t>(parts.size()) - 1;
  }
  for (std::size_t b = 0; b < packing.blocks.size(); ++b) {
    const Block& block = packing.blocks[b];
    const auto section = static_cast<std::size_t>(block.from);
    Part& part = parts[static_cast<std::size_t>(part_of[section])];
    part.peak = std::max(part.peak, offsets[b] + block.size);
    part.proven_bound =
        std::max(part.proven_bound, std::max<std::int64_t>(block.fixed, 0) + block.size);
  }
  return true;
}

bool PartPacking::take(const Packing& whole, const Part& part) {
  packing = Packing{};
  blocks.clear();
  packing.sections = part.to - part.from;
  packing.lower_bound = part.proven_bound;
  packing.grain = whole.grain;
  for (std::size_t b = 0; b < whole.blocks.size(); ++b) {
    Block block = whole.blocks[b];
    if (block.from < part.from || block.to > part.to) continue;
    block.from -= part.from;
    block.to -= part.from;
    if (!packing.blocks.push(block) || !blocks.push(static_cast<std::int32_t>(b))) return false;
  }
  return !whole.has_gaps() || take_strips(whole, part);
}

bool PartPacking::take_strips(const Packing& whole, const Part& part) {
  for (const std::int32_t b : blocks) {
    if (!packing.first_strip.push(static_cast<std::int32_t>(packing.strips.size()))) return false;
    for (Strip strip : whole.strips_of(static_cast<std::size_t>(b))) {
      strip.from -= part.from;
      strip.to -= part.from;
      if (!packing.strips.push(strip)) return false;
    }
  }
  return packing.first_strip.push(static_cast<std::int32_t>(packing.strips.size()));
}

bool PartPacking::get(const Array<std::int64_t>& whole, Array<std::int64_t>& offsets) const {
  if (!offsets.resize(blocks.size())) return false;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    offsets[b] = whole[static_cast<std::size_t>(blocks[b])];
  }
  return true;
}

void PartPacking::put(const Array<std::int64_t>& offsets, Array<std::int64_t>& whole) const {
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    whole[static_cast<std::size_t>(blocks[b])] = offsets[b];
  }
}

}  // namespace tessera::memory
