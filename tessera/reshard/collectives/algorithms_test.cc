// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/collectives/algorithms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/reshard/schedule_law.h"

namespace tessera::reshard {
namespace {

using test::Dice;
using test::schedule_mistake;
using enum CollectiveKind;
using enum Algorithm;

const std::vector<CollectiveKind> kKinds = {kAllGather, kReduceScatter, kAllReduce, kAllToAll,
                                            kBroadcast, kReduce,        kScatter,   kGather};
const std::vector<Algorithm> kPlain = {kDirect, kRing,     kTwoWayRing, kChain,
                                       kTree,   kDoubling, kPairwise};

std::int64_t log2_up(std::int64_t members) {
  std::int64_t rounds = 0;
  while ((std::int64_t{1} << rounds) < members) ++rounds;
  return rounds;
}

std::int64_t log2_down(std::int64_t members) {
  std::int64_t rounds = 0;
  while ((std::int64_t{2} << rounds) <= members) ++rounds;
  return rounds;
}

/// Every choice of algorithm and parameters for a group of this size.
std::vector<AlgorithmChoice> choices_for(std::int64_t members) {
  std::vector<AlgorithmChoice> choices;
  for (const Algorithm algorithm : kPlain) {
    for (const std::int64_t segments : {1, 2, 5}) choices.push_back({algorithm, segments});
    choices.push_back({kScattered, 1, 1, algorithm});
    for (std::int64_t rows = 1; rows <= members; ++rows) {
      if (members % rows == 0) choices.push_back({kTwoPhase, 3, rows, algorithm});
    }
  }
  return choices;
}

std::string text_of(CollectiveKind kind, std::int64_t members, std::int64_t root,
                    const AlgorithmChoice& choice) {
  return cat(collective_name(kind), " of ", members, " members, root ", root, ", by ",
             algorithm_name(choice.algorithm), " in ", choice.segments, " segments, ", choice.rows,
             " rows, inner ", algorithm_name(choice.inner));
}

bool has_root(CollectiveKind kind) {
  return kind == kBroadcast || kind == kReduce || kind == kScatter || kind == kGather;
}

TEST(Algorithms, EveryScheduleDoesWhatItsCollectivePromises) {
  std::int64_t schedules = 0;
  std::set<std::string> supported;
  for (std::int64_t members = 1; members <= 17; ++members) {
    for (const CollectiveKind kind : kKinds) {
      for (const AlgorithmChoice& choice : choices_for(members)) {
        for (std::int64_t root = 0; root < (has_root(kind) ? members : 1); ++root) {
          const Result<Schedule> schedule = schedule_of(kind, members, root, choice);
          if (!schedule.ok()) {
            EXPECT_EQ(schedule.error().code, ErrorCode::kNotSupported);
            continue;
          }
          ++schedules;
          supported.insert(cat(collective_name(kind), " ", algorithm_name(choice.algorithm)));
          ASSERT_EQ(schedule_mistake(*schedule), "") << text_of(kind, members, root, choice);
          ASSERT_EQ(schedule->kind(), kind);
          ASSERT_EQ(schedule->members(), members);
          ASSERT_EQ(schedule->root(), root) << text_of(kind, members, root, choice);
        }
      }
    }
  }
  // 8 kinds by direct, ring, two_way_ring, chain, tree and two_phase; 3 scattered; all_reduce by
  // doubling; all_to_all pairwise.
  EXPECT_EQ(supported.size(), 8U * 6 + 3 + 1 + 1);
  EXPECT_GT(schedules, 20000);
}

/// Law: a round that repeats the one before it is like it.
TEST(Algorithms, RoundsThatRepeatAreAlike) {
  std::map<std::string, std::int64_t> repeated;
  for (std::int64_t members = 1; members <= 13; ++members) {
    for (const CollectiveKind kind : kKinds) {
      for (const AlgorithmChoice& choice : choices_for(members)) {
        for (std::int64_t root = 0; root < (has_root(kind) ? members : 1); ++root) {
          const Result<Schedule> schedule = schedule_of(kind, members, root, choice);
          if (!schedule.ok()) continue;
          EXPECT_FALSE(schedule->repeats(0));
          for (std::int64_t round = 1; round < schedule->rounds(); ++round) {
            if (!schedule->repeats(round)) continue;
            ++repeated[std::string(algorithm_name(choice.algorithm))];
            ASSERT_TRUE(alike(schedule->round(round - 1), schedule->round(round)))
                << text_of(kind, members, root, choice) << ", round " << round;
          }
        }
      }
    }
  }
  for (const char* name : {"ring", "two_way_ring", "scattered", "two_phase"}) {
    EXPECT_GT(repeated[name], 100) << name;
  }
  const Schedule tree = *schedule_of(kAllGather, 8, 0, {kTree});
  EXPECT_FALSE(alike(tree.round(0), tree.round(1)));
}

TEST(Algorithms, APermuteIsOneRound) {
  const std::vector<std::int32_t> moves = {2, 1, -1, 0, 4};
  const Schedule schedule = permute_schedule(moves);
  EXPECT_EQ(schedule.rounds(), 1);
  EXPECT_EQ(schedule.round(0).size(), 2U);
  EXPECT_EQ(schedule_mistake(schedule, moves), "");
  EXPECT_EQ(permute_schedule({0, -1, 2}).rounds(), 0);
}

/// The rounds in the table of algorithms.h.
std::int64_t rounds_in_table(CollectiveKind kind, std::int64_t p, std::int64_t root,
                             const AlgorithmChoice& choice) {
  const std::int64_t half = p / 2;  // ⌈(p - 1) / 2⌉
  const std::int64_t more = choice.segments - 1;
  const bool whole = kind == kBroadcast || kind == kReduce;
  const bool one_root = has_root(kind);
  if (p == 1) return 0;
  switch (choice.algorithm) {
    case kDirect:
      return kind == kAllReduce ? 2 : 1;
    case kRing:
      return kind == kAllReduce ? 2 * (p - 1) : p - 1 + (whole ? more : 0);
    case kTwoWayRing:
      return kind == kAllReduce ? 2 * half : half + (whole ? more : 0);
    case kChain:
      if (kind == kAllReduce) return 2 * (p - 1 + more);
      return (one_root ? std::max(root, p - 1 - root) : p - 1) + (whole ? more : 0);
    case kTree:
      return kind == kAllReduce ? 2 * log2_up(p) : log2_up(p);
    case kDoubling:
      return log2_down(p) + (log2_down(p) == log2_up(p) ? 0 : 2);
    case kPairwise:
      return p - 1;
    default:
      return -1;
  }
}

TEST(Algorithms, RoundsAreThoseOfTheTable) {
  for (std::int64_t members = 1; members <= 40; ++members) {
    for (const CollectiveKind kind : kKinds) {
      for (const Algorithm algorithm : kPlain) {
        for (const std::int64_t segments : {1, 4}) {
          const AlgorithmChoice choice{algorithm, segments};
          const std::int64_t root = has_root(kind) ? members / 3 : 0;
          const Result<Schedule> schedule = schedule_of(kind, members, root, choice);
          if (!schedule.ok()) continue;
          EXPECT_EQ(schedule->rounds(), rounds_in_table(kind, members, root, choice))
              << text_of(kind, members, root, choice);
        }
      }
    }
  }
}

std::vector<std::int64_t> sizes_for(const Schedule& schedule, Dice& dice) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t block = 0; block < schedule.blocks(); ++block) sizes.push_back(dice.below(9));
  return sizes;
}

TEST(Algorithms, NothingIsBelowTheLowerBound) {
  Dice dice(1);
  for (std::int64_t members = 1; members <= 17; ++members) {
    for (const CollectiveKind kind : kKinds) {
      for (const AlgorithmChoice& choice : choices_for(members)) {
        const std::int64_t root = has_root(kind) ? members - 1 : 0;
        const Result<Schedule> schedule = schedule_of(kind, members, root, choice);
        if (!schedule.ok()) continue;
        const std::vector<std::int64_t> sizes = sizes_for(*schedule, dice);
        const std::int64_t least = least_total_bytes(kind, members, root, sizes);
        const Traffic traffic = traffic_of(*schedule, sizes);
        EXPECT_GE(traffic.total_bytes, least) << text_of(kind, members, root, choice);
        EXPECT_GE(traffic.serial_bytes, traffic.most_sent_bytes);
        EXPECT_GE(traffic.most_sent_bytes * members, traffic.total_bytes);
        // No block crosses twice, except relayed ones and in the exchange of whole vectors.
        const Algorithm moves = choice.algorithm == kTwoPhase || choice.algorithm == kScattered
                                    ? choice.inner
                                    : choice.algorithm;
        const bool relays = kind == kScatter || kind == kGather || kind == kAllToAll;
        if (relays || moves == kDoubling || choice.algorithm == kScattered) continue;
        EXPECT_EQ(traffic.total_bytes, least) << text_of(kind, members, root, choice);
      }
    }
  }
}

TEST(Algorithms, BytesOfOneMemberAreThoseOfTheTable) {
  // 12 members with blocks of 24 bytes.
  constexpr std::int64_t kMembers = 12;
  constexpr std::int64_t kBlock = 24;
  constexpr std::int64_t kAll = kMembers * kBlock;
  const auto sent = [&](CollectiveKind kind, const AlgorithmChoice& choice) {
    const Result<Schedule> schedule = schedule_of(kind, kMembers, 0, choice);
    EXPECT_TRUE(schedule.ok());
    // The whole is as large as 12 blocks for every kind.
    const std::int64_t each = kAll / schedule->blocks();
    return traffic_of(*schedule,
                      std::vector<std::int64_t>(static_cast<std::size_t>(schedule->blocks()), each))
        .most_sent_bytes;
  };
  for (const Algorithm algorithm : {kDirect, kRing, kTwoWayRing, kTree}) {
    EXPECT_EQ(sent(kAllGather, {algorithm}), (kMembers - 1) * kBlock) << algorithm_name(algorithm);
    EXPECT_EQ(sent(kScatter, {algorithm}), (kMembers - 1) * kBlock) << algorithm_name(algorithm);
  }
  EXPECT_EQ(sent(kAllGather, {kChain}), (kMembers + 1) * kBlock);
  EXPECT_EQ(sent(kBroadcast, {kDirect}), (kMembers - 1) * kAll);
  EXPECT_EQ(sent(kBroadcast, {kRing, 4}), kAll);
  EXPECT_EQ(sent(kBroadcast, {kTwoWayRing, 4}), 2 * kAll);
  EXPECT_EQ(sent(kBroadcast, {kTree}), 4 * kAll);
  EXPECT_EQ(sent(kAllToAll, {kDirect}), (kMembers - 1) * kAll / kMembers / kMembers);
  EXPECT_EQ(sent(kAllToAll, {kPairwise}), (kMembers - 1) * kAll / kMembers / kMembers);
  EXPECT_EQ(sent(kAllToAll, {kRing}), (kMembers - 1) * kAll / kMembers / 2);
  EXPECT_EQ(sent(kAllToAll, {kTwoWayRing}), kAll / 4);
  // On a line, members 5 and 6 pass on 71 of the 144 blocks; by bits, each sends 6 + 6 + 4 + 4.
  EXPECT_EQ(sent(kAllToAll, {kChain}), 71 * kAll / 144);
  EXPECT_EQ(sent(kAllToAll, {kTree}), 20 * kAll / 144);
  // An all_reduce moves at least 2·(P - 1)/P·n per member. These reach it.
  constexpr std::int64_t kLeast = 2 * (kMembers - 1) * kBlock;
  EXPECT_EQ(sent(kAllReduce, {kRing}), kLeast);
  EXPECT_EQ(sent(kAllReduce, {kTwoWayRing}), kLeast);
  EXPECT_EQ(sent(kAllReduce, {kScattered, 1, 1, kTree}), kLeast);
  EXPECT_EQ(sent(kAllReduce, {kTwoPhase, 1, 3, kRing}), kLeast);
  EXPECT_EQ(sent(kAllReduce, {kDirect}), (kMembers - 1) * kAll);
  EXPECT_EQ(sent(kAllReduce, {kDoubling}), 4 * kAll);
  EXPECT_EQ(sent(kAllReduce, {kTree}), 4 * kAll);
}

TEST(Algorithms, AnAllReduceOf16MembersByHand) {
  // 16 members of 1600 bytes: the ring takes 2·15 rounds of 100 bytes, recursive halving and
  // doubling 4 + 4 rounds of 800, 400, 200, 100, 100, 200, 400, 800 bytes, doubling 4 rounds of
  // 1600.
  const auto traffic = [](const AlgorithmChoice& choice, std::int64_t each) {
    const Schedule schedule = *schedule_of(kAllReduce, 16, 0, choice);
    return traffic_of(schedule,
                      std::vector<std::int64_t>(static_cast<std::size_t>(schedule.blocks()), each));
  };
  EXPECT_EQ(traffic({kRing}, 100).rounds, 30);
  EXPECT_EQ(traffic({kRing}, 100).serial_bytes, 3000);
  EXPECT_EQ(traffic({kScattered, 1, 1, kTree}, 100).rounds, 8);
  EXPECT_EQ(traffic({kScattered, 1, 1, kTree}, 100).serial_bytes, 3000);
  EXPECT_EQ(traffic({kDoubling}, 1600).rounds, 4);
  EXPECT_EQ(traffic({kDoubling}, 1600).serial_bytes, 6400);
  // 4 rows of 4: 3 rounds of 400 bytes in rows, 6 of 100 in columns, 3 of 400 in rows.
  EXPECT_EQ(traffic({kTwoPhase, 1, 4, kRing}, 100).rounds, 12);
  EXPECT_EQ(traffic({kTwoPhase, 1, 4, kRing}, 100).serial_bytes, 3000);
}

TEST(Algorithms, InvalidParametersAreErrors) {
  const auto code = [](CollectiveKind kind, std::int64_t members, std::int64_t root,
                       const AlgorithmChoice& choice) {
    const Result<Schedule> schedule = schedule_of(kind, members, root, choice);
    EXPECT_FALSE(schedule.ok());
    return schedule.ok() ? ErrorCode::kUsage : schedule.error().code;
  };
  EXPECT_EQ(code(kAllGather, 0, 0, {kRing}), ErrorCode::kOutOfRange);
  EXPECT_EQ(code(kBroadcast, 4, 4, {kRing}), ErrorCode::kOutOfRange);
  EXPECT_EQ(code(kBroadcast, 4, -1, {kRing}), ErrorCode::kOutOfRange);
  EXPECT_EQ(code(kBroadcast, 4, 0, {kChain, 0}), ErrorCode::kOutOfRange);
  EXPECT_EQ(code(kAllGather, 6, 0, {kTwoPhase, 1, 4, kRing}), ErrorCode::kOutOfRange);
  EXPECT_EQ(code(kAllGather, 6, 0, {kTwoPhase, 1, 0, kRing}), ErrorCode::kOutOfRange);
  EXPECT_EQ(code(kAllGather, (std::int64_t{1} << 16) + 1, 0, {kRing}), ErrorCode::kTooLarge);
  EXPECT_EQ(code(kAllToAll, (std::int64_t{1} << 12) + 1, 0, {kRing}), ErrorCode::kTooLarge);
  EXPECT_EQ(code(kAllGather, 4, 0, {kDoubling}), ErrorCode::kNotSupported);
  EXPECT_EQ(code(kAllGather, 4, 0, {kScattered, 1, 1, kRing}), ErrorCode::kNotSupported);
  EXPECT_EQ(code(kAllGather, 4, 0, {kTwoPhase, 1, 2, kTwoPhase}), ErrorCode::kNotSupported);
  EXPECT_EQ(code(kAllReduce, 4, 0, {kScattered, 1, 1, kTwoPhase}), ErrorCode::kNotSupported);
  EXPECT_EQ(code(kSlice, 4, 0, {kDirect}), ErrorCode::kNotSupported);
  EXPECT_EQ(code(kPermute, 4, 0, {kDirect}), ErrorCode::kNotSupported);
}

}  // namespace
}  // namespace tessera::reshard
