// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/solver/packing.h"

#include <algorithm>
#include <numeric>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/memory/solver/alias_groups.h"
#include "tessera/memory/solver/section_tree.h"

namespace tessera::memory {
namespace {

/// A birth or a death.
struct Event {
  std::int64_t time = 0;
  std::int32_t block = 0;
  bool is_birth = false;
};

/// Sections from the lifetimes of the blocks: a section ends at the first death after a birth.
[[nodiscard]] bool cut_into_sections(Array<Event>& events, Packing& packing) {
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    if (a.time != b.time) return a.time < b.time;
    return a.is_birth != b.is_birth ? b.is_birth : a.block < b.block;
  });
  bool has_births = false;
  std::int64_t last_birth = 0;
  for (const Event& event : events) {
    Block& block = packing.blocks[static_cast<std::size_t>(event.block)];
    if (event.is_birth) {
      block.from = packing.sections;
      last_birth = event.time;
      has_births = true;
      continue;
    }
    if (has_births) {
      if (!packing.moment.push(last_birth)) return false;
      ++packing.sections;
      has_births = false;
    }
    block.to = packing.sections;
  }
  return true;
}

/// Computes live, lower_bound and grain.
[[nodiscard]] bool add_up(Packing& packing) {
  const auto sections = static_cast<std::size_t>(packing.sections);
  Array<std::int64_t> rounded;
  if (!packing.live.assign(sections + 1, 0) || !rounded.assign(sections + 1, 0)) return false;
  // If every offset is a multiple of `step`, every block but the highest takes whole steps.
  std::int64_t step = 0;
  for (const Block& block : packing.blocks) step = std::gcd(step, block.alignment);
  std::int64_t most_padding = 0;
  std::int64_t grain = 0;
  for (const Block& block : packing.blocks) {
    const std::int64_t whole = align_up(block.size, step);
    most_padding = std::max(most_padding, whole - block.size);
    const auto from = static_cast<std::size_t>(block.from);
    const auto to = static_cast<std::size_t>(block.to);
    packing.live[from] += block.size;
    packing.live[to] -= block.size;
    rounded[from] += whole;
    rounded[to] -= whole;
    grain = std::gcd(grain, block.size);
    if (block.alignment > 1) grain = std::gcd(grain, block.alignment);
    if (block.fixed >= 0) {
      grain = std::gcd(grain, block.fixed);
      packing.lower_bound = std::max(packing.lower_bound, block.fixed + block.size);
    }
  }
  packing.grain = std::max<std::int64_t>(grain, 1);
  for (std::size_t s = 0; s < sections; ++s) {
    if (s > 0) {
      packing.live[s] += packing.live[s - 1];
      rounded[s] += rounded[s - 1];
    }
  }
  for (std::size_t s = 0; s < sections; ++s) {
    packing.live[s] = std::max(packing.live[s], rounded[s] - most_padding);
    packing.lower_bound = std::max(packing.lower_bound, packing.live[s]);
  }
  return packing.live.resize(sections);
}

/// Checks for two fixed blocks that overlap; the error names the buffers that fixed them.
Status check_fixed(const Packing& packing, const Array<std::int32_t>& fixed_by,
                   const Complaints& complaints) {
  Array<std::int32_t> fixed;
  for (std::size_t b = 0; b < packing.blocks.size(); ++b) {
    if (packing.blocks[b].fixed >= 0 && !fixed.push(static_cast<std::int32_t>(b))) {
      return out_of_memory();
    }
  }
  if (fixed.size() < 2) return ok_status();
  const auto block = [&](std::int32_t b) -> const Block& {
    return packing.blocks[static_cast<std::size_t>(b)];
  };
  std::sort(fixed.begin(), fixed.end(), [&](std::int32_t a, std::int32_t b) {
    return block(a).fixed != block(b).fixed ? block(a).fixed < block(b).fixed : a < b;
  });
  SectionTree tops;
  if (!tops.reset(packing.sections)) return out_of_memory();
  for (const std::int32_t b : fixed) {
    const Block& above = block(b);
    if (tops.highest(above.from, above.to) <= above.fixed) {
      tops.raise(above.from, above.to, above.fixed + above.size);
      continue;
    }
    for (const std::int32_t a : fixed) {
      const Block& below = block(a);
      if (a == b || below.from >= above.to || above.from >= below.to ||
          below.fixed + below.size <= above.fixed || above.fixed + above.size <= below.fixed) {
        continue;
      }
      const auto [first, second] =
          std::minmax(fixed_by[static_cast<std::size_t>(a)], fixed_by[static_cast<std::size_t>(b)]);
      return complaints.bad(
          static_cast<std::size_t>(second),
          cat("and ", complaints.name(static_cast<std::size_t>(first)),
              " are fixed on the same bytes [", std::max(above.fixed, below.fixed), ", ",
              std::min(above.fixed + above.size, below.fixed + below.size), ") at moment ",
              packing.moment[static_cast<std::size_t>(std::max(above.from, below.from))]),
          "fix them at disjoint offsets, or do not fix one of them");
    }
  }
  return ok_status();
}

}  // namespace

Result<Packing> pack(const Problem& problem, const std::vector<std::string>& names,
                     FixedBlocks fixed) {
  const Complaints complaints(names);
  const std::size_t count = problem.buffers.size();
  if (count > kMostBuffers) {
    return Error{ErrorCode::kTooLarge, cat(count, " buffers are more than can be planned"),
                 std::nullopt, cat("plan at most ", kMostBuffers, " together")};
  }
  AliasGroups aliases;
  TESSERA_CHECK_OK(join_aliases(problem, complaints, aliases));
  const Array<std::int32_t>& root = aliases.root;
  const Array<Group>& groups = aliases.groups;
  Packing packing;
  packing.delta = std::move(aliases.delta);
  if (!packing.block_of.assign(count, -1)) return out_of_memory();
  Array<Event> events;
  Array<std::int32_t> fixed_by;
  Checked bytes(0);
  for (std::size_t i = 0; i < count; ++i) {
    const Group& group = groups[i];
    if (root[i] != static_cast<std::int32_t>(i)) continue;
    if (group.bytes == 0) continue;
    bytes += Checked(group.bytes) + (group.alignment - 1);
    if (bytes.saturated() > kMostBytes) return complaints.too_many_bytes(i);
    const auto block = static_cast<std::int32_t>(packing.blocks.size());
    packing.block_of[i] = block;
    if (!packing.blocks.push({0, 0, group.bytes, group.alignment, group.fixed, group.hint}) ||
        !fixed_by.push(group.fixed_by) || !events.push({group.lower, block, true}) ||
        !events.push({group.upper, block, false})) {
      return out_of_memory();
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto r = static_cast<std::size_t>(root[i]);
    packing.block_of[i] = packing.block_of[r];
    if (groups[r].bytes == 0 && groups[r].fixed > 0) packing.delta[i] += groups[r].fixed;
  }
  if (!cut_into_sections(events, packing) || !add_up(packing)) return out_of_memory();
  if (fixed == FixedBlocks::kMustLieApart) {
    TESSERA_CHECK_OK(check_fixed(packing, fixed_by, complaints));
  }
  return packing;
}

bool spread(const Packing& packing, const Array<std::int64_t>& block_offsets,
            Array<std::int64_t>& buffer_offsets) {
  const std::size_t count = packing.block_of.size();
  if (!buffer_offsets.assign(count, 0)) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t block = packing.block_of[i];
    buffer_offsets[i] = packing.delta[i];
    if (block >= 0) buffer_offsets[i] += block_offsets[static_cast<std::size_t>(block)];
  }
  return true;
}

std::int64_t peak_of(const Packing& packing, const Array<std::int64_t>& block_offsets) {
  std::int64_t peak = 0;
  for (std::size_t b = 0; b < packing.blocks.size(); ++b) {
    peak = std::max(peak, block_offsets[b] + packing.blocks[b].size);
  }
  return peak;
}

}  // namespace tessera::memory
