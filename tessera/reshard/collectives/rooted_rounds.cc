// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tessera/reshard/collectives/schedule_parts.h"

// Broadcast and scatter: one member, the root, has everything at the beginning.

namespace tessera::reshard {
namespace {

using Arm = std::vector<std::int64_t>;  // members in the order in which they are reached

BlockSend send_of(std::int64_t from, std::int64_t to, BlockRanges blocks) {
  return {static_cast<std::int32_t>(from), static_cast<std::int32_t>(to), std::move(blocks), false};
}

/// The paths along which data leave the root; empty for algorithms that have none.
std::vector<Arm> arms_of(std::int64_t members, std::int64_t root, Algorithm algorithm) {
  std::int64_t up = members - 1;
  std::int64_t down = 0;
  if (algorithm == Algorithm::kChain) {
    up = members - 1 - root;
    down = root;
  } else if (algorithm == Algorithm::kTwoWayRing) {
    up = members / 2;
    down = members - 1 - up;
  }
  std::vector<Arm> arms(2);
  for (std::int64_t i = 1; i <= up; ++i) arms[0].push_back((root + i) % members);
  for (std::int64_t i = 1; i <= down; ++i) arms[1].push_back((root - i + members) % members);
  return arms;
}

std::int64_t longest(const std::vector<Arm>& arms) {
  std::size_t most = 0;
  for (const Arm& arm : arms) most = std::max(most, arm.size());
  return static_cast<std::int64_t>(most);
}

/// Calls visit(from, to, position of `to` in the arm, length of the arm) for every step of the
/// arms.
template <typename Visit>
void for_each_hop(const std::vector<Arm>& arms, std::int64_t root, const Visit& visit) {
  for (const Arm& arm : arms) {
    for (std::size_t i = 0; i < arm.size(); ++i) {
      visit(i == 0 ? root : arm[i - 1], arm[i], static_cast<std::int64_t>(i), arm);
    }
  }
}

/// Halves of the members, counted from the root: the first member of a part keeps the lower half
/// and sends the upper one.
struct Part {
  std::int64_t low, high;
  std::int64_t middle() const { return low + (high - low + 1) / 2; }
};
std::vector<Part> parts_at(std::int64_t members, std::int64_t round) {
  std::vector<Part> parts = {{0, members}};
  for (std::int64_t r = 0; r < round; ++r) {
    std::vector<Part> halves;
    for (const Part& part : parts) {
      halves.push_back({part.low, part.middle()});
      if (part.middle() < part.high) halves.push_back({part.middle(), part.high});
    }
    parts = std::move(halves);
  }
  std::erase_if(parts, [](const Part& part) { return part.high - part.low < 2; });
  return parts;
}

std::int64_t halvings(std::int64_t members) {
  std::int64_t rounds = 0;
  while ((std::int64_t{1} << rounds) < members) ++rounds;
  return rounds;
}

BlockRound direct_round(std::int64_t members, std::int64_t root, bool own_block) {
  BlockRound sends;
  for (std::int64_t m = 0; m < members; ++m) {
    if (m != root) sends.push_back(send_of(root, m, {{own_block ? m : 0, 1}}));
  }
  return sends;
}

bool has_arms(Algorithm algorithm) {
  return algorithm == Algorithm::kRing || algorithm == Algorithm::kTwoWayRing ||
         algorithm == Algorithm::kChain;
}

}  // namespace

std::optional<Schedule> broadcast_rounds(std::int64_t members, std::int64_t root,
                                         const AlgorithmChoice& choice) {
  const auto schedule = [&](std::int64_t blocks, std::int64_t rounds, Schedule::MakeRound make) {
    return Schedule(CollectiveKind::kBroadcast, members, blocks, root, rounds, std::move(make));
  };
  if (choice.algorithm == Algorithm::kDirect) {
    return schedule(1, members > 1 ? 1 : 0,
                    [members, root](std::int64_t) { return direct_round(members, root, false); });
  }
  if (choice.algorithm == Algorithm::kTree) {
    return schedule(1, halvings(members), [members, root](std::int64_t round) {
      BlockRound sends;
      for (const Part& part : parts_at(members, round)) {
        sends.push_back(
            send_of((part.low + root) % members, (part.middle() + root) % members, {{0, 1}}));
      }
      return sends;
    });
  }
  if (!has_arms(choice.algorithm)) return std::nullopt;
  const std::int64_t segments = choice.segments;
  std::vector<Arm> arms = arms_of(members, root, choice.algorithm);
  const std::int64_t rounds = members > 1 ? longest(arms) + segments - 1 : 0;
  return schedule(segments, rounds, [arms = std::move(arms), root, segments](std::int64_t round) {
    BlockRound sends;
    for_each_hop(arms, root, [&](std::int64_t from, std::int64_t to, std::int64_t i, const Arm&) {
      const std::int64_t segment = round - i;
      if (segment >= 0 && segment < segments) sends.push_back(send_of(from, to, {{segment, 1}}));
    });
    return sends;
  });
}

std::optional<Schedule> scatter_rounds(std::int64_t members, std::int64_t root,
                                       Algorithm algorithm) {
  const auto schedule = [&](std::int64_t rounds, Schedule::MakeRound make) {
    return Schedule(CollectiveKind::kScatter, members, members, root, rounds, std::move(make));
  };
  if (algorithm == Algorithm::kDirect) {
    return schedule(members > 1 ? 1 : 0,
                    [members, root](std::int64_t) { return direct_round(members, root, true); });
  }
  if (algorithm == Algorithm::kTree) {
    return schedule(halvings(members), [members, root](std::int64_t round) {
      BlockRound sends;
      for (const Part& part : parts_at(members, round)) {
        const std::int64_t to = (part.middle() + root) % members;
        sends.push_back(send_of((part.low + root) % members, to,
                                circular(to, part.high - part.middle(), members)));
      }
      return sends;
    });
  }
  if (!has_arms(algorithm)) return std::nullopt;
  std::vector<Arm> arms = arms_of(members, root, algorithm);
  const std::int64_t rounds = longest(arms);
  // The block of the last member of an arm leaves first: that of position d leaves in round
  // length - 1 - d, and reaches position i after i more rounds.
  return schedule(rounds, [arms = std::move(arms), root](std::int64_t round) {
    BlockRound sends;
    for_each_hop(arms, root,
                 [&](std::int64_t from, std::int64_t to, std::int64_t i, const Arm& arm) {
                   const std::int64_t d = static_cast<std::int64_t>(arm.size()) - 1 - (round - i);
                   if (round < i || d < i) return;
                   sends.push_back(send_of(from, to, {{arm[static_cast<std::size_t>(d)], 1}}));
                 });
    return sends;
  });
}

}  // namespace tessera::reshard
