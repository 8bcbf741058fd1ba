// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/solver/alias_groups.h"

#include <algorithm>

#include "tessera/base/checked.h"

namespace tessera::memory {
namespace {

Status check_gaps(const Buffer& buffer, std::size_t i, const Complaints& complaints) {
  std::int64_t free_from = buffer.lower;
  for (const Gap& gap : buffer.gaps) {
    const auto name = [&gap] { return cat("has the gap [", gap.lower, ", ", gap.upper, ")"); };
    if (gap.lower >= gap.upper) {
      return complaints.bad(i, cat(name(), ", which is empty"),
                            "upper is the first moment after the gap; it must be above lower");
    }
    if (gap.lower < buffer.lower || gap.upper > buffer.upper) {
      return complaints.bad(
          i, cat(name(), " outside its lifetime [", buffer.lower, ", ", buffer.upper, ")"),
          "gaps lie inside the lifetime");
    }
    if (gap.lower < free_from) {
      return complaints.bad(i, cat(name(), " before the end ", free_from, " of the previous gap"),
                            "gaps are in the order of time and do not overlap");
    }
    if (gap.kept_from < 0 || gap.kept_from > gap.kept_to || gap.kept_to > buffer.size) {
      return complaints.bad(i,
                            cat("keeps bytes [", gap.kept_from, ", ", gap.kept_to,
                                ") in a gap, but has ", buffer.size, " bytes"),
                            "a gap keeps a range of the bytes of its buffer, or none");
    }
    free_from = gap.upper;
  }
  return ok_status();
}

Status check_alone(const Buffer& buffer, std::size_t i, const Complaints& complaints) {
  if (buffer.lower >= buffer.upper) {
    return complaints.bad(i, cat("has the empty lifetime [", buffer.lower, ", ", buffer.upper, ")"),
                          "upper is the first moment after the lifetime; it must be above lower");
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
  }
  if (buffer.fixed && *buffer.fixed > kMostBytes) return complaints.too_many_bytes(i);
  if (buffer.fixed && *buffer.fixed % buffer.alignment != 0) {
    return complaints.bad(i,
                          cat("is fixed at offset ", *buffer.fixed,
                              ", not a multiple of its alignment ", buffer.alignment),
                          cat("fix it at ", *buffer.fixed / buffer.alignment * buffer.alignment,
                              ", or change the alignment"));
  }
  return check_gaps(buffer, i, complaints);
}

/// What shares memory keeps it from the first birth to the last death.
Status check_gaps_alone(const Problem& problem, const Array<std::int32_t>& root,
                        const Complaints& complaints) {
  for (std::size_t i = 0; i < root.size(); ++i) {
    const auto whole = static_cast<std::size_t>(root[i]);
    if (whole == i) continue;
    for (const std::size_t sharer : {i, whole}) {
      if (problem.buffers[sharer].gaps.empty()) continue;
      return complaints.about(
          sharer, ErrorCode::kNotSupported, "has gaps, and shares memory by an alias",
          "remove its gaps or the alias: what shares memory keeps it for the whole lifetime");
    }
  }
  return ok_status();
}

/// Follows aliases: writes the root of each buffer to `root`, and the bytes from the root's start
/// to its own start to `delta`.
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
        return complaints.bad(at, "is part of itself through its aliases",
                              "chains of aliases end at a buffer that is not an alias");
      }
      const std::optional<Alias>& alias = problem.buffers[at].alias;
      if (!alias) {
        root[at] = static_cast<std::int32_t>(at);
        break;
      }
      if (alias->of >= count) {
        return complaints.bad(
            at, cat("is part of buffer ", alias->of, ", but there are ", count, " buffers"),
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
                            cat("is fixed at offset ", *buffer.fixed, ", but ",
                                complaints.name(static_cast<std::size_t>(group.fixed_by)),
                                " requires ", group.fixed + delta),
                            "buffers that share memory have one offset; fix one of them");
    }
    group.fixed = start;
    group.fixed_by = static_cast<std::int32_t>(i);
  }
  // A hint that no plan can follow is ignored.
  const bool may_follow = buffer.hint && *buffer.hint >= delta && *buffer.hint <= kMostBytes;
  if (may_follow && group.hint < 0) group.hint = *buffer.hint - delta;
  return ok_status();
}

}  // namespace

Status join_aliases(const Problem& problem, const Complaints& complaints, AliasGroups& aliases) {
  const std::size_t count = problem.buffers.size();
  for (std::size_t i = 0; i < count; ++i) {
    TESSERA_CHECK_OK(check_alone(problem.buffers[i], i, complaints));
  }
  TESSERA_CHECK_OK(follow_aliases(problem, complaints, aliases.root, aliases.delta));
  TESSERA_CHECK_OK(check_gaps_alone(problem, aliases.root, complaints));
  if (!aliases.groups.resize(count)) return out_of_memory();
  for (std::size_t i = 0; i < count; ++i) {
    TESSERA_CHECK_OK(join(problem.buffers[i], i, aliases.delta[i], complaints,
                          aliases.groups[static_cast<std::size_t>(aliases.root[i])]));
  }
  for (const Group& group : aliases.groups) {
    if (group.fixed >= 0 && group.fixed % group.alignment != 0) {
      return complaints.bad(
          static_cast<std::size_t>(group.fixed_by),
          cat("fixes the memory it shares at offset ", group.fixed, ", not a multiple of ",
              group.alignment, ", the combined alignment of all that share it"),
          "fix it elsewhere, or change the alignments");
    }
  }
  return ok_status();
}

}  // namespace tessera::memory
