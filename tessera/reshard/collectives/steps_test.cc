// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/collectives/steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/notation/notation.h"
#include "tessera/reshard/collectives/collective.h"
#include "tessera/reshard/reshard.h"
#include "tessera/reshard/transfers.h"
#include "tessera/testing/reshard/collective_cases.h"
#include "tessera/testing/reshard/reshard_laws.h"
#include "tessera/testing/reshard/reshard_runs.h"
#include "tessera/testing/tuples.h"

namespace tessera::reshard {
namespace {

using test::CollectiveCase;
using test::Dice;
using test::for_each_tuple;
using test::naive_reshard;
using test::NaiveHome;
using test::NaivePlace;
using test::NaiveReshard;
using test::ReshardPair;
using test::ReshardSource;

/// (place on the placement's own mesh, slot) → value.
using Memory = std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t>;

std::int64_t combined(Reduction reduction, std::int64_t x, std::int64_t y) {
  switch (reduction) {
    case Reduction::kSum:
      return x + y;
    case Reduction::kProduct:
      return x * y;
    case Reduction::kMin:
      return std::min(x, y);
    case Reduction::kMax:
      return std::max(x, y);
    case Reduction::kAnd:
      return x & y;
    case Reduction::kOr:
      return x | y;
  }
  return 0;
}

/// The value of one share of an element; any numbers that differ.
std::int64_t share_value(std::size_t element, std::size_t share) {
  return static_cast<std::int64_t>(element * 7 + share * 1000 + 3);
}

/// Carries out the transfers of one step; the first value that arrives at a slot needs no neutral
/// element.
Memory carry_out(const Reshard& step, const Memory& from, Reduction reduction) {
  Memory to;
  const Status status = for_each_transfer(step, {}, [&](const Transfer& transfer) {
    std::vector<std::int64_t> extents;
    for (const BoxLoop& loop : transfer.loops) extents.push_back(loop.extent);
    for_each_tuple(extents, [&](const std::vector<std::int64_t>& i) {
      std::pair source = {transfer.source_virtual, transfer.source_slot};
      std::pair destination = {transfer.destination_virtual, transfer.destination_slot};
      for (std::size_t k = 0; k < i.size(); ++k) {
        source.second += i[k] * transfer.loops[k].source_stride;
        destination.second += i[k] * transfer.loops[k].destination_stride;
      }
      const std::int64_t value = from.at(source);
      const auto [entry, fresh] = to.emplace(destination, value);
      if (!fresh) {
        entry->second = transfer.combines ? combined(reduction, entry->second, value) : value;
      }
    });
    return ok_status();
  });
  EXPECT_TRUE(status.ok());
  return to;
}

/// Steps lead from A to B, and what they compute is what the reshard computes.
std::string steps_mistake(const ReshardPair& pair, const NaiveReshard& moves) {
  const Result<Reshard> reshard = Reshard::make(pair.from, pair.to, pair.physical);
  if (!reshard.ok()) return reshard.error().message;
  const Result<std::vector<Reshard>> steps = steps_of(*reshard);
  if (!steps.ok()) return steps.error().message;
  if (steps->empty() || steps->front().from() != pair.from || steps->back().to() != pair.to) {
    return "the steps do not lead from A to B";
  }
  if (moves.from.empty()) return "";
  Reduction reduction = Reduction::kSum;
  Memory memory;
  for (std::size_t x = 0; x < moves.from.size(); ++x) {
    const NaiveHome& home = moves.from[x];
    if (!home.partials.empty()) reduction = home.partials.front().second;
    for (std::size_t share = 0; share < home.shares.size(); ++share) {
      for (const NaivePlace& place : home.shares[share]) {
        const auto [entry, fresh] =
            memory.emplace(std::pair(place.place, home.slot), share_value(x, share));
        // A view whose elements or shares are in one slot cannot have a value for each.
        if (!fresh && entry->second != share_value(x, share)) return "";
      }
    }
  }
  const Memory expected = carry_out(*reshard, memory, reduction);
  for (std::size_t i = 0; i < steps->size(); ++i) {
    const Reshard& step = (*steps)[i];
    if (i > 0 && (*steps)[i - 1].to() != step.from()) return "the steps do not follow each other";
    const ReshardPair own{step.from(), step.to(), pair.physical};
    const NaiveReshard own_moves = naive_reshard(own.from, own.to, own.physical);
    if (std::string wrong = transfer_mistake(own, own_moves); !wrong.empty()) {
      return cat("step ", i, ": ", wrong);
    }
    memory = carry_out(step, memory, reduction);
  }
  return memory == expected ? "" : "the last step does not leave what the reshard leaves";
}

TEST(Steps, RandomPairsEndInB) {
  int tried = 0;  // fewer under sanitizers
  int several = 0;
  const auto law = [&](const ReshardPair& pair, const NaiveReshard& moves) {
    ++tried;
    const Result<Reshard> reshard = Reshard::make(pair.from, pair.to, pair.physical);
    if (reshard.ok()) {
      const Result<std::vector<Reshard>> steps = steps_of(*reshard);
      several += steps.ok() && steps->size() > 1 ? 1 : 0;
    }
    return steps_mistake(pair, moves);
  };
  reshard_law_holds(3000, ReshardSource::kForms, law);
  reshard_law_holds(3000, ReshardSource::kTexts, law);
  EXPECT_GT(several * 60, tried);  // more than 100 of 6000
}

TEST(Steps, CasesMadeFromCollectivesEndInB) {
  int several = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Dice dice(seed);
    const CollectiveCase made = random_collective(dice);
    const NaiveReshard moves = naive_reshard(made.pair.from, made.pair.to, made.pair.physical);
    ASSERT_EQ(steps_mistake(made.pair, moves), "") << "seed " << seed << describe(made.pair);
    const Reshard reshard = *Reshard::make(made.pair.from, made.pair.to, made.pair.physical);
    several += steps_of(reshard)->size() > 1 ? 1 : 0;
  }
  EXPECT_GT(several, 100);
}

Placement placed(const std::string& text) {
  const Result<Tensor> tensor = parse_tensor(text);
  EXPECT_TRUE(tensor.ok()) << text;
  return tensor->placement;
}

Reshard between(const std::string& a, const std::string& b) {
  const Placement from = placed("tensor<8x8xf32, " + a + ">");
  const Placement to = placed("tensor<8x8xf32, " + b + ">");
  return *Reshard::make(from, to, *PhysicalMesh::around(from, to));
}

std::string kinds_of(const std::vector<Reshard>& steps) {
  std::string text;
  for (const Reshard& step : steps) {
    const Result<std::optional<Collectives>> found = collectives_of(step);
    text += cat(text.empty() ? "" : "; ", found.ok() && *found ? describe(**found) : "none");
  }
  return text;
}

TEST(Steps, AnAllReduceBecomesTwoSteps) {
  const Reshard reshard =
      between("dtensor<mesh=[4], [Partial(sum)]>", "dtensor<mesh=[4], [Replicate()]>");
  const std::vector<Reshard> steps = *steps_of(reshard);
  EXPECT_EQ(kinds_of(steps), "reduce_scatter over 1 group of 4; all_gather over 1 group of 4");
  // Directly, 4 places receive 256 bytes from each of 3 others. In two steps they receive 64 bytes
  // from each, twice.
  EXPECT_EQ(cost_of(reshard)->bytes, 4 * 3 * 256);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(cost_of(steps[0])->bytes, 4 * 3 * 64);
  EXPECT_EQ(cost_of(steps[1])->bytes, 4 * 3 * 64);
}

TEST(Steps, TwoAxesOfShares) {
  // B cuts one of the two axes along which A has shares: that cut comes first.
  const std::vector<Reshard> steps =
      *steps_of(between("dtensor<mesh=[2,4], [Partial(sum), Partial(sum)]>",
                        "dtensor<mesh=[2,4], [Shard(1), Replicate()]>"));
  EXPECT_EQ(kinds_of(steps), "reduce_scatter over 1 group of 8; all_gather over 2 groups of 4");
}

TEST(Steps, OthersAreOneStep) {
  const auto count = [](const std::string& a, const std::string& b) {
    return steps_of(between(a, b))->size();
  };
  EXPECT_EQ(count("dtensor<mesh=[4], [Partial(sum)]>", "dtensor<mesh=[4], [Shard(0)]>"), 1U);
  EXPECT_EQ(count("dtensor<mesh=[4], [Shard(0)]>", "dtensor<mesh=[4], [Replicate()]>"), 1U);
  EXPECT_EQ(count("dtensor<mesh=[4], [Partial(sum)]>", "dtensor<mesh=[4], [Partial(sum)]>"), 1U);
  // 16 shares cannot be parts of 8 rows or of 8 columns.
  EXPECT_EQ(count("dtensor<mesh=[16], [Partial(sum)]>", "dtensor<mesh=[16], [Replicate()]>"), 1U);
}

}  // namespace
}  // namespace tessera::reshard
