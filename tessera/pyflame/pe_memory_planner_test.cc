// SPDX-License-Identifier: Apache-2.0
#include "tessera/pyflame/pe_memory_planner.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tessera/memory/validate.h"
#include "tessera/testing/figures.h"
#include "tessera/testing/memory/pe_graphs.h"

namespace tessera::pyflame {
namespace {

TEST(PEMemoryPlanner, TakesEveryBudgetFromTheTarget) {
  const PEMemoryPlanner planner;
  EXPECT_EQ(planner.PE_MEMORY_SIZE(), 48u * 1024);
  EXPECT_EQ(planner.RESERVED_FOR_CODE(), 8u * 1024);
  EXPECT_EQ(planner.RESERVED_FOR_STACK(), 4u * 1024);
  EXPECT_EQ(planner.AVAILABLE_FOR_DATA(), 36u * 1024);
  EXPECT_EQ(planner.reserved_for("routing"), 0u);  // part of the code
  const PEMemoryPlanner other(
      small_machine(1000,
                    ", \"reserved\": [{\"name\": \"routing\", \"bytes\": 100}, {\"name\": "
                    "\"receive_queues\", \"bytes\": 60}]"));
  EXPECT_EQ(other.reserved_for("routing"), 100u);
  EXPECT_EQ(other.AVAILABLE_FOR_DATA(), 840u);
  PEGraph graph;
  graph.add(given("x", {4}));
  const MemoryPlan plan = other.plan(graph, {{0, MeshLayout::SinglePE()}});
  ASSERT_TRUE(plan.valid) << plan.error_message;
  ASSERT_EQ(plan.reservations.size(), 2u);
  EXPECT_EQ(plan.reservations[0].name, "routing");
  EXPECT_EQ(plan.reservations[0].offset, 840u);
  EXPECT_EQ(plan.reservations[1].offset, 940u);
  EXPECT_EQ(plan.reservations[1].size, 60u);
}

TEST(MemoryRegion, OverlapsWhereBytesAreShared) {
  const MemoryRegion low{0, 10, "low"};
  EXPECT_TRUE(low.overlaps({9, 1, ""}));
  EXPECT_FALSE(low.overlaps({10, 5, ""}));
  EXPECT_TRUE((MemoryRegion{5, 2, ""}).overlaps(low));
  EXPECT_FALSE((MemoryRegion{5, 0, ""}).overlaps(low));
  EXPECT_TRUE((MemoryRegion{SIZE_MAX - 1, 1, ""}).overlaps({1, SIZE_MAX - 1, ""}));
}

TEST(PEMemoryPlan, NeverWrapsWhatIsFree) {
  PEMemoryPlan plan;
  plan.total_used = 10;
  plan.total_available = 8;
  EXPECT_FALSE(plan.fits());
  EXPECT_EQ(plan.free_bytes(), 0u);
  plan.total_available = 12;
  EXPECT_EQ(plan.free_bytes(), 2u);
}

// Errata 1: 994 rows and 750 columns, not the reverse.
TEST(PEMemoryPlanner, KnowsRowsFromColumns) {
  PEGraph graph;
  graph.add(given("x", {994, 994}));
  const PEMemoryPlanner planner;
  EXPECT_TRUE(planner.plan(graph, {{0, MeshLayout::Grid(994, 750)}}).valid);
  const MemoryPlan plan = planner.plan(graph, {{0, MeshLayout::Grid(750, 994)}});
  EXPECT_FALSE(plan.valid);
  EXPECT_EQ(plan.error->code, ErrorCode::kMeshTooSmall);
  EXPECT_EQ(test::figures(plan.error_message), "'x' 750x994 994x750 994 750 1");
  EXPECT_EQ(plan.plan_for({0, 0}).error().code, ErrorCode::kMeshTooSmall);
}

// Errata 11: every value gets memory or an error; none is skipped.
TEST(PEMemoryPlanner, LeavesNoTensorOut) {
  PEGraph graph;
  const TensorId x = graph.add(given("x", {8, 8}));
  const TensorId w = graph.add(given("w", {8, 8}, graph::Kind::kConstant));
  const TensorId dead = graph.compute("dead", {x}, {8, 8});
  const TensorId y = graph.compute("y", {x, w}, {8, 8});
  graph.set_output(y);
  Layouts layouts;
  for (TensorId id = 0; id < graph.tensors(); ++id) layouts[id] = MeshLayout::Grid(2, 2);
  const PEMemoryPlanner planner;
  const MemoryPlan plan = planner.plan(graph, layouts);
  ASSERT_TRUE(plan.valid) << plan.error_message;
  const PEMemoryPlan pe = *plan.plan_for({1, 1});
  for (const TensorId id : {x, w, dead, y}) EXPECT_EQ(pe.tensor_regions.count(id), 1u);
  // x, w and dead are live at moment 0; x, w and y at moment 1: 64 bytes each.
  EXPECT_EQ(plan.max_pe_memory_used(), 192u);
  EXPECT_EQ(plan.bump_max_pe(), 256u);
  EXPECT_EQ(plan.saved_bytes(), 64u);
  EXPECT_DOUBLE_EQ(plan.saved_percent(), 25);
  EXPECT_FALSE(pe.regions[pe.tensor_regions.at(w)].overlaps(pe.regions[pe.tensor_regions.at(y)]));

  layouts.erase(dead);
  EXPECT_EQ(test::figures(planner.plan(graph, layouts).error_message), "'dead'");
  layouts[dead] = MeshLayout::Grid(2, 2);
  layouts[9] = MeshLayout::SinglePE();
  EXPECT_EQ(planner.plan(graph, layouts).error->code, ErrorCode::kOutOfRange);
  layouts.erase(9);
  layouts[dead] = MeshLayout::Grid(0, 2);
  EXPECT_FALSE(planner.plan(graph, layouts).valid);
}

// Errata 12: one transform for all consumers that need its layout, planned like any op.
TEST(PEMemoryPlanner, PlansSharedTransformsOnce) {
  PEGraph graph;
  const TensorId x = graph.add(given("x", {8, 8}));
  const TensorId moved = graph.compute("to rows", {x}, {8, 8});
  graph.last_memory().scratch = {{"staging", 64, moved, 0, 1, "transform_staging"}};
  const TensorId a = graph.compute("a", {moved}, {8, 8});
  const TensorId b = graph.compute("b", {moved, a}, {8, 8});
  graph.set_output(b);
  Layouts layouts = {{x, MeshLayout::Grid(2, 2)},
                     {moved, MeshLayout::RowPartition(4)},
                     {a, MeshLayout::RowPartition(4)},
                     {b, MeshLayout::RowPartition(4)}};
  const MemoryPlan plan = PEMemoryPlanner().plan(graph, layouts);
  ASSERT_TRUE(plan.valid) << plan.error_message;
  // PE (0, 0): x 64, moved 64, a 64, b 64, staging 64; x + moved + staging, then moved + a + b.
  EXPECT_EQ(plan.max_pe_memory_used(), 192u);
  const PEMemoryPlan pe = *plan.plan_for({0, 0});
  EXPECT_EQ(pe.regions.size(), 5u);
  EXPECT_EQ(pe.regions.back().name, "to rows.staging");
  // PE (0, 1) has only a quarter of x.
  EXPECT_EQ(plan.plan_for({0, 1})->regions.size(), 1u);
}

// Errata 13: a ragged grid has 4 classes and one of PEs that hold nothing, not 745,500 entries.
TEST(PEMemoryPlanner, KeepsClassesInsteadOfPEs) {
  PEGraph graph;
  graph.add(given("x", {5001, 5003}));
  const MemoryPlan plan = PEMemoryPlanner().plan(graph, {{0, MeshLayout::Grid(700, 700)}});
  ASSERT_TRUE(plan.valid) << plan.error_message;
  const std::vector<PEClass> classes = plan.classes();
  EXPECT_EQ(classes.size(), 5u);
  std::int64_t pes = 0;
  for (const PEClass& each : classes) pes += each.pes;
  EXPECT_EQ(pes, 745500);
  EXPECT_EQ(plan.plan_for({994, 0}).error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(plan.plan_for({0, 750}).error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(plan.plan_for({-1, 0}).error().code, ErrorCode::kOutOfRange);
}

// Checks every PE separately: sizes from MeshLayout, overlaps from lifetimes, sums from loops.
TEST(PEMemoryPlanner, IsTrueOnEveryPE) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    test::Dice dice(seed);
    Layouts layouts;
    const PEGraph graph = random_graph(dice, layouts);
    const PEMemoryPlanner planner(small_machine(1 << 20));
    PEMemoryPlanner::Options options;
    if (dice.chance(50)) options.mode = memory::OffsetMode::kPerClass;
    options.quick = dice.chance(30);
    options.minimize = dice.chance(30);
    const MemoryPlan plan = planner.plan(graph, layouts, options);
    ASSERT_TRUE(plan.valid) << plan.error_message;
    std::size_t total = 0;
    std::size_t most = 0;
    std::size_t busy = 0;
    for (std::int32_t row = 0; row < 6; ++row) {
      for (std::int32_t col = 0; col < 5; ++col) {
        const PEMemoryPlan pe = *plan.plan_for({row, col});
        std::size_t used = 0;
        for (const MemoryRegion& region : pe.regions) {
          used = std::max(used, region.offset + region.size);
        }
        ASSERT_EQ(pe.total_used, used);
        ASSERT_TRUE(pe.fits());
        total += used;
        most = std::max(most, used);
        busy += used > 0 ? 1 : 0;
        for (TensorId id = 0; id < graph.tensors(); ++id) {
          const auto tile =
              *layouts[id].tile_shape({row, col}, graph.tensor(id).type.shape.extents());
          const auto found = pe.tensor_regions.find(id);
          ASSERT_EQ(found != pe.tensor_regions.end(), tile[0] * tile[1] > 0);
          if (found == pe.tensor_regions.end()) continue;
          const MemoryRegion& region = pe.regions[found->second];
          const std::int64_t element = graph.tensor(id).type.dtype == DType::kF16 ? 2 : 4;
          ASSERT_GE(static_cast<std::int64_t>(region.size), tile[0] * tile[1] * element);
          ASSERT_EQ(region.offset % 4, 0u);
        }
        const memory::Problem problem = memory::problem_of(plan.lifetimes()->buffers, *plan.sizes(),
                                                           plan.sizes()->class_of({row, col}));
        ASSERT_TRUE(
            memory::validate(problem, plan.offsets()->offsets_of(
                                          *plan.sizes(), plan.sizes()->class_of({row, col})))
                .empty());
      }
    }
    EXPECT_EQ(plan.total_memory_used(), total);
    EXPECT_EQ(plan.max_pe_memory_used(), most);
    EXPECT_NEAR(plan.average_utilization(),
                static_cast<double>(total) / static_cast<double>(busy) / (1 << 20), 1e-12);
    if (options.mode == memory::OffsetMode::kPerClass) {
      EXPECT_LE(plan.max_pe_memory_used(), plan.bump_max_pe());
    }
  }
}

TEST(PEMemoryPlanner, PutsNothingOnDeadPEs) {
  Machine machine = small_machine(4096);
  machine.dead = {{{3, 3}, {3, 4}}};
  PEGraph graph;
  graph.add(given("x", {6, 5}));
  const PEMemoryPlanner planner(machine);
  EXPECT_TRUE(planner.plan(graph, {{0, MeshLayout::Grid(3, 5)}}).valid);
  EXPECT_EQ(test::figures(planner.plan(graph, {{0, MeshLayout::Grid(6, 5)}}).error_message),
            "[3 3] 4");
}

TEST(PEMemoryPlanner, DeadPEsNeedNoScratch) {
  Machine machine = small_machine(1000);
  machine.dead.push_back({{5, 4}, {5, 4}});
  PEGraph graph;
  const TensorId x = graph.add(given("x", {4}));
  const TensorId y = graph.compute("y", {x}, {4});
  graph.memory(0).scratch.push_back({.name = "queue", .bytes = 16});
  const MemoryPlan plan = PEMemoryPlanner(machine).plan(
      graph, {{x, MeshLayout::SinglePE()}, {y, MeshLayout::SinglePE()}});
  EXPECT_TRUE(plan.valid) << plan.error_message;
}

TEST(PEMemoryPlanner, HasNoRoomWhereReservesTakeAll) {
  for (const std::int64_t bytes : {std::int64_t{1000}, std::int64_t{1001}, INT64_MAX}) {
    Machine machine = small_machine(1000);
    machine.memory[0].reserved = {{"code", bytes}, {"stack", bytes}};
    const PEMemoryPlanner planner(machine);
    EXPECT_EQ(planner.AVAILABLE_FOR_DATA(), 0u);
    EXPECT_FALSE(planner.plan({}, {}).valid);
  }
}

TEST(PEMemoryPlanner, NamesWhatOverflows) {
  PEGraph graph;
  const std::int64_t half = std::int64_t{1} << 58;  // elements of 4 bytes
  graph.add(given("x", {half}));
  graph.add(given("huge", {half}));
  const MemoryPlan plan =
      PEMemoryPlanner().plan(graph, {{0, MeshLayout::SinglePE()}, {1, MeshLayout::SinglePE()}});
  ASSERT_TRUE(plan.error.has_value());
  EXPECT_EQ(plan.error->code, ErrorCode::kOverflow);
  EXPECT_EQ(plan.error_message.substr(0, 8), "'huge': ");
}

TEST(PEMemoryPlanner, KeepsNoLargeInputForASmallOutput) {
  // s in place of x saves 4 bytes while it is computed, and costs 400 while y is.
  PEGraph graph;
  const TensorId x = graph.add({"x", {100}, DType::kF32, graph::Kind::kInput});
  const TensorId s = graph.compute_in_place("s", {x}, {1});
  const TensorId y = graph.compute("y", {s}, {100});
  graph.set_output(y);
  const std::map<TensorId, MeshLayout> layouts = {
      {x, MeshLayout::SinglePE()}, {s, MeshLayout::SinglePE()}, {y, MeshLayout::SinglePE()}};
  const MemoryPlan plan = PEMemoryPlanner().plan(graph, layouts);
  ASSERT_TRUE(plan.valid) << plan.error_message;
  EXPECT_EQ(plan.max_pe_memory_used(), 404U);
  graph.memory(0).in_place[0].required = true;
  EXPECT_EQ(PEMemoryPlanner().plan(graph, layouts).max_pe_memory_used(), 800U);
  // If the peak is where both are live, the plan in place is the lower one.
  PEGraph chain;
  const TensorId a = chain.add({"a", {100}, DType::kF32, graph::Kind::kInput});
  const TensorId b = chain.compute_in_place("b", {a}, {99});
  chain.set_output(b);
  const std::map<TensorId, MeshLayout> both = {{a, MeshLayout::SinglePE()},
                                               {b, MeshLayout::SinglePE()}};
  EXPECT_EQ(PEMemoryPlanner().plan(chain, both).max_pe_memory_used(), 400U);
}

TEST(PEMemoryPlanner, AlignsElements) {
  PEGraph graph;
  graph.add({"half", {3}, DType::kF16, graph::Kind::kConstant});
  graph.add({"double", {3}, DType::kF64, graph::Kind::kConstant});
  const MemoryPlan plan =
      PEMemoryPlanner().plan(graph, {{0, MeshLayout::SinglePE()}, {1, MeshLayout::SinglePE()}});
  ASSERT_TRUE(plan.valid) << plan.error_message;
  const PEMemoryPlan pe = *plan.plan_for({0, 0});
  EXPECT_EQ(pe.regions[0].size, 8u);  // 6 bytes in whole wavelets
  EXPECT_EQ(pe.regions[1].offset % 8, 0u);
}

TEST(PEMemoryPlanner, RefusesTargetsWithoutPEs) {
  const PEMemoryPlanner planner(**find_machine("spyre"));
  EXPECT_EQ(planner.plan({}, {}).error->code, ErrorCode::kNotSupported);
  EXPECT_TRUE(PEMemoryPlanner().plan({}, {}).valid);
  EXPECT_EQ(PEMemoryPlanner().plan({}, {}).average_utilization(), 0);
}

/// What is built here is a graph like any other, and its program is derived from it.
TEST(PEGraph, IsAGraph) {
  PEGraph graph;
  const TensorId x = graph.add(given("x", {4, 4}));
  const TensorId y = graph.compute_in_place("fft", {x}, {4, 4});
  graph.last_memory().scratch = {{"twiddles", 512}};
  graph.run("send", {y});
  graph.set_output(y);
  EXPECT_TRUE(graph::check(graph.graph()));
  const memory::Program program = graph.program();
  ASSERT_EQ(program.ops.size(), 2U);
  EXPECT_EQ(program.ops[0].name, "fft");
  ASSERT_EQ(program.ops[0].scratch.size(), 1U);
  EXPECT_EQ(program.ops[0].scratch[0].bytes, 512);
  ASSERT_EQ(program.ops[0].in_place.size(), 1U);
  EXPECT_EQ(program.ops[0].in_place[0].input, x);
  EXPECT_TRUE(program.ops[1].outputs.empty());
  EXPECT_TRUE(program.values[y].output);
  // A model that was built elsewhere gets what its ops need in the same way.
  PEGraph model = PEGraph::of(graph.graph());
  EXPECT_TRUE(model.program().ops[0].scratch.empty());
  model.memory(0).scratch = {{"twiddles", 64}};
  EXPECT_EQ(model.program().ops[0].scratch[0].bytes, 64);
}

TEST(PEGraph, KeepsTheFirstError) {
  const auto code = [](const PEGraph& graph) {
    const MemoryPlan plan = PEMemoryPlanner(small_machine(4096)).plan(graph, {});
    return plan.error ? std::string(code_name(plan.error->code)) : "";
  };
  PEGraph shape;
  shape.add(given("x", {4, -1}));
  shape.set_output(7);
  EXPECT_EQ(code(shape), "bad_shape");
  EXPECT_EQ(shape.error()->span, (Span{0, 1}));
  PEGraph output;
  output.set_output(0);
  EXPECT_EQ(code(output), "out_of_range");
  PEGraph input;
  input.compute("y", {TensorId{1} << 40}, {4});
  EXPECT_EQ(code(input), "out_of_range");
}

}  // namespace
}  // namespace tessera::pyflame
