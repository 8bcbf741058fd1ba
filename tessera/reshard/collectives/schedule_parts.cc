// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/collectives/schedule_parts.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace tessera::reshard {

BlockRanges circular(std::int64_t first, std::int64_t count, std::int64_t blocks,
                     std::int64_t offset) {
  BlockRanges ranges;
  const std::int64_t before_end = std::min(count, blocks - first);
  if (before_end > 0) ranges.push_back({offset + first, before_end});
  if (count > before_end) ranges.push_back({offset, count - before_end});
  return ranges;
}

Schedule doubling_rounds(std::int64_t members) {
  std::int64_t doublings = 0;
  while ((std::int64_t{2} << doublings) <= members) ++doublings;
  const std::int64_t partners = std::int64_t{1} << doublings;
  const std::int64_t extra = members - partners;
  const std::int64_t rounds = doublings + (extra > 0 ? 2 : 0);
  const auto add = [](BlockRound& sends, std::int64_t from, std::int64_t to, bool combines) {
    sends.push_back(
        {static_cast<std::int32_t>(from), static_cast<std::int32_t>(to), {{0, 1}}, combines});
  };
  return Schedule(CollectiveKind::kAllReduce, members, 1, 0, rounds, [=](std::int64_t round) {
    BlockRound sends;
    if (extra > 0 && (round == 0 || round + 1 == rounds)) {
      for (std::int64_t i = 0; i < extra; ++i) {
        if (round == 0) add(sends, partners + i, i, true);
        if (round != 0) add(sends, i, partners + i, false);
      }
      return sends;
    }
    const std::int64_t distance = std::int64_t{1} << (round - (extra > 0 ? 1 : 0));
    for (std::int64_t m = 0; m < partners; ++m) add(sends, m, m ^ distance, true);
    return sends;
  });
}

Schedule reversed(const Schedule& schedule, CollectiveKind kind, bool combines) {
  const auto shared = std::make_shared<const Schedule>(schedule);
  return Schedule(
      kind, schedule.members(), schedule.blocks(), schedule.root(), schedule.rounds(),
      [shared, combines](std::int64_t round) {
        BlockRound sends = shared->round(shared->rounds() - 1 - round);
        for (BlockSend& send : sends) {
          std::swap(send.from, send.to);
          send.combines = combines;
        }
        return sends;
      },
      [shared](std::int64_t round) { return shared->repeats(shared->rounds() - round); });
}

Phase whole(Schedule schedule) {
  return {std::move(schedule), 1, [](std::int64_t, std::int64_t member) { return member; },
          [](std::int64_t, std::int64_t block) { return BlockRanges{{block, 1}}; }};
}

namespace {

BlockRound round_of(const Phase& phase, std::int64_t round) {
  BlockRound sends;
  const BlockRound inner = phase.schedule.round(round);
  sends.reserve(inner.size() * static_cast<std::size_t>(phase.groups));
  for (std::int64_t group = 0; group < phase.groups; ++group) {
    for (const BlockSend& send : inner) {
      BlockSend& outer = sends.emplace_back();
      outer.from = static_cast<std::int32_t>(phase.member(group, send.from));
      outer.to = static_cast<std::int32_t>(phase.member(group, send.to));
      outer.combines = send.combines;
      for (const BlockRange& range : send.blocks) {
        for (std::int64_t block = range.first; block < range.first + range.count; ++block) {
          for (const BlockRange& part : phase.blocks(group, block)) {
            const bool continues =
                !outer.blocks.empty() &&
                outer.blocks.back().first + outer.blocks.back().count == part.first;
            if (continues) {
              outer.blocks.back().count += part.count;
            } else {
              outer.blocks.push_back(part);
            }
          }
        }
      }
    }
  }
  return sends;
}

}  // namespace

Schedule in_phases(CollectiveKind kind, std::int64_t members, std::int64_t blocks,
                   std::int64_t root, std::vector<Phase> phases) {
  std::int64_t rounds = 0;
  for (const Phase& phase : phases) rounds += phase.schedule.rounds();
  const auto shared = std::make_shared<const std::vector<Phase>>(std::move(phases));
  const auto phase_of = [shared](std::int64_t& round) -> const Phase& {
    std::size_t at = 0;
    while (round >= (*shared)[at].schedule.rounds()) {
      round -= (*shared)[at].schedule.rounds();
      ++at;
    }
    return (*shared)[at];
  };
  // Each block of a sub-group is as many blocks of the whole, in as many ranges, as any other.
  return Schedule(
      kind, members, blocks, root, rounds,
      [phase_of](std::int64_t round) {
        const Phase& phase = phase_of(round);
        return round_of(phase, round);
      },
      [phase_of](std::int64_t round) {
        const Phase& phase = phase_of(round);
        return phase.schedule.repeats(round);
      });
}

}  // namespace tessera::reshard
