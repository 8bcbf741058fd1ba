// SPDX-License-Identifier: Apache-2.0
#include "tessera/pyflame/pe_memory_planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tessera/memory/validate.h"
#include "tessera/target/machine_json.h"
#include "tessera/testing/generate.h"

namespace tessera::pyflame {
namespace {

using memory::Remedy;
using memory::Value;
using Layouts = std::map<TensorId, MeshLayout>;

Machine small_machine(std::int64_t bytes, std::string extra = "") {
  Result<Machine> machine = parse_machine(
      "{\"name\": \"small\", \"mesh\": [6, 5], \"memory\": [{\"name\": \"sram\", \"bytes\": " +
      std::to_string(bytes) + extra + "}], \"rules\": {\"wavelet_bits\": 32}}");
  EXPECT_TRUE(machine) << machine.error().message;
  return *std::move(machine);
}

PETensor given(std::string name, std::vector<std::int64_t> shape,
               Value::Kind kind = Value::Kind::kInput) {
  return {std::move(name), std::move(shape), DType::kF32, kind};
}

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

// Errata 1: 994 rows and 750 columns, not the other way around.
TEST(PEMemoryPlanner, KnowsRowsFromColumns) {
  PEGraph graph;
  graph.add(given("x", {994, 994}));
  const PEMemoryPlanner planner;
  EXPECT_TRUE(planner.plan(graph, {{0, MeshLayout::Grid(994, 750)}}).valid);
  const MemoryPlan plan = planner.plan(graph, {{0, MeshLayout::Grid(750, 994)}});
  EXPECT_FALSE(plan.valid);
  EXPECT_EQ(plan.error->code, ErrorCode::kMeshTooSmall);
  EXPECT_EQ(plan.error_message,
            "'x': a layout on 750x994 places reaches past a mesh of 994x750: 994 > 750 along axis "
            "1");
  EXPECT_EQ(plan.plan_for({0, 0}).error().code, ErrorCode::kMeshTooSmall);
}

// Errata 11: every value gets memory or an error; none is skipped.
TEST(PEMemoryPlanner, LeavesNoTensorOut) {
  PEGraph graph;
  const TensorId x = graph.add(given("x", {8, 8}));
  const TensorId w = graph.add(given("w", {8, 8}, Value::Kind::kConstant));
  const TensorId dead = graph.compute("dead", {x}, {8, 8});
  const TensorId y = graph.compute("y", {x, w}, {8, 8});
  graph.tensors[y].output = true;
  Layouts layouts;
  for (TensorId id = 0; id < graph.tensors.size(); ++id) layouts[id] = MeshLayout::Grid(2, 2);
  const PEMemoryPlanner planner;
  const MemoryPlan plan = planner.plan(graph, layouts);
  ASSERT_TRUE(plan.valid) << plan.error_message;
  const PEMemoryPlan pe = *plan.plan_for({1, 1});
  for (const TensorId id : {x, w, dead, y}) EXPECT_EQ(pe.tensor_regions.count(id), 1u);
  // x, w and dead live at moment 0; x, w and y at moment 1: 64 bytes each.
  EXPECT_EQ(plan.max_pe_memory_used(), 192u);
  EXPECT_EQ(plan.bump_max_pe(), 256u);
  EXPECT_EQ(plan.saved_bytes(), 64u);
  EXPECT_DOUBLE_EQ(plan.saved_percent(), 25);
  EXPECT_FALSE(pe.regions[pe.tensor_regions.at(w)].overlaps(pe.regions[pe.tensor_regions.at(y)]));

  layouts.erase(dead);
  EXPECT_EQ(planner.plan(graph, layouts).error_message,
            "'dead': there is no layout for this tensor");
  layouts[dead] = MeshLayout::Grid(2, 2);
  layouts[9] = MeshLayout::SinglePE();
  EXPECT_EQ(planner.plan(graph, layouts).error->code, ErrorCode::kOutOfRange);
  layouts.erase(9);
  layouts[dead] = MeshLayout::Grid(0, 2);
  EXPECT_FALSE(planner.plan(graph, layouts).valid);
}

// Errata 12: one transform for all consumers that want its layout, planned like any op.
TEST(PEMemoryPlanner, PlansSharedTransformsOnce) {
  PEGraph graph;
  const TensorId x = graph.add(given("x", {8, 8}));
  const TensorId moved = graph.compute("to rows", {x}, {8, 8});
  graph.ops.back().scratch = {{"staging", 64, moved, 0, 1, "transform_staging"}};
  const TensorId a = graph.compute("a", {moved}, {8, 8});
  const TensorId b = graph.compute("b", {moved, a}, {8, 8});
  graph.tensors[b].output = true;
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
  // PE (0, 1) has a quarter of x and nothing else.
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

/// A random graph on the small machine.
PEGraph random_graph(test::Dice& dice, Layouts& layouts) {
  PEGraph graph;
  const auto layout = [&] {
    MeshLayout grid = MeshLayout::Grid(static_cast<std::int32_t>(dice.between(1, 6)),
                                       static_cast<std::int32_t>(dice.between(1, 5)));
    grid.origin = {static_cast<std::int32_t>(dice.between(0, 6 - grid.pe_rows)),
                   static_cast<std::int32_t>(dice.between(0, 5 - grid.pe_cols))};
    return grid;
  };
  const auto shape = [&] { return std::vector{dice.between(1, 13), dice.between(1, 13)}; };
  for (int i = 0; i < 2; ++i) {
    layouts[graph.add(
        given("in", shape(), i == 0 ? Value::Kind::kInput : Value::Kind::kParameter))] = layout();
  }
  for (int k = 0; k < 6; ++k) {
    std::vector<TensorId> inputs;
    for (int i = 0; i < 2; ++i) {
      inputs.push_back(
          static_cast<TensorId>(dice.below(static_cast<std::int64_t>(graph.tensors.size()))));
    }
    const DType dtype = dice.chance(30) ? DType::kF16 : DType::kF32;
    const bool alike = dice.chance(50);
    const TensorId first = inputs[0];
    const TensorId id = graph.compute_in_place("v" + std::to_string(k), inputs,
                                               alike ? graph.tensors[first].shape : shape(), dtype);
    layouts[id] = alike ? layouts[first] : layout();
    graph.tensors[id].output = dice.chance(20);
    if (dice.chance(40)) {
      graph.ops.back().scratch = {{"s", dice.between(0, 60), id, dice.between(0, 8)}};
    }
  }
  return graph;
}

// Every PE on its own: sizes from MeshLayout, overlaps by lives, sums by loops.
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
        for (TensorId id = 0; id < graph.tensors.size(); ++id) {
          const auto tile = *layouts[id].tile_shape({row, col}, graph.tensors[id].shape);
          const auto found = pe.tensor_regions.find(id);
          ASSERT_EQ(found != pe.tensor_regions.end(), tile[0] * tile[1] > 0);
          if (found == pe.tensor_regions.end()) continue;
          const MemoryRegion& region = pe.regions[found->second];
          const std::int64_t element = graph.tensors[id].dtype == DType::kF16 ? 2 : 4;
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

/// y = x·w by panels on one grid, then relu.
PEGraph matmul_graph(std::int64_t n, std::int64_t panel) {
  PEGraph graph;
  const TensorId x = graph.add(given("x", {n, n}));
  const TensorId w = graph.add(given("w", {n, n}, Value::Kind::kParameter));
  const TensorId h = graph.compute("matmul", {x, w}, {n, n});
  graph.ops.back().scratch = {{"panels", panel * 256, h, panel, 1, ""},
                              {"queue", 4096, h, 0, 2, "double_buffers"}};
  const TensorId y = graph.compute("relu", {h}, {n, n});
  graph.tensors[y].output = true;
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
  EXPECT_EQ(plan.error_message,
            "225 PEs such as (0, 0): at 'matmul' 68108 bytes live at once, 31244 more than the "
            "36864 there are: 'matmul.panels' 16384, 'x' 15876, 'w' 15876, 'matmul' 15876, "
            "'matmul.queue' 4096");
  EXPECT_FALSE(plan.plan_for({0, 0})->fits());
  EXPECT_EQ(plan.plan_for({0, 0})->free_bytes(), 0u);
  ASSERT_FALSE(plan.advice.empty());
  EXPECT_EQ(plan.advice[0].remedy, Remedy::kFinerGrid);
  EXPECT_TRUE(plan.advice[0].enough);
  EXPECT_EQ(plan.error->help, plan.advice[0].sentence());
}

/// Bytes that live at the moment of a shortfall on its PE, memory that is shared counted once.
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
    if (advice.remedy == Remedy::kFinerGrid) {
      EXPECT_EQ(plan.lower_bound() - with.lower_bound(),
                static_cast<std::size_t>(advice.saves_bytes));
    } else if (advice.remedy == Remedy::kSmallerReserve) {
      EXPECT_EQ(planner.followed(advice).AVAILABLE_FOR_DATA() - planner.AVAILABLE_FOR_DATA(),
                static_cast<std::size_t>(advice.saves_bytes));
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
      graph.ops[0].scratch.clear();
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
  odd.ops[0].scratch[1].reserve = "double_bufers";
  const MemoryPlan plan = PEMemoryPlanner().plan(odd, layouts);
  EXPECT_EQ(plan.error->code, ErrorCode::kUnknownName);
  EXPECT_EQ(plan.error->help, "did you mean 'double_buffers'?");
}

TEST(PEMemoryPlanner, PutsNothingOnDeadPEs) {
  Machine machine = small_machine(4096);
  machine.dead = {{{3, 3}, {3, 4}}};
  PEGraph graph;
  graph.add(given("x", {6, 5}));
  const PEMemoryPlanner planner(machine);
  EXPECT_TRUE(planner.plan(graph, {{0, MeshLayout::Grid(3, 5)}}).valid);
  EXPECT_EQ(planner.plan(graph, {{0, MeshLayout::Grid(6, 5)}}).error_message,
            "PE [3, 3] is dead, but would hold 4 bytes");
}

TEST(PEMemoryPlanner, DeadPEsNeedNoScratch) {
  Machine machine = small_machine(1000);
  machine.dead.push_back({{5, 4}, {5, 4}});
  PEGraph graph;
  const TensorId x = graph.add(given("x", {4}));
  const TensorId y = graph.compute("y", {x}, {4});
  graph.ops[0].scratch.push_back({.name = "queue", .bytes = 16});
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

TEST(PEMemoryPlanner, AlignsElements) {
  PEGraph graph;
  graph.add({"half", {3}, DType::kF16, Value::Kind::kConstant});
  graph.add({"double", {3}, DType::kF64, Value::Kind::kConstant});
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

}  // namespace
}  // namespace tessera::pyflame
