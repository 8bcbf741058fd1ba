// SPDX-License-Identifier: Apache-2.0
#include "tessera/target/fit.h"

#include <gtest/gtest.h>

#include "tessera/base/text.h"
#include "tessera/target/machine.h"
#include "tessera/testing/build.h"
#include "tessera/testing/figures.h"
#include "tessera/testing/generate.h"

namespace tessera::target {
namespace {

using test::fold;
using test::form;
using test::mem;
using test::on;
using test::x;

const Machine& machine(std::string_view name) { return **find_machine(name); }

std::vector<std::string> reasons(const Fit& fit) {
  std::vector<std::string> list;
  for (const Misfit& reason : fit.reasons) {
    list.push_back(cat(misfit_name(reason.code), ": ", test::figures(reason.message)));
  }
  return list;
}
using Reasons = std::vector<std::string>;

/// [rows, cols] f32 on a grid of places, ceil(n / p) of each dim per place, row-major: PyFlame's
/// SinglePE, RowPartition and Grid.
Layout grid(std::int64_t rows, std::int64_t cols, std::int64_t p, std::int64_t q,
            std::string space = "", DeviceMap map = DeviceMap::identity()) {
  const std::int64_t a = (rows + p - 1) / p;
  const std::int64_t b = (cols + q - 1) / q;
  LayoutSpec spec = test::spec(
      form({rows, cols}, {p, q},
           {fold(x(0), {on(0, a, p), mem(1, a, b)}), fold(x(1), {on(1, b, q), mem(1, b, 1)})}));
  spec.space = std::move(space);
  spec.device_map = std::move(map);
  return *Layout::make(std::move(spec));
}

Machine parsed(const std::string& json) {
  auto result = parse_machine(json);
  EXPECT_TRUE(result.ok()) << render(result.error(), json);
  return *std::move(result);
}

TEST(SizeText, IsExact) {
  EXPECT_EQ(size_text(0), "0 bytes");
  EXPECT_EQ(size_text(1), "1 byte");
  EXPECT_EQ(size_text(1088), "1088 bytes");
  EXPECT_EQ(size_text(49152), "48 KB");
  EXPECT_EQ(size_text(1396736), "1364 KB");
  EXPECT_EQ(size_text(4194304), "4 MB");
  EXPECT_EQ(size_text(std::int64_t{1} << 30), "1 GB");
}

// The three layouts that the PyFlame document shows, with its own results.
TEST(Fit, SinglePeIsFarTooLarge) {
  const Fit fit = *fits(grid(1024, 1024, 1, 1), machine("wse2"));
  EXPECT_FALSE(fit.fits());
  EXPECT_EQ(fit.space, "sram");
  EXPECT_EQ(fit.shard_bytes, 4 << 20);  // 1024 · 1024 · 4
  EXPECT_EQ(fit.capacity_bytes, 48 << 10);
  EXPECT_EQ(fit.usable_bytes, 36 << 10);
  EXPECT_EQ(fit.needed_places, 114);  // 4 MB / 36 KB = 113.8
  EXPECT_EQ(reasons(fit), Reasons{"exceeds_memory: 4 MB 48 KB 36 KB"});
}

TEST(Fit, FourRowsOfPesAreStillTooFew) {
  const Fit fit = *fits(grid(1024, 1024, 4, 1), machine("wse2"));
  EXPECT_EQ(reasons(fit), Reasons{"exceeds_memory: 1 MB 48 KB 36 KB"});
}

TEST(Fit, AGridOf32x32Fits) {
  const Fit fit = *fits(grid(1024, 1024, 32, 32), machine("wse2"));
  EXPECT_TRUE(fit.fits());
  EXPECT_EQ(fit.shard_bytes, 4096);                // a 32x32 tile
  EXPECT_NEAR(*fit.share_percent(), 11.11, 0.01);  // 4 of 36 KB
}

TEST(Fit, BetweenBudgetAndMemoryIsSaid) {
  const Fit fit = *fits(grid(100, 100, 1, 1), machine("wse2"));  // 40,000 bytes
  EXPECT_EQ(reasons(fit), Reasons{"exceeds_data_budget: 40000 48 KB 36 KB"});
  EXPECT_EQ(fit.needed_places, 2);
  EXPECT_TRUE(fits(grid(96, 96, 1, 1), machine("wse2"))->fits());  // exactly 36 KB
}

TEST(Fit, TheFabricIs994RowsBy750Columns) {
  EXPECT_TRUE(fits(grid(994, 750, 994, 750), machine("wse2"))->fits());
  EXPECT_EQ(reasons(*fits(grid(750, 994, 750, 994), machine("wse2"))),
            Reasons{"mesh_too_large: 750x994 994x750 1 994 750"});
  EXPECT_EQ(reasons(*fits(grid(995, 1, 995, 1), machine("wse2"))),
            Reasons{"mesh_too_large: 995x1 994x750 0 995 994"});
  EXPECT_TRUE(fits(grid(995, 1, 995, 1), machine("wse3"))->fits());
}

TEST(Fit, RanksThatDifferCompareByCount) {
  const auto line = [](std::int64_t places) {
    return test::layout(form({places}, {places}, {fold(x(0), {on(0, 1, places)})}));
  };
  EXPECT_TRUE(fits(line(64), machine("wormhole"))->fits());
  EXPECT_EQ(reasons(*fits(line(65), machine("wormhole"))), Reasons{"mesh_too_large: 65 64"});
  const Layout cube = test::layout(
      form({4, 4, 4}, {4, 4, 4},
           {fold(x(0), {on(0, 1, 4)}), fold(x(1), {on(1, 1, 4)}), fold(x(2), {on(2, 1, 4)})}));
  EXPECT_TRUE(fits(cube, machine("wormhole"))->fits());
  EXPECT_FALSE(fits(cube, machine("spyre"))->fits());  // 64 > 32
}

TEST(Fit, DeviceMapsSayWhereTheMeshIs) {
  // 1x64 virtual cores on 8x8: {v1} by (8, 1) on axes 0 and 1.
  const auto map = DeviceMap::folded(test::shape({8, 8}), {fold(x(1), {on(0, 8, 8), on(1, 1, 8)})});
  const Layout mapped = grid(1, 64, 1, 64, "l1", map);
  EXPECT_TRUE(fits(mapped, machine("wormhole"))->fits());
  EXPECT_EQ(reasons(*fits(grid(1, 64, 1, 64, "l1"), machine("wormhole"))),
            Reasons{"mesh_too_large: 1x64 8x8 1 64 8"});

  Machine broken = machine("wormhole");
  broken.dead = {{{3, 5}, {3, 5}}};
  EXPECT_EQ(reasons(*fits(mapped, broken)), Reasons{"dead_places: [3 5]"});
  // 1x8 virtual cores on row 2 of the machine: the dead place is elsewhere.
  const auto row = DeviceMap::folded(test::shape({8, 8}), {fold(x(1), {on(1, 1, 8)})}, {2, 0});
  EXPECT_TRUE(fits(grid(1, 8, 1, 8, "l1", row), broken)->fits());
  const auto table = DeviceMap::table(test::shape({8, 8}), {{0, 0}, {3, 5}});
  EXPECT_FALSE(fits(grid(1, 2, 1, 2, "l1", table), broken)->fits());
  const auto other = DeviceMap::table(test::shape({8, 8}), {{0, 0}, {5, 3}});
  EXPECT_TRUE(fits(grid(1, 2, 1, 2, "l1", other), broken)->fits());
}

TEST(Fit, StackedPlacesShareTheirMemory) {
  // 12 virtual places on 4 physical ones, three deep.
  const auto map =
      DeviceMap::folded(test::shape({4, 1}), {fold(x(0), {mem(4, 3, 1), on(0, 1, 4)})});
  const Layout stacked = grid(768, 64, 12, 1, "", map);  // 64·64·4 = 16 KB per virtual place
  const Fit fit = *fits(stacked, machine("wse2"));
  EXPECT_EQ(fit.shard_bytes, 16 << 10);
  EXPECT_EQ(fit.held_bytes, 48 << 10);
  EXPECT_EQ(reasons(fit), Reasons{"exceeds_data_budget: 48 KB 48 KB 36 KB"});
}

TEST(Fit, DeadPlacesUnderTheMesh) {
  Machine wafer = machine("wse2");
  wafer.dead = {{{5, 7}, {5, 9}}, {{900, 0}, {993, 749}}};
  EXPECT_TRUE(fits(grid(64, 64, 5, 64), wafer)->fits());  // rows 0 to 4
  EXPECT_EQ(reasons(*fits(grid(64, 64, 6, 9), wafer)), Reasons{"dead_places: 2 [5 7]"});
  // A mesh of another rank may be anywhere: working places are counted.
  wafer.mesh[0].extents = {2, 2};
  wafer.memory.resize(1);  // the host's memory is at routers of the whole wafer
  wafer.rules.fabric.reset();
  wafer.dead = {{{0, 1}, {1, 1}}};
  const Layout line = test::layout(form({3}, {3}, {fold(x(0), {on(0, 1, 3)})}));
  EXPECT_EQ(reasons(*fits(line, wafer)), Reasons{"mesh_too_large: 3 2"});
}

TEST(Fit, EveryDeviceHasItsBanks) {
  // 2 devices of 2x4 places, 3 banks each.
  const Machine box = parsed(R"({"name": "box", "mesh": [{"name": "devices", "extents": [2]},
      {"name": "cores", "extents": [2, 4]}],
      "memory": [{"name": "dram", "per": "bank", "banks": 3, "bytes": 4096}]})");
  const auto held = [&](const Layout& layout) { return fits(layout, box)->held_bytes; };
  // 7 shards of 4 bytes on one device: at most 3 per bank.
  EXPECT_EQ(held(test::layout(form({1, 7}, {1, 7}, {fold(x(1), {on(1, 1, 7)})}))), 3 * 4);
  // 2x1x4 places: 4 on each device, at most 2 per bank.
  EXPECT_EQ(held(test::layout(
                form({2, 4}, {2, 1, 4}, {fold(x(0), {on(0, 1, 2)}), fold(x(1), {on(2, 1, 4)})}))),
            2 * 4);
  // 8 numbered places are distributed over both devices: 4 on each.
  EXPECT_EQ(held(test::layout(form({8}, {8}, {fold(x(0), {on(0, 1, 8)})}))), 2 * 4);
  // A tensor on one place is in the banks of one device: 7 rows, 3 per bank.
  EXPECT_EQ(held(*Layout::row_major(*Shape::make({7, 1}), DType::kF32)), 3 * 4);
  // Device maps name banks of any device.
  const auto onto = [&](std::int64_t banks) {
    const Fold pages{{{0, 1}}, 0, {{1, banks, Target::mesh(0), 1, Cause::kGrid}}};
    LayoutSpec spec = test::spec(form({banks}, {banks}, {fold(x(0), {on(0, 1, banks)})}));
    spec.device_map = DeviceMap::folded(*Shape::make({banks}), {pages}, {0});
    return reasons(*fits(*Layout::make(spec), box));
  };
  EXPECT_EQ(onto(6), Reasons{});
  EXPECT_EQ(onto(7), Reasons{"mesh_too_large: 7 6"});
}

TEST(Fit, TheLayoutsOwnSpace) {
  const Layout in_l1 = grid(1024, 1024, 1, 1, "l1");
  const Fit l1 = *fits(in_l1, machine("wormhole"));
  EXPECT_EQ(l1.space, "l1");
  EXPECT_EQ(reasons(l1), Reasons{"exceeds_memory: 4 MB 1464 KB 1364 KB"});
  const Fit system = *fits(grid(1024, 1024, 1, 1, "system"), machine("wormhole"));
  EXPECT_EQ(system.space, "system");
  EXPECT_TRUE(system.fits());
  EXPECT_EQ(system.capacity_bytes, std::nullopt);
  EXPECT_EQ(system.share_percent(), std::nullopt);
  // wse2 has no l1: its own memory is checked, and the layout's name is kept for messages.
  const Fit elsewhere = *fits(in_l1, machine("wse2"));
  EXPECT_EQ(elsewhere.space, "sram");
  EXPECT_EQ(elsewhere.layout_space, "l1");
}

TEST(Fit, AlignmentRoundsTheShardUp) {
  LayoutSpec spec = test::spec(form({5}, {}, {fold(x(0), {mem(1, 5, 1)})}));
  spec.space = "l1";
  const Layout five = *Layout::make(spec);
  EXPECT_EQ(fits(five, machine("wormhole"))->shard_bytes, 32);  // 20 bytes in units of 16
  EXPECT_EQ(fits(five, machine("spyre"))->shard_bytes, 128);    // a whole stick
  EXPECT_EQ(fits(five, machine("wse2"))->shard_bytes, 20);
}

TEST(Fit, PagesAreDealtToBanks) {
  // 100 tiles of 32x32 f32 (4096 bytes each) over 12 banks: at most 9 tiles per bank.
  LayoutSpec spec = test::spec(form({320, 320}, {},
                                    {fold(x(0), {mem(32, 10, 10240), mem(1, 32, 32)}),
                                     fold(x(1), {mem(32, 10, 1024), mem(1, 32, 1)})}));
  spec.atom = Atom::tile(32, 32, DType::kF32);
  spec.space = "dram";
  const Fit tiles = *fits(*Layout::make(spec), machine("wormhole"));
  EXPECT_EQ(tiles.owner, MemorySpace::Owner::kBank);
  EXPECT_EQ(tiles.held_bytes, 9 * 4096);
  EXPECT_EQ(tiles.needed_places, std::nullopt);
  // Rows of 5 f32 are 20 bytes, 32 when aligned; 25 rows are at most 3 per bank.
  const Fit rows = *fits(grid(25, 5, 1, 1, "dram"), machine("wormhole"));
  EXPECT_EQ(rows.held_bytes, 3 * 32);
  // 30 shards of 4 KB, distributed round-robin: 3 per bank.
  EXPECT_EQ(fits(grid(960, 32, 30, 1, "dram"), machine("wormhole"))->held_bytes, 3 * 4096);
  // Pages over 12 banks through a device map: 24 pages, two layers.
  const auto banks =
      DeviceMap::folded(test::shape({12}), {fold(x(0), {mem(12, 2, 1), on(0, 1, 12)})});
  const Layout paged = grid(768, 32, 24, 1, "dram", banks);
  EXPECT_EQ(fits(paged, machine("wormhole"))->held_bytes, 2 * 4096);
  const auto too_many =
      DeviceMap::folded(test::shape({13}), {fold(x(0), {mem(13, 2, 1), on(0, 1, 13)})});
  EXPECT_EQ(reasons(*fits(grid(768, 32, 24, 1, "dram", too_many), machine("wormhole"))),
            Reasons{"mesh_too_large: 13 12"});
  // 16 GB on one place: 1366 of 16384 rows of 1 MB per bank.
  const Layout huge = grid(16384, 262144, 1, 1, "dram");
  EXPECT_EQ(reasons(*fits(huge, machine("wormhole"))), Reasons{"exceeds_memory: 1366 MB 1 GB"});
}

TEST(Fit, InterleavedTensorsAreDealtToAllPlaces) {
  // 1024x1024 f32 in rows of 4 KB: 1024 rows over 64 cores are 16 per core.
  const Layout rows = grid(1024, 1024, 1, 1, "l1");
  EXPECT_FALSE(fits(rows, machine("wormhole"))->fits());
  const Fit fit = *fits(rows, machine("wormhole"), Spread::kInterleaved);
  EXPECT_TRUE(fit.fits());
  EXPECT_EQ(fit.held_bytes, 16 * 4096);
  Machine broken = machine("wormhole");
  broken.dead = {{{0, 0}, {0, 0}}};  // 63 cores are left: 17 rows on some of them
  const Fit fewer = *fits(rows, broken, Spread::kInterleaved);
  EXPECT_TRUE(fewer.fits());
  EXPECT_EQ(fewer.held_bytes, 17 * 4096);
  // In banks a tensor on one place is distributed in both modes.
  const Layout dram = grid(25, 5, 1, 1, "dram");
  EXPECT_EQ(fits(dram, machine("wormhole"), Spread::kInterleaved)->held_bytes, 3 * 32);
}

TEST(Fit, SpansOfASharedPool) {
  // 256 MB less 4 KB per core is the limit; a stick more is too much.
  const auto over_four = [](std::int64_t each) {
    return test::layout(form({4 * each}, {4}, {fold(x(0), {on(0, each, 4), mem(1, each, 1)})}));
  };
  constexpr std::int64_t kMost = ((1 << 28) - 4096) / 4;
  EXPECT_TRUE(fits(over_four(kMost), machine("spyre"))->fits());
  EXPECT_EQ(reasons(*fits(over_four(kMost + 1), machine("spyre"))),
            Reasons{"span_too_long: 268431488 262140 KB"});
  const std::int64_t third = (1 << 28) / 3 + 1;
  const Layout three =
      test::layout(form({1 << 28}, {3}, {fold(x(0), {on(0, third, 3), mem(1, third, 1)})}));
  const Fit fit = *fits(three, machine("spyre"));
  EXPECT_EQ(fit.space, "hbm");
  // third = 89,478,486 elements, 357,913,944 bytes, in whole sticks of 128.
  EXPECT_EQ(reasons(fit), Reasons{"span_too_long: 357913984 262140 KB"});
  EXPECT_EQ(fit.held_bytes, 3 * 357913984);
  // Without a mesh it is not specified which cores access the tensor.
  EXPECT_TRUE(
      fits(test::layout(form({1 << 28}, {}, {fold(x(0), {mem(1, 1 << 28, 1)})})), machine("spyre"))
          ->fits());
  LayoutSpec spec = test::spec(form({1 << 20}, {}, {fold(x(0), {mem(1, 1 << 20, 1)})}));
  spec.space = "lx";
  EXPECT_EQ(reasons(*fits(*Layout::make(spec), machine("spyre"))),
            Reasons{"exceeds_memory: 4 MB 2 MB 1587 KB"});
}

TEST(Fit, EmptyTensorsFitAnywhere) {
  const Layout empty = *Layout::row_major(test::shape({0, 5}), DType::kF32);
  const Fit fit = *fits(empty, machine("wse2"));
  EXPECT_TRUE(fit.fits());
  EXPECT_EQ(fit.held_bytes, 0);
}

TEST(Fit, SharedMemoriesOfKnownSize) {
  const Machine box = parsed(
      R"({"name": "box", "mesh": [4], "memory": [{"name": "ram", "per": "shared", "bytes": 4096}]})");
  const auto line = [](std::int64_t n) {
    return test::layout(form({4 * n}, {4}, {fold(x(0), {on(0, n, 4), mem(1, n, 1)})}));
  };
  EXPECT_TRUE(fits(line(256), box)->fits());
  EXPECT_EQ(reasons(*fits(line(257), box)), Reasons{"exceeds_memory: 4112 4 KB"});
}

TEST(Fit, MachinesThatCannotBeAreRefused) {
  Machine machine;
  machine.name = "none";
  EXPECT_EQ(test::figures(fits(grid(1, 1, 1, 1), machine).error().message), "/mesh");
}

TEST(Fit, OverflowIsAnError) {
  Machine box = parsed(R"({"name": "box", "mesh": [4], "memory": [{"name": "ram"}]})");
  box.memory[0].align_bytes = INT64_MAX;
  const Layout line = test::layout(form({4}, {4}, {fold(x(0), {on(0, 1, 4)})}));
  EXPECT_TRUE(fits(line, box)->fits());
  box.memory[0].owner = MemorySpace::Owner::kShared;
  EXPECT_EQ(fits(line, box).error().code, ErrorCode::kOverflow);
}

// Law: a layout that fits a machine also fits one that has more of everything.
TEST(Fit, MoreMemoryAndPlacesNeverHurt) {
  Machine small = parsed(
      R"({"name": "small", "mesh": [3, 4], "memory": [{"name": "sram", "bytes": 200,
          "reserved": [{"name": "code", "bytes": 40}]}], "dead": [[2, 3]]})");
  Machine large = small;
  large.mesh[0].extents = {5, 4};
  large.memory[0].bytes = 300;
  large.dead.clear();
  int fitting = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    test::Dice dice(seed);
    const std::optional<Layout> layout = test::random_layout(dice, test::Limits{});
    if (!layout) continue;
    const Result<Fit> fit = fits(*layout, small);
    ASSERT_TRUE(fit.ok()) << fit.error().message;
    EXPECT_EQ(fit->held_bytes, layout->shard_bytes());
    if (!fit->fits()) continue;
    ++fitting;
    EXPECT_LE(layout->shard_bytes(), 160);
    EXPECT_LE(layout->places(), 11);
    EXPECT_TRUE(fits(*layout, large)->fits());
  }
  EXPECT_GT(fitting, 100);
}

}  // namespace
}  // namespace tessera::target
