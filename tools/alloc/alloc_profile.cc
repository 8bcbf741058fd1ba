// SPDX-License-Identifier: Apache-2.0
#include "tools/alloc/alloc_profile.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "tessera/memory/solver/packing.h"
#include "tessera/memory/solver/strips.h"

namespace tessera::tools {

Result<std::vector<PlacedBlock>> placed_blocks(const memory::Problem& problem,
                                               std::span<const std::int64_t> offsets) {
  TESSERA_TRY(const memory::Packing packing, memory::pack(problem));
  std::vector<PlacedBlock> blocks(packing.blocks.size(), PlacedBlock{INT64_MAX, INT64_MIN});
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    if (packing.block_of[i] < 0) continue;
    const auto block = static_cast<std::size_t>(packing.block_of[i]);
    PlacedBlock& held = blocks[block];
    if (held.size == 0) {
      held.buffer = i;
    } else {
      ++held.others;
    }
    held.lower = std::min(held.lower, problem.buffers[i].lower);
    held.upper = std::max(held.upper, problem.buffers[i].upper);
    held.offset = offsets[i] - packing.delta[i];
    held.size = packing.blocks[block].size;
  }
  if (!packing.has_gaps()) return blocks;
  std::vector<PlacedBlock> strips;
  for (const PlacedBlock& held : blocks) {
    const memory::Buffer& buffer = problem.buffers[held.buffer];
    if (buffer.gaps.empty()) strips.push_back(held);
    if (buffer.gaps.empty()) continue;
    memory::each_strip(
        buffer, [&](std::int64_t lower, std::int64_t upper, std::int64_t low, std::int64_t high) {
          strips.push_back({lower, upper, held.offset + low, high - low, held.buffer, 0});
          return true;
        });
  }
  return strips;
}

std::vector<TimeRange> time_ranges_of(std::span<const PlacedBlock> blocks) {
  std::vector<const PlacedBlock*> births;
  std::vector<const PlacedBlock*> deaths;
  for (const PlacedBlock& held : blocks) births.push_back(&held);
  deaths = births;
  std::sort(births.begin(), births.end(),
            [](const PlacedBlock* a, const PlacedBlock* b) { return a->lower < b->lower; });
  std::sort(deaths.begin(), deaths.end(),
            [](const PlacedBlock* a, const PlacedBlock* b) { return a->upper < b->upper; });
  std::priority_queue<std::pair<std::int64_t, std::int64_t>> tops;  // by top, with their end
  std::vector<TimeRange> ranges;
  TimeRange now;
  std::size_t born = 0;
  std::size_t dead = 0;
  while (dead < deaths.size()) {
    const bool is_birth = born < births.size() && births[born]->lower < deaths[dead]->upper;
    const std::int64_t time = is_birth ? births[born]->lower : deaths[dead]->upper;
    if (born + dead > 0 && now.from < time) {
      while (!tops.empty() && tops.top().second <= now.from) tops.pop();
      now.top = tops.empty() ? 0 : tops.top().first;
      now.to = time;
      ranges.push_back(now);
    }
    now.from = time;
    for (; born < births.size() && births[born]->lower == time; ++born) {
      now.live += births[born]->size;
      ++now.count;
      tops.emplace(births[born]->end(), births[born]->upper);
    }
    for (; dead < deaths.size() && deaths[dead]->upper == time; ++dead) {
      now.live -= deaths[dead]->size;
      --now.count;
    }
  }
  return ranges;
}

}  // namespace tessera::tools
