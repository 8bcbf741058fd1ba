// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/solver/greedy.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "bench/hard_instance.h"
#include "bench/transformer_trace.h"
#include "tessera/memory/solver/overlaps.h"
#include "tessera/memory/solver/packing.h"
#include "tessera/memory/solver/repair.h"
#include "tessera/memory/solver/skyline.h"
#include "tessera/memory/solver/waiting_blocks.h"
#include "tessera/memory/validate.h"
#include "tessera/testing/memory/naive_alloc.h"
#include "tessera/testing/process.h"

namespace tessera::memory {
namespace {

using test::Dice;

Buffer buffer(std::int64_t lower, std::int64_t upper, std::int64_t size) {
  Buffer made;
  made.lower = lower;
  made.upper = upper;
  made.size = size;
  return made;
}

Packing packed(const Problem& problem) {
  Result<Packing> packing = pack(problem);
  EXPECT_TRUE(packing.ok()) << packing.error().message;
  return std::move(packing).value();
}

std::vector<std::int64_t> copy(const Array<std::int64_t>& offsets) {
  return {offsets.begin(), offsets.end()};
}

/// The findings of validate for a plan of the blocks, as text; empty for a good one.
std::string flaws(const Problem& problem, const Packing& packing,
                  const Array<std::int64_t>& offsets, std::int64_t peak) {
  Array<std::int64_t> all;
  if (!spread(packing, offsets, all)) return "spread";
  for (const Finding& finding : validate(problem, all, peak)) return finding.message;
  if (peak != peak_of(packing, offsets)) return "not the peak of the plan";
  return peak < packing.lower_bound ? "below the lower bound" : "";
}

/// True when no two blocks overlap, for plans with too many pairs for validate: a sweep over time.
bool none_meet(const Packing& packing, const Array<std::int64_t>& offsets) {
  std::vector<std::vector<std::size_t>> births(static_cast<std::size_t>(packing.sections) + 1);
  std::vector<std::vector<std::size_t>> deaths(births.size());
  for (std::size_t i = 0; i < packing.blocks.size(); ++i) {
    births[static_cast<std::size_t>(packing.blocks[i].from)].push_back(i);
    deaths[static_cast<std::size_t>(packing.blocks[i].to)].push_back(i);
  }
  std::map<std::int64_t, std::int64_t> taken;  // from start to end
  for (std::size_t s = 0; s < births.size(); ++s) {
    for (const std::size_t i : deaths[s]) taken.erase(offsets[i]);
    for (const std::size_t i : births[s]) {
      const std::int64_t end = offsets[i] + packing.blocks[i].size;
      const auto above = taken.lower_bound(offsets[i]);
      if (above != taken.end() && above->first < end) return false;
      if (above != taken.begin() && std::prev(above)->second > offsets[i]) return false;
      taken.emplace_hint(above, offsets[i], end);
    }
  }
  return true;
}

TEST(WaitingBlocks, AnswersTheFirstOfTheOrderThatLivesWithin) {
  Dice dice(1);
  for (int round = 0; round < 60; ++round) {
    const std::int64_t count = dice.between(1, 90);
    std::vector<Block> blocks;
    std::vector<std::int32_t> members;
    for (std::int64_t i = 0; i < count; ++i) {
      Block block;
      block.from = static_cast<std::int32_t>(dice.below(30));
      block.to = block.from + 1 + static_cast<std::int32_t>(dice.below(20));
      block.size = 1;
      blocks.push_back(block);
      if (dice.chance(80)) members.push_back(static_cast<std::int32_t>(i));
    }
    std::vector<std::int32_t> order;
    for (const std::size_t i : dice.order(members.size())) order.push_back(members[i]);
    WaitingBlocks waiting;
    ASSERT_TRUE(waiting.build(blocks, members) && waiting.refill(order));
    while (!order.empty()) {
      const auto from = static_cast<std::int32_t>(dice.below(30));
      const auto to = from + 1 + static_cast<std::int32_t>(dice.below(25));
      const auto naive = std::find_if(order.begin(), order.end(), [&](std::int32_t i) {
        const Block& block = blocks[static_cast<std::size_t>(i)];
        return block.from >= from && block.to <= to;
      });
      ASSERT_EQ(waiting.best_within(from, to),
                naive == order.end() ? WaitingBlocks::kNone : *naive);
      const auto gone = naive == order.end() ? order.begin() : naive;
      waiting.remove(*gone);
      order.erase(gone);
    }
    EXPECT_EQ(waiting.best_within(0, 100), WaitingBlocks::kNone);
  }
}

TEST(Overlaps, FindsExactlyWhatLivesTogether) {
  Dice dice(2);
  for (int round = 0; round < 60; ++round) {
    Problem problem;
    for (std::int64_t i = dice.between(0, 60); i > 0; --i) {
      const std::int64_t lower = dice.below(40);
      problem.buffers.push_back(buffer(lower, lower + dice.between(1, 15), 1));
    }
    const Packing packing = packed(problem);
    Overlaps overlaps;
    Array<std::int32_t> found;
    ASSERT_TRUE(overlaps.build(packing.blocks));
    for (std::size_t i = 0; i < packing.blocks.size(); ++i) {
      const Block& block = packing.blocks[i];
      ASSERT_TRUE(overlaps.meet(block.from, block.to, found));
      std::set<std::size_t> naive;
      for (std::size_t k = 0; k < problem.buffers.size(); ++k) {
        if (problem.buffers[k].lower < problem.buffers[i].upper &&
            problem.buffers[i].lower < problem.buffers[k].upper) {
          naive.insert(k);
        }
      }
      EXPECT_EQ(found.size(), naive.size());
      EXPECT_EQ(std::set<std::size_t>(found.begin(), found.end()), naive);
    }
  }
}

TEST(Skyline, ReachesTheHighestEndOfEachSection) {
  Problem problem;
  problem.buffers = {buffer(0, 3, 4), buffer(1, 2, 5), buffer(4, 5, 7)};
  const Packing packing = packed(problem);
  ASSERT_EQ(packing.sections, 2);
  Array<std::int64_t> offsets;
  ASSERT_TRUE(offsets.copy(std::vector<std::int64_t>{0, 4, 1}));
  Array<std::int64_t> heights;
  ASSERT_TRUE(reached(packing, offsets, heights));
  EXPECT_EQ(copy(heights), (std::vector<std::int64_t>{9, 8}));
}

TEST(Greedy, PlansNothingOneBlockAndOneSection) {
  Problem problem;
  Array<std::int64_t> offsets;
  EXPECT_EQ(*greedy(packed(problem), {}, offsets), 0);
  EXPECT_EQ(offsets.size(), 0U);

  problem.buffers = {buffer(-5, 9, 12)};
  EXPECT_EQ(*greedy(packed(problem), {}, offsets), 12);
  EXPECT_EQ(copy(offsets), (std::vector<std::int64_t>{0}));

  problem.buffers = {buffer(0, 1, 3), buffer(0, 1, 5), buffer(0, 1, 4)};
  const Packing packing = packed(problem);
  EXPECT_EQ(*greedy(packing, {}, offsets), 12);
  EXPECT_EQ(flaws(problem, packing, offsets, 12), "");
}

TEST(Greedy, KeepsFixedBlocksWithNothingElse) {
  Problem problem;
  problem.buffers = {buffer(0, 4, 8), buffer(2, 6, 8)};
  problem.buffers[0].fixed = 16;
  problem.buffers[1].fixed = 40;
  Array<std::int64_t> offsets;
  EXPECT_EQ(*greedy(packed(problem), {}, offsets), 48);
  EXPECT_EQ(copy(offsets), (std::vector<std::int64_t>{16, 40}));
}

TEST(Greedy, GoesUnderAndOverFixedBlocks) {
  Problem problem;  // 30 bytes below a block at 30, and 20 above it, are just enough
  problem.buffers = {buffer(0, 8, 10), buffer(0, 8, 30), buffer(0, 8, 20)};
  problem.buffers[0].fixed = 30;
  const Packing packing = packed(problem);
  Array<std::int64_t> offsets;
  EXPECT_EQ(*greedy(packing, {60}, offsets), 60);
  EXPECT_EQ(copy(offsets), (std::vector<std::int64_t>{30, 0, 40}));
}

/// A greedy plan, with hints followed.
std::int64_t plan_with_hints(const Packing& packing, Array<std::int64_t>& offsets) {
  const std::int64_t peak = *greedy(packing, {}, offsets);
  EXPECT_LE(*follow_hints(packing, 1, offsets), peak);
  return peak_of(packing, offsets);
}

TEST(FollowHints, MovesABlockWhereThatCostsNothing) {
  Problem problem;
  problem.buffers = {buffer(0, 8, 10), buffer(0, 8, 30), buffer(2, 4, 20)};
  problem.buffers[0].hint = 50;
  problem.buffers[2].hint = 4;
  Array<std::int64_t> offsets;
  EXPECT_EQ(plan_with_hints(packed(problem), offsets), 60);
  EXPECT_EQ(offsets[0], 50);

  problem.buffers[0].hint = 51;  // one byte too high
  EXPECT_EQ(plan_with_hints(packed(problem), offsets), 60);
  EXPECT_NE(offsets[0], 51);
}

TEST(FollowHints, MovesSomeWhenNotAllCanMove) {
  Problem problem;  // both want the bottom; one can have it
  problem.buffers = {buffer(0, 8, 10), buffer(0, 8, 30)};
  problem.buffers[0].hint = 0;
  problem.buffers[1].hint = 0;
  Array<std::int64_t> offsets;
  EXPECT_EQ(plan_with_hints(packed(problem), offsets), 40);
  EXPECT_TRUE(offsets[0] == 0 || offsets[1] == 0);
}

TEST(FollowHints, MovesOthersOutOfTheWay) {
  Problem problem;  // for any order of a plan, its mirror image is as high
  problem.buffers = {buffer(0, 8, 10), buffer(0, 8, 30), buffer(0, 8, 20), buffer(0, 8, 5)};
  for (const std::int64_t hint : {0, 5, 30, 55}) {
    problem.buffers[0].hint = hint;
    Array<std::int64_t> offsets;
    EXPECT_EQ(plan_with_hints(packed(problem), offsets), 65);
    EXPECT_EQ(offsets[0], hint);
  }
}

test::ProblemLimits wild() {
  test::ProblemLimits limits;
  limits.max_buffers = 40;
  limits.max_moment = 30;
  limits.max_size = 60;
  return limits;
}

/// Law: plans are valid, repair never raises them, and hints never make them worse.
TEST(Greedy, PlansAnyProblem) {
  const int rounds = test::kSanitized ? 200 : 1500;
  int improved = 0;
  for (int seed = 0; seed < rounds; ++seed) {
    Dice dice(static_cast<std::uint64_t>(seed));
    Problem problem = test::random_problem(dice, wild());
    const Packing packing = packed(problem);
    Array<std::int64_t> offsets;
    const std::int64_t peak = *greedy(packing, {}, offsets);
    ASSERT_EQ(flaws(problem, packing, offsets, peak), "") << seed << test::text_of(problem);
    const std::int64_t repaired = *repair(packing, {0, 200, 1}, offsets);
    ASSERT_EQ(flaws(problem, packing, offsets, repaired), "") << seed << test::text_of(problem);
    ASSERT_LE(repaired, peak);
    improved += repaired < peak ? 1 : 0;

    const std::int64_t hinted = *follow_hints(packing, 1, offsets);
    ASSERT_EQ(flaws(problem, packing, offsets, hinted), "") << seed << test::text_of(problem);
    ASSERT_LE(hinted, repaired);
  }
  EXPECT_GT(improved, 0);
}

TEST(Greedy, GivesTheSamePlanEveryTime) {
  const Packing packing = packed(bench::hard_instance({.buffers = 120, .seed = 3}).problem);
  Array<std::int64_t> first;
  Array<std::int64_t> second;
  for (Array<std::int64_t>* offsets : {&first, &second}) {
    ASSERT_TRUE(greedy(packing, {0, 100}, *offsets).ok());
    ASSERT_TRUE(repair(packing, {0, 500, 100}, *offsets).ok());
  }
  EXPECT_EQ(copy(first), copy(second));
}

TEST(Greedy, StopsAtAPlanThatIsGoodEnough) {
  const Packing packing = packed(bench::hard_instance({.buffers = 200, .seed = 4}).problem);
  Array<std::int64_t> all;
  Array<std::int64_t> quick;
  const std::int64_t lowest = *greedy(packing, {0, 100}, all);
  const std::int64_t any = *greedy(packing, {INT64_MAX, 100}, quick);
  const std::int64_t in_no_time = *greedy(packing, {0, 0}, all);
  EXPECT_EQ(any, in_no_time);  // only the first heuristic
  EXPECT_LT(lowest, any);
}

TEST(Repair, BringsHardInstancesWithinAFifthOfTheirBound) {
  int improved = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const Problem problem = bench::hard_instance({.buffers = 250, .seed = seed}).problem;
    const Packing packing = packed(problem);
    Array<std::int64_t> offsets;
    const std::int64_t peak = *greedy(packing, {packing.lower_bound, 100}, offsets);
    RepairOptions options;
    options.good_enough = packing.lower_bound;
    options.seconds = 100;
    const std::int64_t repaired = *repair(packing, options, offsets);
    EXPECT_EQ(flaws(problem, packing, offsets, repaired), "");
    EXPECT_LE(repaired * 5, packing.lower_bound * 6) << seed;
    improved += repaired < peak ? 1 : 0;
  }
  EXPECT_GE(improved, 4);
}

TEST(Repair, LeavesAGoodPlanAlone) {
  const bench::HardInstance instance = bench::hard_instance({.buffers = 100, .seed = 5});
  const Packing packing = packed(instance.problem);
  Array<std::int64_t> offsets;
  ASSERT_TRUE(offsets.copy(instance.offsets));
  ASSERT_EQ(offsets.size(), packing.blocks.size());
  EXPECT_EQ(*repair(packing, {}, offsets), instance.capacity);
  EXPECT_EQ(copy(offsets), instance.offsets);
}

TEST(TransformerTrace, HasWhatWasAskedForEveryTime) {
  for (const auto kind :
       {bench::TraceKind::kTraining, bench::TraceKind::kInference, bench::TraceKind::kMixture}) {
    for (const std::int64_t count : {0, 1, 2, 1000, 20000}) {
      bench::TraceOptions options;
      options.kind = kind;
      options.buffers = count;
      options.jitter = count % 7;
      const Problem problem = bench::transformer_trace(options);
      EXPECT_EQ(problem.buffers.size(), static_cast<std::size_t>(count));
      EXPECT_TRUE(check(problem).ok());
      const Problem again = bench::transformer_trace(options);
      options.seed = 2;
      const Problem other = bench::transformer_trace(options);
      int differ = 0;
      for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
        const Buffer& made = problem.buffers[i];
        EXPECT_EQ(made.lower, again.buffers[i].lower);
        EXPECT_EQ(made.upper, again.buffers[i].upper);
        EXPECT_EQ(made.size, again.buffers[i].size);
        differ += made.size != other.buffers[i].size ? 1 : 0;
      }
      EXPECT_TRUE(differ > 0 || count <= 2);
    }
  }
}

/// Fixed blocks at the top of the memory, or in the middle of it, from the first moment to the
/// last.
TEST(Greedy, GoesAroundFixedBlocksOfLongTraces) {
  for (const std::int64_t part : {1, 2}) {
    bench::TraceOptions options;
    options.buffers = 6000;
    options.layers = 8;
    options.jitter = 3;
    Problem problem = bench::transformer_trace(options);
    std::int64_t top = packed(problem).lower_bound / part;
    for (std::size_t i = 0; i < 20; ++i) {
      top -= problem.buffers[i].size;
      problem.buffers[i].fixed = top;
    }
    const Packing packing = packed(problem);
    Array<std::int64_t> offsets;
    const std::int64_t peak = *greedy(packing, {packing.lower_bound, 100}, offsets);
    EXPECT_TRUE(none_meet(packing, offsets));
    EXPECT_LE(peak, packing.lower_bound + packing.lower_bound / 50) << part;
    for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(offsets[i], *problem.buffers[i].fixed);
  }
}

/// Law: a hundred thousand buffers within 1 % of the bound by the first heuristic alone.
TEST(Greedy, PlansLongTracesWithinAHundredthOfTheirBound) {
  for (const auto kind :
       {bench::TraceKind::kTraining, bench::TraceKind::kInference, bench::TraceKind::kMixture}) {
    for (const std::int64_t jitter : {0, 20}) {
      bench::TraceOptions options;
      options.kind = kind;
      options.buffers = test::kSanitized ? 10000 : 100000;
      options.jitter = jitter;
      const Packing packing = packed(bench::transformer_trace(options));
      Array<std::int64_t> offsets;
      const std::int64_t peak = *greedy(packing, {packing.lower_bound, 0}, offsets);
      EXPECT_TRUE(none_meet(packing, offsets));
      EXPECT_EQ(peak, peak_of(packing, offsets));
      EXPECT_LE(peak, packing.lower_bound + packing.lower_bound / 100)
          << static_cast<int>(kind) << " " << jitter;
    }
  }
}

}  // namespace
}  // namespace tessera::memory
