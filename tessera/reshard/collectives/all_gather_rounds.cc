// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tessera/reshard/collectives/schedule_parts.h"

namespace tessera::reshard {
namespace {

BlockSend send_of(std::int64_t from, std::int64_t to, BlockRanges blocks) {
  return {static_cast<std::int32_t>(from), static_cast<std::int32_t>(to), std::move(blocks), false};
}

/// Along the ring: `up` steps to the next member, `down` steps to the previous one. In each round a
/// member passes on, in each direction, what arrived in the round before.
BlockRound ring_round(std::int64_t members, std::int64_t up, std::int64_t down,
                      std::int64_t round) {
  BlockRound sends;
  sends.reserve(static_cast<std::size_t>(2 * members));
  for (std::int64_t m = 0; m < members; ++m) {
    if (round < up) {
      const std::int64_t block = (m - round + members) % members;
      sends.push_back(send_of(m, (m + 1) % members, {{block, 1}}));
    }
    if (round < down) {
      const std::int64_t block = (m + round) % members;
      sends.push_back(send_of(m, (m - 1 + members) % members, {{block, 1}}));
    }
  }
  return sends;
}

BlockRound chain_round(std::int64_t members, std::int64_t round) {
  BlockRound sends;
  sends.reserve(static_cast<std::size_t>(2 * members));
  for (std::int64_t m = 0; m < members; ++m) {
    if (m + 1 < members && m - round >= 0) sends.push_back(send_of(m, m + 1, {{m - round, 1}}));
    if (m > 0 && m + round < members) sends.push_back(send_of(m, m - 1, {{m + round, 1}}));
  }
  return sends;
}

/// Member m has blocks m, m + 1, .. and sends them to the member 2^round before it.
BlockRound distance_round(std::int64_t members, std::int64_t round) {
  const std::int64_t distance = std::int64_t{1} << round;
  const std::int64_t count = std::min(distance, members - distance);
  BlockRound sends;
  for (std::int64_t m = 0; m < members; ++m) {
    sends.push_back(send_of(m, (m - distance + members) % members, circular(m, count, members)));
  }
  return sends;
}

BlockRound direct_round(std::int64_t members) {
  BlockRound sends;
  sends.reserve(static_cast<std::size_t>(members * (members - 1)));
  for (std::int64_t m = 0; m < members; ++m) {
    for (std::int64_t to = 0; to < members; ++to) {
      if (to != m) sends.push_back(send_of(m, to, {{m, 1}}));
    }
  }
  return sends;
}

}  // namespace

std::optional<Schedule> all_gather_rounds(std::int64_t members, Algorithm algorithm) {
  const std::int64_t others = members - 1;
  const auto schedule = [&](std::int64_t rounds, Schedule::MakeRound make,
                            Schedule::Repeats repeats = {}) {
    return Schedule(CollectiveKind::kAllGather, members, members, 0, rounds, std::move(make),
                    std::move(repeats));
  };
  switch (algorithm) {
    case Algorithm::kDirect:
      return schedule(others > 0 ? 1 : 0,
                      [members](std::int64_t) { return direct_round(members); });
    case Algorithm::kRing:
      return schedule(
          others,
          [members, others](std::int64_t round) { return ring_round(members, others, 0, round); },
          [](std::int64_t) { return true; });
    case Algorithm::kTwoWayRing: {
      const std::int64_t up = (others + 1) / 2;
      const std::int64_t down = others - up;
      return schedule(
          up,
          [members, up, down](std::int64_t round) { return ring_round(members, up, down, round); },
          [down](std::int64_t round) { return round != down; });
    }
    case Algorithm::kChain:
      return schedule(others,
                      [members](std::int64_t round) { return chain_round(members, round); });
    case Algorithm::kTree: {
      std::int64_t rounds = 0;
      while ((std::int64_t{1} << rounds) < members) ++rounds;
      return schedule(rounds,
                      [members](std::int64_t round) { return distance_round(members, round); });
    }
    default:
      return std::nullopt;
  }
}

}  // namespace tessera::reshard
