// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/solver/packing.h"

#include <algorithm>
#include <numeric>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/memory/solver/alias_groups.h"
#include "tessera/memory/solver/section_tree.h"
#include "tessera/memory/solver/strips.h"

namespace tessera::memory {
namespace {

/// A birth or a death of a block; with gaps, of a strip.
struct Event {
  std::int64_t time = 0;
  std::int32_t of = 0;
  bool is_birth = false;
};

/// Sections from the lifetimes of blocks or strips: a section ends at the first death after a
/// birth.
template <typename Lived>
[[nodiscard]] bool cut_into_sections(Array<Event>& events, Array<Lived>& all, Packing& packing) {
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    if (a.time != b.time) return a.time < b.time;
    return a.is_birth != b.is_birth ? b.is_birth : a.of < b.of;
  });
  bool has_births = false;
  std::int64_t last_birth = 0;
  for (const Event& event : events) {
    Lived& lived = all[static_cast<std::size_t>(event.of)];
    if (event.is_birth) {
      lived.from = packing.sections;
      last_birth = event.time;
      has_births = true;
      continue;
    }
    if (has_births) {
      if (!packing.moment.push(last_birth)) return false;
      ++packing.sections;
      has_births = false;
    }
    lived.to = packing.sections;
  }
  return true;
}

/// The sections of each block, from those of its strips.
[[nodiscard]] bool surround_strips(Packing& packing) {
  for (std::size_t b = 0; b < packing.blocks.size(); ++b) {
    const std::span<const Strip> strips = packing.strips_of(b);
    Block& block = packing.blocks[b];
    // Without strips it is in nobody's way: any section will do.
    block.from = strips.empty() ? 0 : strips.front().from;
    block.to = strips.empty() ? 1 : strips.back().to;
  }
  if (packing.sections > 0 || packing.blocks.empty()) return true;
  packing.sections = 1;
  return packing.moment.push(0);
}

/// Computes most_meetings: a strip meets all that are born before its end, without those that died
/// before its start.
[[nodiscard]] bool count_meetings(Packing& packing) {
  const auto sections = static_cast<std::size_t>(packing.sections);
  Array<std::int64_t> born;  // before each section, or in it
  Array<std::int64_t> dead;
  if (!born.assign(sections + 1, 0) || !dead.assign(sections + 1, 0)) return false;
  for (const Strip& strip : packing.strips) {
    ++born[static_cast<std::size_t>(strip.from)];
    ++dead[static_cast<std::size_t>(strip.to)];
  }
  for (std::size_t s = 1; s <= sections; ++s) {
    born[s] += born[s - 1];
    dead[s] += dead[s - 1];
  }
  for (std::size_t b = 0; b < packing.blocks.size(); ++b) {
    std::int64_t meetings = 0;
    for (const Strip& strip : packing.strips_of(b)) {
      meetings +=
          born[static_cast<std::size_t>(strip.to) - 1] - dead[static_cast<std::size_t>(strip.from)];
    }
    packing.most_meetings = std::max(packing.most_meetings, meetings);
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
  std::int64_t grain = 0;
  for (const Block& block : packing.blocks) {
    step = std::gcd(step, block.alignment);
    grain = std::gcd(grain, block.size);
    if (block.alignment > 1) grain = std::gcd(grain, block.alignment);
    if (block.fixed >= 0) grain = std::gcd(grain, block.fixed);
    packing.lower_bound =
        std::max(packing.lower_bound, std::max<std::int64_t>(block.fixed, 0) + block.size);
  }
  for (const Strip& strip : packing.strips) {  // each begins at a multiple of the step, too
    step = std::gcd(step, strip.low);
    grain = std::gcd(std::gcd(grain, strip.low), strip.high);
  }
  std::int64_t most_padding = 0;
  const auto add = [&](std::int32_t from, std::int32_t to, std::int64_t bytes) {
    const std::int64_t whole = align_up(bytes, step);
    most_padding = std::max(most_padding, whole - bytes);
    packing.live[static_cast<std::size_t>(from)] += bytes;
    packing.live[static_cast<std::size_t>(to)] -= bytes;
    rounded[static_cast<std::size_t>(from)] += whole;
    rounded[static_cast<std::size_t>(to)] -= whole;
  };
  if (packing.has_gaps()) {
    for (const Strip& strip : packing.strips) add(strip.from, strip.to, strip.high - strip.low);
  } else {
    for (const Block& block : packing.blocks) add(block.from, block.to, block.size);
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

/// A fixed block, or one strip of it.
struct FixedRange {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::size_t block = 0;
};

[[nodiscard]] bool list_fixed(const Packing& packing, Array<FixedRange>& fixed) {
  for (std::size_t b = 0; b < packing.blocks.size(); ++b) {
    const Block& block = packing.blocks[b];
    if (block.fixed < 0) continue;
    const Strip whole{block.from, block.to, 0, block.size};
    for (const Strip& strip : packing.has_gaps() ? packing.strips_of(b) : std::span(&whole, 1)) {
      if (!fixed.push(
              {strip.from, strip.to, block.fixed + strip.low, block.fixed + strip.high, b})) {
        return false;
      }
    }
  }
  std::sort(fixed.begin(), fixed.end(), [](const FixedRange& a, const FixedRange& b) {
    return a.start != b.start ? a.start < b.start : a.block < b.block;
  });
  return true;
}

/// Checks for two fixed blocks that overlap; the error names the buffers that fixed them.
Status check_fixed(const Packing& packing, const Array<std::int32_t>& fixed_by,
                   const Complaints& complaints) {
  Array<FixedRange> fixed;
  if (!list_fixed(packing, fixed)) return out_of_memory();
  if (fixed.size() < 2) return ok_status();
  SectionTree tops;
  if (!tops.reset(packing.sections)) return out_of_memory();
  for (const FixedRange& above : fixed) {
    if (tops.highest(above.from, above.to) <= above.start) {
      tops.raise(above.from, above.to, above.end);
      continue;
    }
    for (const FixedRange& below : fixed) {
      if (&above == &below || below.from >= above.to || above.from >= below.to ||
          below.end <= above.start || above.end <= below.start) {
        continue;
      }
      const auto [first, second] = std::minmax(fixed_by[below.block], fixed_by[above.block]);
      return complaints.bad(
          static_cast<std::size_t>(second),
          cat("and ", complaints.name(static_cast<std::size_t>(first)),
              " are fixed on the same bytes [", std::max(above.start, below.start), ", ",
              std::min(above.end, below.end), ") at moment ",
              packing.moment[static_cast<std::size_t>(std::max(above.from, below.from))]),
          "fix them at disjoint offsets, or do not fix one of them");
    }
  }
  return ok_status();
}

/// Makes blocks of groups and, if any has gaps, strips of blocks; cuts time into sections.
class Packer {
 public:
  Packer(const Problem& problem, const Complaints& complaints, Packing& packing)
      : buffers_(problem.buffers), complaints_(complaints), packing_(packing) {}

  Status run(const AliasGroups& aliases, Array<std::int32_t>& fixed_by) {
    for (std::size_t i = 0; i < buffers_.size() && !has_gaps_; ++i) {
      has_gaps_ = !buffers_[i].gaps.empty() && buffers_[i].size > 0;
    }
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const Group& group = aliases.groups[i];
      if (aliases.root[i] != static_cast<std::int32_t>(i) || group.bytes == 0) continue;
      TESSERA_CHECK_OK(add_block(i, group));
      if (!fixed_by.push(group.fixed_by)) return out_of_memory();
    }
    bool done = !has_gaps_ || packing_.first_strip.push(strips());
    if (has_gaps_) {
      done = done && cut_into_sections(events_, packing_.strips, packing_) &&
             surround_strips(packing_) && count_meetings(packing_);
    } else {
      done = cut_into_sections(events_, packing_.blocks, packing_);
    }
    return done && add_up(packing_) ? ok_status() : out_of_memory();
  }

 private:
  std::int32_t strips() const { return static_cast<std::int32_t>(packing_.strips.size()); }

  Status add_block(std::size_t i, const Group& group) {
    bytes_ += Checked(group.bytes) + (group.alignment - 1);
    if (bytes_.saturated() > kMostBytes) return complaints_.too_many_bytes(i);
    const auto block = static_cast<std::int32_t>(packing_.blocks.size());
    packing_.block_of[i] = block;
    if (!packing_.blocks.push({0, 0, group.bytes, group.alignment, group.fixed, group.hint})) {
      return out_of_memory();
    }
    if (!has_gaps_) {
      return add_life(group.lower, group.upper, block) ? ok_status() : out_of_memory();
    }
    if (packing_.strips.size() + 2 * buffers_[i].gaps.size() >= kMostBuffers) {
      return complaints_.about(i, ErrorCode::kTooLarge, "brings the gaps of all above 2^29",
                               "plan fewer buffers together, or use fewer gaps");
    }
    if (!packing_.first_strip.push(strips())) return out_of_memory();
    const auto add = [this](std::int64_t lower, std::int64_t upper, std::int64_t low,
                            std::int64_t high) {
      return add_life(lower, upper, strips()) && packing_.strips.push({0, 0, low, high});
    };
    const bool done = buffers_[i].gaps.empty() ? add(group.lower, group.upper, 0, group.bytes)
                                               : each_strip(buffers_[i], add);
    return done ? ok_status() : out_of_memory();
  }

  [[nodiscard]] bool add_life(std::int64_t lower, std::int64_t upper, std::int32_t of) {
    return events_.push({lower, of, true}) && events_.push({upper, of, false});
  }

  const std::vector<Buffer>& buffers_;
  const Complaints& complaints_;
  Packing& packing_;
  Array<Event> events_;
  Checked bytes_ = 0;
  bool has_gaps_ = false;
};

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
  Array<std::int32_t> fixed_by;
  TESSERA_CHECK_OK(Packer(problem, complaints, packing).run(aliases, fixed_by));
  for (std::size_t i = 0; i < count; ++i) {
    const auto r = static_cast<std::size_t>(root[i]);
    packing.block_of[i] = packing.block_of[r];
    if (groups[r].bytes == 0 && groups[r].fixed > 0) packing.delta[i] += groups[r].fixed;
  }
  if (fixed == FixedBlocks::kMustLieApart) {
    TESSERA_CHECK_OK(check_fixed(packing, fixed_by, complaints));
  }
  return packing;
}

bool close_gaps(const Packing& packing, Packing& closed) {
  closed = Packing{};
  closed.sections = packing.sections;
  return closed.blocks.copy(packing.blocks) && closed.moment.copy(packing.moment) && add_up(closed);
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
