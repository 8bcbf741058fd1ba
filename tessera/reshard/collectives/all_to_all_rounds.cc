// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "tessera/reshard/collectives/schedule_parts.h"

// Block s·P + d goes from member s to member d.

namespace tessera::reshard {
namespace {

/// One algorithm for P members.
struct Exchange {
  std::int64_t members;

  std::int64_t around(std::int64_t member) const { return (member % members + members) % members; }

  void add(BlockRound& sends, std::int64_t from, std::int64_t to, BlockRanges blocks) const {
    if (blocks.empty()) return;
    sends.push_back(
        {static_cast<std::int32_t>(from), static_cast<std::int32_t>(to), std::move(blocks), false});
  }

  BlockRound direct() const {
    BlockRound sends;
    for (std::int64_t m = 0; m < members; ++m) {
      for (std::int64_t to = 0; to < members; ++to) {
        if (to != m) add(sends, m, to, {{m * members + to, 1}});
      }
    }
    return sends;
  }

  BlockRound pairwise(std::int64_t round) const {
    BlockRound sends;
    for (std::int64_t m = 0; m < members; ++m) {
      const std::int64_t to = around(m + round + 1);
      add(sends, m, to, {{m * members + to, 1}});
    }
    return sends;
  }

  /// Blocks whose destination is at most `up` members on travel up the ring, the others down. In
  /// each round a member forwards what came from the member `round` steps behind it and is not
  /// there yet.
  BlockRound ring(std::int64_t up, std::int64_t down, std::int64_t round) const {
    BlockRound sends;
    for (std::int64_t m = 0; m < members; ++m) {
      if (round < up) {
        const std::int64_t source = around(m - round);
        add(sends, m, around(m + 1),
            circular(around(m + 1), up - round, members, source * members));
      }
      if (round < down) {
        const std::int64_t source = around(m + round);
        add(sends, m, around(m - 1),
            circular(around(source - down), down - round, members, source * members));
      }
    }
    return sends;
  }

  BlockRound chain(std::int64_t round) const {
    BlockRound sends;
    for (std::int64_t m = 0; m < members; ++m) {
      const std::int64_t below = m - round;
      const std::int64_t above = m + round;
      if (below >= 0 && m + 1 < members) {
        add(sends, m, m + 1, {{below * members + m + 1, members - 1 - m}});
      }
      if (above < members && m > 0) add(sends, m, m - 1, {{above * members, m}});
    }
    return sends;
  }

  /// A block that must go δ members on takes the steps of δ's bits, the lowest first.
  BlockRound bits(std::int64_t round) const {
    const std::int64_t bit = std::int64_t{1} << round;
    BlockRound sends;
    for (std::int64_t m = 0; m < members; ++m) {
      BlockRanges blocks;
      for (std::int64_t distance = bit; distance < members; ++distance) {
        if ((distance & bit) == 0) continue;
        const std::int64_t source = around(m - (distance & (bit - 1)));
        blocks.push_back({source * members + around(source + distance), 1});
      }
      add(sends, m, around(m + bit), std::move(blocks));
    }
    return sends;
  }
};

}  // namespace

std::optional<Schedule> all_to_all_rounds(std::int64_t members, Algorithm algorithm) {
  const std::int64_t others = members - 1;
  const Exchange exchange{members};
  const auto schedule = [&](std::int64_t rounds, Schedule::MakeRound make) {
    return Schedule(CollectiveKind::kAllToAll, members, members * members, 0, rounds,
                    std::move(make));
  };
  switch (algorithm) {
    case Algorithm::kDirect:
      return schedule(others > 0 ? 1 : 0, [exchange](std::int64_t) { return exchange.direct(); });
    case Algorithm::kPairwise:
      return schedule(others, [exchange](std::int64_t round) { return exchange.pairwise(round); });
    case Algorithm::kRing:
      return schedule(others, [exchange, others](std::int64_t round) {
        return exchange.ring(others, 0, round);
      });
    case Algorithm::kTwoWayRing: {
      const std::int64_t up = (others + 1) / 2;
      return schedule(up, [exchange, up, others](std::int64_t round) {
        return exchange.ring(up, others - up, round);
      });
    }
    case Algorithm::kChain:
      return schedule(others, [exchange](std::int64_t round) { return exchange.chain(round); });
    case Algorithm::kTree: {
      std::int64_t rounds = 0;
      while ((std::int64_t{1} << rounds) < members) ++rounds;
      return schedule(rounds, [exchange](std::int64_t round) { return exchange.bits(round); });
    }
    default:
      return std::nullopt;
  }
}

}  // namespace tessera::reshard
