// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tessera/testing/figures.h"
#include "tessera/testing/memory/pe_graphs.h"

namespace tessera::pyflame {
namespace {

using memory::Remedy;

/// y = x·w by panels on one grid, then relu.
PEGraph matmul_graph(std::int64_t n, std::int64_t panel) {
  PEGraph graph;
  const TensorId x = graph.add(given("x", {n, n}));
  const TensorId w = graph.add(given("w", {n, n}, graph::Kind::kParameter));
  const TensorId h = graph.compute("matmul", {x, w}, {n, n});
  graph.last_memory().scratch = {{"panels", panel * 256, h, panel, 1, ""},
                                 {"queue", 4096, h, 0, 2, "double_buffers"}};
  const TensorId y = graph.compute("relu", {h}, {n, n});
  graph.set_output(y);
  return graph;
}

TEST(PEMemoryPlanner, SaysWhoLacksMemoryWhenAndForWhat) {
  const PEGraph graph = matmul_graph(1000, 64);
  Layouts layouts;
  for (TensorId id = 0; id < 4; ++id) layouts[id] = MeshLayout::Grid(16, 16);
  // Tiles of 63x63 f32 are 15876 bytes; x + w + h + 64 steps of 256 bytes + the queue.
  const MemoryPlan plan = PEMemoryPlanner().plan(graph, layouts);
  ASSERT_FALSE(plan.valid);
  ASSERT_TRUE(plan.shortfall);
  EXPECT_EQ(plan.shortfall->op, "matmul");
  EXPECT_EQ(plan.shortfall->example, (PECoord{0, 0}));
  EXPECT_EQ(plan.shortfall->pes, 225);  // 15x15; the last row and column are ragged
  EXPECT_EQ(plan.shortfall->pes_short, 256);
  EXPECT_EQ(plan.shortfall->at.needed, 3 * 15876 + 16384 + 4096);
  EXPECT_EQ(plan.error->code, ErrorCode::kDoesNotFit);
  EXPECT_EQ(test::figures(plan.error_message),
            "225 0 0 'matmul' 68108 31244 36864 'matmul.panels' 16384 'x' 15876 'w' 15876 'matmul' "
            "15876 'matmul.queue' 4096");
  EXPECT_FALSE(plan.plan_for({0, 0})->fits());
  EXPECT_EQ(plan.plan_for({0, 0})->free_bytes(), 0u);
  ASSERT_FALSE(plan.advice.empty());
  EXPECT_EQ(plan.advice[0].remedy, Remedy::kFinerGrid);
  EXPECT_TRUE(plan.advice[0].enough);
  EXPECT_EQ(plan.error->help, plan.advice[0].sentence());
}

/// Bytes that are live at the time of a shortfall on its PE; shared memory is counted once.
std::int64_t naive_live(const MemoryPlan& plan, const PEShortfall& where) {
  const std::size_t c = plan.sizes()->class_of({where.example.row, where.example.col});
  const std::vector<memory::Buffer>& buffers = plan.lifetimes()->buffers;
  std::int64_t sum = 0;
  for (std::size_t root = 0; root < buffers.size(); ++root) {
    if (buffers[root].alias) continue;
    std::int64_t bytes = 0;
    std::int64_t lower = INT64_MAX;
    std::int64_t upper = INT64_MIN;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      std::size_t own = i;
      while (buffers[own].alias) own = buffers[own].alias->of;  // none of them begins inside
      if (own != root) continue;
      bytes = std::max(bytes, plan.sizes()->size(c, i));
      lower = std::min(lower, buffers[i].lower);
      upper = std::max(upper, buffers[i].upper);
    }
    if (lower <= where.at.moment && where.at.moment < upper) sum += bytes;
  }
  return sum;
}

/// What is live at the worst time on the worst PE, minus the data budget.
std::int64_t missing(const PEMemoryPlanner& planner, const MemoryPlan& plan) {
  return static_cast<std::int64_t>(plan.lower_bound()) -
         static_cast<std::int64_t>(planner.AVAILABLE_FOR_DATA());
}

/// Follows every advice and plans again.
std::size_t check_advice(const PEMemoryPlanner& planner, const PEGraph& graph,
                         const Layouts& layouts, std::set<Remedy>& seen) {
  const MemoryPlan plan = planner.plan(graph, layouts);
  if (plan.valid || !plan.shortfall) return 0;
  for (const memory::Advice& advice : plan.advice) {
    seen.insert(advice.remedy);
    PEMemoryPlanner::Options options;
    options.advise = false;
    const MemoryPlan with = planner.followed(advice).plan(
        planner.followed(graph, advice), PEMemoryPlanner::followed(layouts, advice), options);
    EXPECT_EQ(with.valid, advice.enough) << advice.text << " / " << with.error_message;
    const memory::Shortfall& at = plan.shortfall->at;
    EXPECT_LE(missing(planner.followed(advice), with), missing(planner, plan)) << advice.text;
    if (advice.remedy == Remedy::kFinerGrid) {
      EXPECT_EQ(plan.lower_bound() - with.lower_bound(),
                static_cast<std::size_t>(advice.saves_bytes));
    } else if (advice.remedy == Remedy::kSmallerReserve) {
      EXPECT_GT(advice.saves_bytes, 0);
      EXPECT_EQ(missing(planner, plan) - missing(planner.followed(advice), with),
                advice.saves_bytes)
          << advice.text;
    } else if (at.certain) {
      EXPECT_EQ(naive_live(plan, *plan.shortfall) - naive_live(with, *plan.shortfall),
                advice.saves_bytes)
          << advice.text;
    }
  }
  return plan.advice.size();
}

TEST(PEMemoryPlanner, GivesAdviceThatIsTrue) {
  std::set<Remedy> seen;
  const Machine machine =
      small_machine(6000, ", \"reserved\": [{\"name\": \"double_buffers\", \"bytes\": 2000}]");
  std::size_t given_advice = 0;
  for (const std::int64_t n : {20, 40, 60, 80}) {
    for (const std::int64_t panel : {2, 8, 16}) {
      PEGraph graph = matmul_graph(n, panel);
      Layouts layouts;
      for (TensorId id = 0; id < 4; ++id) layouts[id] = MeshLayout::Grid(2, 2);
      given_advice += check_advice(PEMemoryPlanner(machine), graph, layouts, seen);
      graph.memory(0).scratch.clear();
      given_advice += check_advice(PEMemoryPlanner(machine), graph, layouts, seen);
    }
  }
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    test::Dice dice(seed);
    Layouts layouts;
    const PEGraph graph = random_graph(dice, layouts);
    given_advice +=
        check_advice(PEMemoryPlanner(small_machine(dice.between(40, 600))), graph, layouts, seen);
  }
  EXPECT_GT(given_advice, 60u);
  for (const Remedy remedy : {Remedy::kInPlace, Remedy::kSmallerPanel, Remedy::kSmallerBuffers,
                              Remedy::kFinerGrid, Remedy::kSmallerReserve}) {
    EXPECT_EQ(seen.count(remedy), 1u) << memory::remedy_name(remedy);
  }
}

TEST(PEMemoryPlanner, AdvisesNothingThatIsWorseLater) {
  // The sum needs 400 + 4 bytes. In place of x, it would keep all of x alive while y is live too.
  PEGraph graph;
  const TensorId x = graph.add(given("x", {100}));
  const TensorId s = graph.compute("sum", {x}, {1});
  const TensorId y = graph.compute("fill", {s}, {100});
  graph.set_output(y);
  Layouts layouts;
  for (TensorId id = 0; id < 3; ++id) layouts[id] = MeshLayout::SinglePE();
  const MemoryPlan sum = PEMemoryPlanner(small_machine(400)).plan(graph, layouts);
  ASSERT_TRUE(sum.shortfall);
  EXPECT_EQ(sum.shortfall->op, "sum");
  EXPECT_EQ(sum.shortfall->at.missing(), 4);
  EXPECT_EQ(std::count_if(sum.advice.begin(), sum.advice.end(),
                          [](const auto& each) { return each.remedy == Remedy::kInPlace; }),
            0);
}

TEST(PEMemoryPlanner, TakesNothingFromAReserveThatAnOpLivesIn) {
  // x, w and h are 400 bytes each on a PE, and 4 steps of 256; 24 bytes are missing. The queue of
  // 4096 bytes is in the reserve and would move to the data memory if the reserve were smaller.
  const PEGraph graph = matmul_graph(20, 4);
  Layouts layouts;
  for (TensorId id = 0; id < 4; ++id) layouts[id] = MeshLayout::Grid(2, 2);
  const auto advice = [&](std::int64_t reserved) {
    const PEMemoryPlanner planner(small_machine(2200 + reserved,
                                                ", \"reserved\": [{\"name\": \"double_buffers\", "
                                                "\"bytes\": " +
                                                    std::to_string(reserved) + "}]"));
    MemoryPlan plan = planner.plan(graph, layouts);
    EXPECT_FALSE(plan.valid);
    EXPECT_EQ(missing(planner, plan), 24);
    std::erase_if(plan.advice, [](const memory::Advice& each) {
      return each.remedy != Remedy::kSmallerReserve;
    });
    return plan.advice;
  };
  EXPECT_TRUE(advice(4096).empty());
  const std::vector<memory::Advice> some = advice(4106);  // 10 bytes that nothing uses
  ASSERT_EQ(some.size(), 1u);
  EXPECT_EQ(some[0].bytes, 4096);
  EXPECT_EQ(some[0].saves_bytes, 10);
  EXPECT_FALSE(some[0].enough);
  const std::vector<memory::Advice> all = advice(4200);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].bytes, 4176);
  EXPECT_TRUE(all[0].enough);
}

TEST(PEMemoryPlanner, KeepsReservedScratchOutOfTheData) {
  const PEGraph graph = matmul_graph(20, 4);
  Layouts layouts;
  for (TensorId id = 0; id < 4; ++id) layouts[id] = MeshLayout::Grid(2, 2);
  const auto used = [&](std::int64_t reserved) {
    const PEMemoryPlanner planner(
        small_machine(20000, ", \"reserved\": [{\"name\": \"double_buffers\", \"bytes\": " +
                                 std::to_string(reserved) + "}]"));
    const MemoryPlan plan = planner.plan(graph, layouts);
    EXPECT_TRUE(plan.valid) << plan.error_message;
    return plan.max_pe_memory_used();
  };
  EXPECT_EQ(used(4096) + 4096, used(4095));
  PEGraph odd = graph;
  odd.memory(0).scratch[1].reserve = "double_bufers";
  const MemoryPlan plan = PEMemoryPlanner().plan(odd, layouts);
  EXPECT_EQ(plan.error->code, ErrorCode::kUnknownName);
  EXPECT_EQ(test::figures(plan.error->help), "'double_buffers'");
}

}  // namespace
}  // namespace tessera::pyflame
