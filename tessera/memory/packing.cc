// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/packing.h"

#include <algorithm>
#include <numeric>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/memory/section_tree.h"

namespace tessera::memory {
namespace {

/// No sum of sizes, and no offset that is given, may pass this.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 61;
constexpr std::size_t kMostBuffers = std::size_t{1} << 30;

/// Says what is wrong with a buffer in the words of whoever named it.
class Complaints {
 public:
  explicit Complaints(const std::vector<std::string>& names) : names_(names) {}

  std::string name(std::size_t buffer) const {
    return buffer < names_.size() ? cat("buffer '", printable(names_[buffer]), "'")
                                  : cat("buffer ", buffer);
  }
  Error about(std::size_t buffer, ErrorCode code, std::string message, std::string help) const {
    const auto at = static_cast<std::int64_t>(buffer);
    return Error{code, cat(name(buffer), " ", message), Span{at, at + 1}, std::move(help)};
  }
  Error bad(std::size_t buffer, std::string message, std::string help) const {
    return about(buffer, ErrorCode::kBadBuffer, std::move(message), std::move(help));
  }
  Error too_many_bytes(std::size_t buffer) const {
    return about(buffer, ErrorCode::kOverflow,
                 cat("brings the bytes of all buffers, with their alignments, above 2^61"),
                 "use smaller sizes, offsets and alignments");
  }

 private:
  const std::vector<std::string>& names_;
};

Status check_alone(const Buffer& buffer, std::size_t i, const Complaints& complaints) {
  if (buffer.lower >= buffer.upper) {
    return complaints.bad(i,
                          cat("lives in [", buffer.lower, ", ", buffer.upper, "), which is never"),
                          "upper is the first moment after its life, above lower");
  }
  if (buffer.size < 0) {
    return complaints.bad(i, cat("has ", buffer.size, " bytes"), "sizes are 0 or more");
  }
  if (buffer.alignment < 1) {
    return complaints.about(i, ErrorCode::kBadAlignment, cat("has alignment ", buffer.alignment),
                            "alignments are 1 or more");
  }
  for (const auto& [offset, what] :
       {std::pair{buffer.fixed, "fixed"}, std::pair{buffer.hint, "hinted"}}) {
    if (!offset) continue;
    if (*offset < 0) {
      return complaints.bad(i, cat("is ", what, " at offset ", *offset), "offsets are 0 or more");
    }
    if (*offset > kMostBytes) return complaints.too_many_bytes(i);
  }
  if (buffer.fixed && *buffer.fixed % buffer.alignment != 0) {
    return complaints.bad(i,
                          cat("is fixed at offset ", *buffer.fixed,
                              ", not a multiple of its alignment ", buffer.alignment),
                          cat("fix it at ", *buffer.fixed / buffer.alignment * buffer.alignment,
                              ", or change the alignment"));
  }
  return ok_status();
}

/// A set of buffers that share memory, while it is put together.
struct Group {
  std::int64_t lower = INT64_MAX;
  std::int64_t upper = INT64_MIN;
  std::int64_t bytes = 0;
  std::int64_t alignment = 1;
  std::int64_t fixed = -1;
  std::int64_t hint = -1;
  std::int32_t fixed_by = -1;  // the buffer that said so
};

/// Follows aliases: the root of each buffer into `root`, the bytes from the root's start to its own
/// into `delta`.
Status follow_aliases(const Problem& problem, const Complaints& complaints,
                      Array<std::int32_t>& root, Array<std::int64_t>& delta) {
  const std::size_t count = problem.buffers.size();
  Array<std::int32_t> chain;
  if (!root.assign(count, -1) || !delta.assign(count, 0)) return out_of_memory();
  constexpr std::int32_t kOnChain = -2;
  for (std::size_t i = 0; i < count; ++i) {
    chain.clear();
    std::size_t at = i;
    while (root[at] < 0) {
      if (root[at] == kOnChain) {
        return complaints.bad(at, "is, through its aliases, a part of itself",
                              "aliases end at a buffer that is no alias");
      }
      const std::optional<Alias>& alias = problem.buffers[at].alias;
      if (!alias) {
        root[at] = static_cast<std::int32_t>(at);
        break;
      }
      if (alias->of >= count) {
        return complaints.bad(at, cat("is a part of buffer ", alias->of, ", of ", count, " in all"),
                              "name a buffer of the same problem");
      }
      if (alias->delta < 0) {
        return complaints.bad(at,
                              cat("begins ", alias->delta, " bytes after the buffer it is part of"),
                              "deltas are 0 or more");
      }
      root[at] = kOnChain;
      if (!chain.push(static_cast<std::int32_t>(at))) return out_of_memory();
      at = alias->of;
    }
    for (std::int32_t parent = static_cast<std::int32_t>(at); !chain.empty(); chain.pop()) {
      const auto child = static_cast<std::size_t>(chain.back());
      const auto above = static_cast<std::size_t>(parent);
      const Checked sum = Checked(delta[above]) + problem.buffers[child].alias->delta;
      if (sum.saturated() > kMostBytes) return complaints.too_many_bytes(child);
      delta[child] = sum.raw();
      root[child] = root[above];
      parent = static_cast<std::int32_t>(child);
    }
  }
  return ok_status();
}

/// Adds a buffer to the group of its root.
Status join(const Buffer& buffer, std::size_t i, std::int64_t delta, const Complaints& complaints,
            Group& group) {
  group.lower = std::min(group.lower, buffer.lower);
  group.upper = std::max(group.upper, buffer.upper);
  const Checked end = Checked(delta) + buffer.size;
  if (end.saturated() > kMostBytes) return complaints.too_many_bytes(i);
  if (buffer.size > 0) group.bytes = std::max(group.bytes, end.raw());
  group.alignment = saturating_lcm(group.alignment, buffer.alignment);
  if (group.alignment > kMostBytes) return complaints.too_many_bytes(i);
  if (delta % buffer.alignment != 0) {
    return complaints.bad(i,
                          cat("begins ", delta,
                              " bytes into the memory it shares, not a multiple of its "
                              "alignment ",
                              buffer.alignment),
                          "change the delta or the alignment");
  }
  if (buffer.fixed) {
    const std::int64_t start = *buffer.fixed - delta;
    if (start < 0) {
      return complaints.bad(i,
                            cat("is fixed at offset ", *buffer.fixed, ", but begins ", delta,
                                " bytes into the memory it shares"),
                            cat("fix it at ", delta, " or above"));
    }
    if (group.fixed >= 0 && group.fixed != start) {
      return complaints.bad(i,
                            cat("is fixed at offset ", *buffer.fixed, ", where ",
                                complaints.name(static_cast<std::size_t>(group.fixed_by)),
                                " wants it at ", group.fixed + delta),
                            "buffers that share memory have one place; fix one of them");
    }
    group.fixed = start;
    group.fixed_by = static_cast<std::int32_t>(i);
  }
  if (buffer.hint && group.hint < 0 && *buffer.hint >= delta) group.hint = *buffer.hint - delta;
  return ok_status();
}

/// A birth or a death.
struct Event {
  std::int64_t time = 0;
  std::int32_t block = 0;
  bool is_birth = false;
};

/// Sections from the lives of the blocks: one ends at the first death after a birth.
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

/// live, lower_bound, grain.
[[nodiscard]] bool add_up(Packing& packing) {
  const auto sections = static_cast<std::size_t>(packing.sections);
  Array<std::int64_t> rounded;
  if (!packing.live.assign(sections + 1, 0) || !rounded.assign(sections + 1, 0)) return false;
  // Where every offset is a multiple of `step`, a block takes whole steps, but for the highest one.
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

/// Two fixed blocks that meet, in the words of the buffers that fixed them.
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
          "fix them apart, or let one of them go where it may");
    }
  }
  return ok_status();
}

}  // namespace

Result<Packing> pack(const Problem& problem, const std::vector<std::string>& names) {
  const Complaints complaints(names);
  const std::size_t count = problem.buffers.size();
  if (count > kMostBuffers) {
    return Error{ErrorCode::kTooLarge, cat(count, " buffers are more than can be planned"),
                 std::nullopt, cat("plan at most ", kMostBuffers, " together")};
  }
  for (std::size_t i = 0; i < count; ++i) {
    TESSERA_CHECK_OK(check_alone(problem.buffers[i], i, complaints));
  }
  Packing packing;
  Array<std::int32_t> root;
  TESSERA_CHECK_OK(follow_aliases(problem, complaints, root, packing.delta));
  Array<Group> groups;
  if (!groups.resize(count) || !packing.block_of.assign(count, -1)) return out_of_memory();
  for (std::size_t i = 0; i < count; ++i) {
    TESSERA_CHECK_OK(join(problem.buffers[i], i, packing.delta[i], complaints,
                          groups[static_cast<std::size_t>(root[i])]));
  }
  Array<Event> events;
  Array<std::int32_t> fixed_by;
  Checked bytes(0);
  for (std::size_t i = 0; i < count; ++i) {
    const Group& group = groups[i];
    if (root[i] != static_cast<std::int32_t>(i)) continue;
    if (group.fixed >= 0 && group.fixed % group.alignment != 0) {
      return complaints.bad(
          static_cast<std::size_t>(group.fixed_by),
          cat("fixes the memory it shares at offset ", group.fixed, ", not a multiple of ",
              group.alignment, ", which the alignments of all that share it come to"),
          "fix it elsewhere, or change the alignments");
    }
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
  TESSERA_CHECK_OK(check_fixed(packing, fixed_by, complaints));
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
