// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/round_prices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/moves/collective_choices.h"
#include "tessera/moves/price.h"
#include "tessera/notation/tensor.h"
#include "tessera/target/machine.h"
#include "tessera/testing/generate.h"

namespace tessera::moves {
namespace {

using reshard::AlgorithmChoice;
using reshard::Collective;

/// The rounds of an algorithm, message by message.
struct Listed {
  double cycles = 0;
  std::int64_t bytes = 0;
  bool multicasts = false;  ///< in some round
  bool possible = true;     ///< false: receivers of a multicast fill no box
};

/// One multicast per source, to all that it sends to.
std::vector<fabric::Multicast> by_source(const std::vector<fabric::Message>& messages) {
  std::map<std::int32_t, fabric::Multicast> multicasts;
  for (const fabric::Message& message : messages) {
    fabric::Multicast& own = multicasts[message.source];
    own.source = message.source;
    own.bytes = message.bytes;
    own.transactions = message.transactions;
    own.receivers.push_back(message.destination);
  }
  std::vector<fabric::Multicast> list;
  for (auto& [source, own] : multicasts) {
    std::sort(own.receivers.begin(), own.receivers.end());
    list.push_back(own);
  }
  return list;
}

Listed listed(const Collective& collective, const AlgorithmChoice& choice, bool multicasts,
              const reshard::Reshard& reshard, const RoundWork& work, PriceTables& tables) {
  Listed sum;
  const Result<reshard::Schedule> schedule = reshard::schedule_of(collective, choice);
  EXPECT_TRUE(schedule.ok());
  for (std::int64_t round = 0; round < schedule->rounds(); ++round) {
    std::vector<fabric::Message> messages;
    std::map<std::int64_t, std::int64_t> combined;
    const Status status = reshard::for_each_message(
        collective, *schedule, round, [&](const reshard::RoundMessage& message) {
          messages.push_back({static_cast<std::int32_t>(message.source),
                              static_cast<std::int32_t>(message.destination),
                              reshard.bytes(message.elements), message.pieces});
          sum.bytes += messages.back().bytes;
          if (message.combines) combined[message.destination] += message.elements;
          return ok_status();
        });
    EXPECT_TRUE(status.ok());
    if (messages.empty()) continue;
    if (multicasts && sends_copies(schedule->round(round))) {
      const std::vector<fabric::Multicast> own = by_source(messages);
      const auto best = tables.multicasts.best(own);
      EXPECT_TRUE(best.ok());
      sum.possible = sum.possible && best->has_value();
      if (!sum.possible) return sum;
      sum.multicasts = true;
      sum.cycles += std::max((*best)->cost.cycles, work.places.memory_cycles(own, tables));
      continue;
    }
    const Result<fabric::BestTravel> best = tables.network.best(messages);
    EXPECT_TRUE(best.ok());
    sum.cycles += std::max(best->cost.cycles, work.places.memory_cycles(messages, tables));
    std::int64_t most = 0;
    for (const auto& [place, elements] : combined) most = std::max(most, elements);
    sum.cycles += static_cast<double>(most) / work.reduced_per_cycle;
  }
  return sum;
}

Placement placement_of(std::string_view text) {
  const Result<Tensor> tensor = parse_tensor(text);
  EXPECT_TRUE(tensor.ok()) << text << ": " << tensor.error().message;
  return tensor->placement;
}

/// Whatever the tables know from other sizes: blocks of the same collectives come in several sizes,
/// equal and uneven ones.
TEST(RoundPrices, AreThoseOfTheMessages) {
  constexpr std::string_view kKinds[] = {"Shard(0)", "Shard(1)", "Replicate()", "Partial(sum)"};
  std::int64_t compared = 0;
  std::int64_t long_ones = 0;
  std::int64_t with_multicasts = 0;
  for (const std::string_view name : {"wormhole", "blackhole"}) {
    const Machine machine = **find_machine(name);
    const Result<MoveModel> model = MoveModel::make(machine);
    ASSERT_TRUE(model.ok());
    PriceTables tables(machine, *model->routes());
    test::Dice dice(7);
    for (int i = 0; i < 300 && !testing::Test::HasFailure(); ++i) {
      const bool large = i % 10 == 0;
      const auto mesh = [&] {
        return large ? std::pair(8, 8)
                     : std::pair(int(dice.between(1, 5)), int(dice.between(1, 5)));
      }();
      const auto text = [&](std::string_view shape, std::string_view x, std::string_view y) {
        return cat("tensor<", shape, "xbf16, dtensor<mesh=[", mesh.first, ",", mesh.second, "], [",
                   x, ", ", y, "]>>");
      };
      const auto kind = [&] { return kKinds[static_cast<std::size_t>(dice.below(4))]; };
      const std::string shape = dice.below(3) == 0
                                    ? cat(dice.between(1, 90), "x", dice.between(1, 90))
                                    : cat(64 * dice.between(1, 200), "x", 64 * dice.between(1, 9));
      const std::string a = text(shape, kind(), kind());
      const std::string b = text(shape, kind(), kind());
      SCOPED_TRACE(cat(name, ": ", a, " to ", b));
      const Result<reshard::Reshard> reshard =
          reshard::Reshard::make(placement_of(a), placement_of(b), model->mesh());
      if (!reshard) continue;
      const auto collectives = reshard::collectives_of(*reshard);
      if (!collectives || !*collectives) continue;
      RoundWork work{PlaceWork(machine, 0, 0), nullptr, 128};
      const MemberEnds ends;
      RoundPrices prices(*reshard, ends, work, tables, machine);
      for (const Collective& step : (*collectives)->steps) {
        if (step.kind == reshard::CollectiveKind::kSlice) continue;
        PlacedCollective placed(step);
        for (std::size_t c = 0; c < 2 * choices_for(step).size(); ++c) {
          const AlgorithmChoice choice = choices_for(step)[c / 2];
          const bool multicasts = c % 2 == 1;
          const auto priced = prices.price(placed, choice, multicasts, {});
          ASSERT_TRUE(priced.ok()) << priced.error().message;
          if (!*priced && (!multicasts || !reshard::schedule_of(step, choice))) continue;
          const Listed sum = listed(step, choice, multicasts, *reshard, work, tables);
          EXPECT_EQ(priced->has_value(), !multicasts || (sum.possible && sum.multicasts));
          if (!*priced) continue;
          if (multicasts) ++with_multicasts;
          EXPECT_DOUBLE_EQ((*priced)->cycles, sum.cycles) << (*priced)->name;
          EXPECT_EQ((*priced)->bytes, sum.bytes) << (*priced)->name;
          EXPECT_EQ((*priced)->busiest.empty(),
                    (*priced)->dominated_by == fabric::Term::kLatency || sum.bytes == 0)
              << (*priced)->name;
          ++compared;
          if (step.members == 64) ++long_ones;
        }
      }
    }
  }
  EXPECT_GT(compared, 500);
  EXPECT_GT(long_ones, 20);
  EXPECT_GT(with_multicasts, 100);
}

}  // namespace
}  // namespace tessera::moves
