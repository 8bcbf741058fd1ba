// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/collectives/messages.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/notation/notation.h"
#include "tessera/testing/process.h"
#include "tessera/testing/reshard/collective_cases.h"

namespace tessera::reshard {
namespace {

using test::CollectiveCase;
using test::Dice;
using test::kSanitized;
using enum CollectiveKind;
using enum Algorithm;

Placement placed(const std::string& text) {
  const Result<Tensor> tensor = parse_tensor(text);
  EXPECT_TRUE(tensor.ok()) << text;
  return tensor->placement;
}

Collectives found_between(const std::string& a, const std::string& b) {
  const Placement from = placed(a);
  const Placement to = placed(b);
  return **collectives_of(*Reshard::make(from, to, *PhysicalMesh::around(from, to)));
}

/// "0>1:12 1>2:8", in the order of the messages.
std::string round_text(const Collective& step, const Schedule& schedule, std::int64_t round) {
  std::string text;
  const Status status =
      for_each_message(step, schedule, round, [&](const RoundMessage& message) -> Status {
        text += cat(text.empty() ? "" : " ", message.source, ">", message.destination, ":",
                    message.elements, message.combines ? "+" : "");
        return ok_status();
      });
  EXPECT_TRUE(status.ok());
  return text;
}

TEST(Messages, RingsOfUnevenShards) {
  // 8 rows over 3 places are 3, 3 and 2; two columns of places, each with one column.
  const Collectives found =
      found_between("tensor<8x2xf32, pyflame.Grid(3, 2)>",
                    "tensor<8x2xf32, pyflame.Grid(3, 2, dim_to_pe=[-1, 1], replicate=[0])>");
  ASSERT_EQ(found.steps.size(), 1U);
  const Collective& step = found.steps[0];
  const Schedule ring = *schedule_of(step, {kRing});
  ASSERT_EQ(ring.rounds(), 2);
  EXPECT_EQ(round_text(step, ring, 0), "0>2:3 2>4:3 4>0:2 1>3:3 3>5:3 5>1:2");
  EXPECT_EQ(round_text(step, ring, 1), "0>2:2 2>4:3 4>0:3 1>3:2 3>5:3 5>1:3");
}

TEST(Messages, EmptyBlocksSendNothing) {
  // 2 rows over 4 places: the last two have none.
  const Collectives found =
      found_between("tensor<2x1xf32, pyflame.RowPartition(4)>",
                    "tensor<2x1xf32, pyflame.Grid(4, 1, dim_to_pe=[-1, -1], replicate=[0])>");
  ASSERT_EQ(found.steps.size(), 1U);
  const Schedule direct = *schedule_of(found.steps[0], {kDirect});
  EXPECT_EQ(round_text(found.steps[0], direct, 0), "0>1:1 0>2:1 0>3:1 1>0:1 1>2:1 1>3:1");
}

TEST(Messages, AReductionInSegments) {
  // 5 elements, shares on 3 places, to place 0: two segments of 3 and 2.
  const Collectives found =
      found_between("tensor<5x1xf32, pyflame.Grid(3, 1, dim_to_pe=[-1, -1], partial=[0:sum])>",
                    "tensor<5x1xf32, pyflame.SinglePE()>");
  ASSERT_EQ(found.steps.size(), 1U);
  const Collective& step = found.steps[0];
  const Schedule chain = *schedule_of(step, {kChain, 2});
  ASSERT_EQ(chain.rounds(), 3);
  EXPECT_EQ(round_text(step, chain, 0), "2>1:2+");
  EXPECT_EQ(round_text(step, chain, 1), "1>0:2+ 2>1:3+");
  EXPECT_EQ(round_text(step, chain, 2), "1>0:3+");
}

TEST(Messages, OtherSchedulesAreRefused) {
  const Collectives found = found_between("tensor<8x2xf32, pyflame.RowPartition(4)>",
                                          "tensor<8x2xf32, pyflame.SinglePE()>");
  const auto refused = [&](const Schedule& schedule) {
    const Status status = for_each_message(found.steps[0], schedule, 0,
                                           [](const RoundMessage&) { return ok_status(); });
    return !status.ok() && status.error().code == ErrorCode::kContradiction;
  };
  EXPECT_FALSE(refused(*schedule_of(kGather, 4, 0, {kTree})));
  EXPECT_TRUE(refused(*schedule_of(kGather, 4, 1, {kTree})));
  EXPECT_TRUE(refused(*schedule_of(kGather, 5, 0, {kTree})));
  EXPECT_TRUE(refused(*schedule_of(kScatter, 4, 0, {kTree})));
}

/// The blocks of a group add up to what its members have or get.
void expect_whole(const Collective& step, std::int64_t g, const std::vector<std::int64_t>& sizes) {
  std::int64_t sum = 0;
  for (const std::int64_t size : sizes) sum += size;
  for (std::int64_t m = 0; m < step.members; ++m) {
    if (step.kind == kAllGather || step.kind == kBroadcast || step.kind == kAllReduce) {
      ASSERT_EQ(sum, step.elements_after(g, m));
    }
    if (step.kind == kReduceScatter || step.kind == kReduce) {
      ASSERT_EQ(sum, step.elements_before(g, m));
    }
    if (step.kind != kAllToAll) continue;
    std::int64_t sent = 0;
    std::int64_t received = 0;
    for (std::int64_t other = 0; other < step.members; ++other) {
      sent += sizes[static_cast<std::size_t>(m * step.members + other)];
      received += sizes[static_cast<std::size_t>(other * step.members + m)];
    }
    ASSERT_EQ(sent, step.elements_before(g, m));
    ASSERT_EQ(received, step.elements_after(g, m));
  }
}

TEST(Messages, RoundsCarryTheBlocksOfEveryGroup) {
  std::map<std::string, int> tried;
  int equal = 0;
  int uneven = 0;
  for (std::uint64_t seed = 0; seed < (kSanitized ? 40 : 400); ++seed) {
    Dice dice(seed);
    const CollectiveCase made = random_collective(dice);
    const Reshard reshard = *Reshard::make(made.pair.from, made.pair.to, made.pair.physical);
    const std::optional<Collectives> found = *collectives_of(reshard);
    ASSERT_TRUE(found.has_value());
    for (const Collective& step : found->steps) {
      for (const Algorithm algorithm : {kDirect, kRing, kTwoWayRing, kChain, kTree, kScattered}) {
        const Result<Schedule> schedule = schedule_of(step, {algorithm, dice.between(1, 3)});
        if (!schedule.ok()) continue;
        ++tried[cat(collective_name(step.kind), " ", algorithm_name(algorithm))];
        std::int64_t elements = 0;
        std::int64_t messages = 0;
        const BlockSizes block_sizes(step, *schedule);
        (block_sizes.same() ? equal : uneven) += 1;
        for (std::int64_t g = 0; g < step.groups; ++g) {
          std::vector<std::int64_t> sizes;
          for (std::int64_t block = 0; block < schedule->blocks(); ++block) {
            sizes.push_back(block_elements(step, *schedule, g, block));
            ASSERT_EQ(block_sizes.elements(g, block), sizes.back());
          }
          expect_whole(step, g, sizes);
          const Traffic traffic = traffic_of(*schedule, sizes);
          elements += traffic.total_bytes;
          messages += traffic.messages;
        }
        for (std::int64_t round = 0; round < schedule->rounds(); ++round) {
          const Status status =
              for_each_message(step, *schedule, round, [&](const RoundMessage& message) {
                elements -= message.elements;
                --messages;
                EXPECT_NE(message.source, message.destination);
                EXPECT_GE(message.elements, message.pieces);
                return ok_status();
              });
          ASSERT_TRUE(status.ok());
        }
        ASSERT_EQ(elements, 0) << collective_name(step.kind);
        ASSERT_EQ(messages, 0);
      }
    }
  }
  // 8 kinds by 5 algorithms, 3 of them scattered, and permutes.
  EXPECT_EQ(tried.size(), 8U * 5 + 3 + 1);
  EXPECT_GT(equal, kSanitized ? 40 : 100);
  EXPECT_GT(uneven, kSanitized ? 40 : 100);
}

}  // namespace
}  // namespace tessera::reshard
