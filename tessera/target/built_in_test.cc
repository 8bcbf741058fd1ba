// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include "tessera/target/built_in_texts.h"
#include "tessera/target/machine.h"
#include "tessera/testing/figures.h"

// All figures of the built-in machines, as literals.
namespace tessera::target {
namespace {

const Machine& machine(std::string_view name) { return **find_machine(name); }
const MemorySpace& space(std::string_view target, std::string_view name) {
  return *machine(target).find_space(name);
}
using Numbers = std::vector<std::int64_t>;
using Routed = std::vector<std::vector<Place>>;

Bandwidth per_cycle(double bytes) { return {bytes, std::nullopt}; }
Bandwidth per_second(double bytes) { return {std::nullopt, bytes}; }

TEST(BuiltIn, SevenMachines) {
  std::vector<std::string> names;
  for (const Machine& each : machines()) names.push_back(each.name);
  EXPECT_EQ(names, (std::vector<std::string>{"blackhole", "spyre", "wormhole", "wormhole-8",
                                             "wormhole-n300", "wse2", "wse3"}));
  EXPECT_EQ(machines().size(), built_in_texts().size());
}

TEST(BuiltIn, TextsAreTheFiles) {
  for (const std::string_view built_in : built_in_texts()) {
    const auto each = parse_machine(built_in);
    ASSERT_TRUE(each.ok()) << render(each.error(), std::string(built_in));
    std::ifstream file("targets/" + each->name + ".json");
    std::ostringstream text;
    text << file.rdbuf();
    EXPECT_EQ(text.str(), built_in) << each->name;
    EXPECT_EQ(*each, machine(each->name));
    EXPECT_FALSE(each->title.empty()) << each->name;
  }
}

TEST(BuiltIn, UnknownNamesGetTheNearest) {
  const auto unknown = find_machine("wse-2");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kUnknownTarget);
  EXPECT_EQ(test::figures(unknown.error().message), "'wse-2'");
  EXPECT_EQ(test::figures(unknown.error().help), "'wse2'");
  EXPECT_EQ(test::figures(find_machine("abacus").error().help),
            "wormhole-8 wormhole-n300 wse2 wse3");
}

TEST(BuiltIn, Wse2) {
  const Machine& wse2 = machine("wse2");
  EXPECT_EQ(wse2.shape().extents(), (Numbers{994, 750}));  // rows x columns
  EXPECT_EQ(wse2.mesh[0].axes, (std::vector<std::string>{"row", "col"}));
  EXPECT_EQ(wse2.places(), 745500);
  const MemorySpace& sram = wse2.default_space();
  EXPECT_EQ(sram.name, "sram");
  EXPECT_EQ(sram.owner, MemorySpace::Owner::kPlace);
  EXPECT_EQ(sram.bytes, 48 * 1024);
  EXPECT_EQ(sram.reserved, (std::vector<Reserve>{{"code", 8192}, {"stack", 4096}}));
  EXPECT_EQ(sram.data_bytes(), 36 * 1024);  // 48 - 8 - 4
  EXPECT_EQ(wse2.rules.wavelet_bits, 32);
  EXPECT_EQ(wse2.rules.colours, 24);
  EXPECT_EQ(wse2.rules.reserved_colours, (Numbers{21, 22, 23}));
  EXPECT_EQ(wse2.rules.fabric, (Fabric{4, 1, 757, 996}));
  ASSERT_EQ(wse2.mesh[0].networks.size(), 1U);
  const Network& links = wse2.mesh[0].networks[0];
  EXPECT_EQ(links.name, "");
  EXPECT_EQ(links.kind, NetworkKind::kMesh);
  EXPECT_EQ(links.ports, (std::vector<std::string>{"north", "south", "east", "west", "ramp"}));
  EXPECT_EQ(links.hop_cycles, 1);
  EXPECT_EQ(links.bits_per_cycle, 32);
  EXPECT_EQ(links.ramp_cycles, 2);
  EXPECT_EQ(wse2.clock_hz, 850'000'000);
  EXPECT_TRUE(wse2.dead.empty());
  EXPECT_EQ(sram.read, per_cycle(16));
  EXPECT_EQ(sram.write, per_cycle(8));
  EXPECT_FALSE(sram.mixed.known());
  EXPECT_EQ(wse2.compute,
            (std::vector<ComputeRate>{{"vector", "f16", "", 4}, {"vector", "f32", "", 1}}));
  const MemorySpace& host = space("wse2", "host");
  EXPECT_EQ(host.owner, MemorySpace::Owner::kShared);
  EXPECT_EQ(host.read, per_second(100e9));
  EXPECT_EQ(host.write, per_second(100e9));
  // Enough links of 4 bytes per cycle, on the border.
  ASSERT_EQ(host.at.size(), 1U);
  EXPECT_GE(static_cast<double>(host.at[0].size()) * 4 * 0.85e9, 100e9);
  for (const Place& router : host.at[0]) EXPECT_EQ(router[1], 0);
}

TEST(BuiltIn, Wse3) {
  const Machine& wse3 = machine("wse3");
  EXPECT_EQ(wse3.shape().extents(), (Numbers{1170, 755}));
  EXPECT_EQ(wse3.places(), 883350);
  EXPECT_EQ(wse3.default_space().bytes, 48 * 1024);
  EXPECT_EQ(wse3.default_space().data_bytes(), 36 * 1024);
  EXPECT_EQ(wse3.rules.wavelet_bits, 32);
  EXPECT_EQ(wse3.rules.colours, 24);
  EXPECT_EQ(wse3.rules.reserved_colours, (Numbers{21, 22, 23}));
  EXPECT_EQ(wse3.rules.fabric, (Fabric{4, 1, 762, 1172}));
  EXPECT_EQ(wse3.mesh[0].networks, machine("wse2").mesh[0].networks);
  EXPECT_EQ(wse3.clock_hz, 1'000'000'000);
  EXPECT_EQ(wse3.evidence("/clock_hz"), Evidence::kAssumed);
  EXPECT_EQ(wse3.default_space().read, per_cycle(16));
  EXPECT_EQ(wse3.default_space().write, per_cycle(8));
  EXPECT_EQ(wse3.compute, (std::vector<ComputeRate>{{"vector", "f16", "", 8}}));
  EXPECT_EQ(space("wse3", "host").read, per_second(10e9));
  EXPECT_GE(static_cast<double>(space("wse3", "host").at.at(0).size()) * 4 * 1e9, 10e9);
}

/// The two NoCs of Wormhole and Blackhole: right then down, and up then left.
void expect_nocs(const MeshLevel& cores, double bits, std::int64_t packet_bytes) {
  ASSERT_EQ(cores.networks.size(), 2U);
  Network noc0;
  noc0.name = "noc0";
  noc0.kind = NetworkKind::kTorus;
  noc0.route = {1, 0};
  noc0.ways = {Way::kUp, Way::kUp};
  noc0.hop_cycles = 9;
  noc0.bits_per_cycle = bits;
  noc0.packet_bytes = packet_bytes;
  Network noc1 = noc0;
  noc1.name = "noc1";
  noc1.route = {0, 1};
  noc1.ways = {Way::kDown, Way::kDown};
  EXPECT_EQ(cores.networks[0], noc0);
  EXPECT_EQ(cores.networks[1], noc1);
}

/// A mechanism's fitted constants: those of the line, and its latency L0 on one axis and on both. A
/// round trip passes every router of the rings that it uses.
void expect_mechanism(const MeshLevel& cores, std::string_view name, std::string_view network,
                      double issue, double bytes_per_cycle, double one_axis, double both_axes) {
  for (const Mechanism& mechanism : cores.mechanisms) {
    if (mechanism.name != name) continue;
    EXPECT_EQ(mechanism.network, network);
    EXPECT_EQ(mechanism.issue_cycles, issue);
    EXPECT_EQ(mechanism.bytes_per_cycle, bytes_per_cycle);
    const Numbers& routers = cores.routers->extents;
    const auto rows = static_cast<double>(routers[0]);
    const auto all = static_cast<double>(routers[0] + routers[1]);
    EXPECT_NEAR(*mechanism.overhead_cycles + 9 * rows, one_axis, 0.02 * one_axis) << name;
    EXPECT_NEAR(*mechanism.overhead_cycles + 9 * all, both_axes, 0.02 * both_axes) << name;
    return;
  }
  ADD_FAILURE() << "no mechanism " << name;
}

/// What a Tensix core computes per cycle.
void expect_tensix(const Machine& machine) {
  const auto rate = [&](std::string_view unit, std::string_view mode) {
    for (const ComputeRate& each : machine.compute) {
      if (each.unit == unit && each.mode == mode) return each.per_cycle;
    }
    return 0.0;
  };
  EXPECT_EQ(machine.compute.size(), 7U);
  // Cycles for a 32x32x32 tile.
  EXPECT_EQ(32768 / rate("matrix", "lofi"), 16);
  EXPECT_EQ(32768 / rate("matrix", "hifi2"), 32);
  EXPECT_DOUBLE_EQ(32768 / rate("matrix", "hifi3"), 48);
  EXPECT_EQ(32768 / rate("matrix", "hifi4"), 64);
  EXPECT_EQ(rate("elementwise", ""), 128);
  EXPECT_EQ(rate("reduce", ""), 256);
  EXPECT_EQ(rate("vector", ""), 32);
}

TEST(BuiltIn, Wormhole) {
  const Machine& wormhole = machine("wormhole");
  EXPECT_EQ(wormhole.shape().extents(), (Numbers{8, 8}));
  EXPECT_EQ(wormhole.clock_hz, 1'000'000'000);
  const MemorySpace& l1 = wormhole.default_space();
  EXPECT_EQ(l1.name, "l1");
  EXPECT_EQ(l1.bytes, 1'499'136);
  EXPECT_EQ(l1.data_bytes(), 1364 * 1024);
  EXPECT_EQ(l1.align_bytes, 16);
  EXPECT_EQ(l1.read, per_cycle(16 * 16));
  EXPECT_EQ(l1.write, per_cycle(16 * 16));
  EXPECT_EQ(l1.mixed, per_cycle(16 * 16));
  const MemorySpace& dram = space("wormhole", "dram");
  EXPECT_EQ(dram.owner, MemorySpace::Owner::kBank);
  EXPECT_EQ(dram.banks, 12);
  EXPECT_EQ(dram.bytes, std::int64_t{1} << 30);
  EXPECT_EQ(dram.align_bytes, 32);
  EXPECT_EQ(dram.read, per_second(288e9 / 12));
  EXPECT_EQ(dram.write, per_second(288e9 / 12));
  // Of each group the column x, and its rows y; banks 2g and 2g + 1 are in group g.
  // The router of each bank at which workers reach it, as (x, y).
  Routed at;
  for (const auto& [x, y] : std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 11},
                                                                               {0, 1},
                                                                               {0, 5},
                                                                               {0, 7},
                                                                               {5, 1},
                                                                               {5, 11},
                                                                               {5, 2},
                                                                               {5, 9},
                                                                               {5, 8},
                                                                               {5, 3},
                                                                               {5, 5},
                                                                               {5, 7}}) {
    at.push_back({{y, x}});
  }
  EXPECT_EQ(dram.at, at);
  EXPECT_EQ(wormhole.rules.tile, (TileSize{32, 32}));
  const MeshLevel& cores = wormhole.mesh[0];
  EXPECT_EQ(cores.routers,
            (Routers{{12, 10}, {{1, 2, 3, 4, 5, 7, 8, 9}, {1, 2, 3, 4, 6, 7, 8, 9}}}));
  expect_nocs(cores, 256, 8192);
  expect_mechanism(cores, "read", "noc0", 25, 28.6, 205, 293);
  expect_mechanism(cores, "write", "noc1", 22, 31.1, 210, 293);
  expect_tensix(wormhole);
  EXPECT_EQ(wormhole.op_gap_seconds, 2.05e-6);
  // The four spaces of tt-mlir.
  for (const char* name : {"system", "mmio", "dram", "l1"}) {
    EXPECT_NE(wormhole.find_space(name), nullptr) << name;
  }
  const MemorySpace& system = space("wormhole", "system");
  EXPECT_EQ(system.bytes, std::nullopt);
  EXPECT_EQ(system.read, per_second(14.0e9));  // what the host writes to the device
  EXPECT_EQ(system.write, per_second(13e9));
  EXPECT_EQ(system.at, (Routed{{{3, 0}}}));
}

/// A machine of several Wormhole chips.
void expect_chips(std::string_view name, const Numbers& chips, std::int64_t links) {
  const Machine& box = machine(name);
  const Machine& wormhole = machine("wormhole");
  ASSERT_EQ(box.mesh.size(), 2U);
  EXPECT_EQ(box.mesh[0].extents, chips);
  EXPECT_EQ(box.mesh[1], wormhole.mesh[0]);
  for (const char* memory : {"l1", "dram", "mmio"}) {
    EXPECT_EQ(space(name, memory), *wormhole.find_space(memory)) << memory;
  }
  EXPECT_EQ(box.clock_hz, wormhole.clock_hz);
  EXPECT_EQ(box.compute, wormhole.compute);
  EXPECT_EQ(box.op_gap_seconds, wormhole.op_gap_seconds);
  EXPECT_EQ(box.rules, wormhole.rules);
  ASSERT_EQ(box.mesh[0].networks.size(), 1U);
  const Network& ethernet = box.mesh[0].networks[0];
  EXPECT_EQ(ethernet.kind, NetworkKind::kMesh);
  EXPECT_EQ(ethernet.links, links);
  EXPECT_EQ(ethernet.bytes_per_second, 9.6e9);
  EXPECT_EQ(ethernet.hop_seconds, 0.8e-6);
  // Ethernet tiles, and none twice.
  std::set<Place> tiles;
  for (const Gateway& gateway : box.mesh[0].gateways) {
    for (const Place& router : gateway.routers) {
      EXPECT_TRUE(tiles.insert(router).second);
      EXPECT_TRUE(router[0] == 0 || router[0] == 6);
      EXPECT_TRUE(router[1] >= 1 && router[1] <= 9 && router[1] != 5);
    }
  }
  EXPECT_EQ(tiles.size(), box.mesh[0].gateways.size() * static_cast<std::size_t>(links));
}

TEST(BuiltIn, BoxesOfWormholes) {
  expect_chips("wormhole-n300", {2}, 2);
  expect_chips("wormhole-8", {2, 4}, 4);
  EXPECT_EQ(machine("wormhole-n300").devices(), 2);
  EXPECT_EQ(machine("wormhole-8").devices(), 8);
  // The host is at the first chip of a board.
  EXPECT_EQ(space("wormhole-n300", "system").at, (Routed{{{0, 3, 0}}}));
  EXPECT_EQ(space("wormhole-n300", "system").read, per_second(14e9));
  const MemorySpace& system = space("wormhole-8", "system");
  EXPECT_EQ(system.at, (Routed{{{0, 0, 3, 0}, {0, 1, 3, 0}, {0, 2, 3, 0}, {0, 3, 3, 0}}}));
  EXPECT_EQ(system.read, per_second(14e9));
  EXPECT_EQ(system.write, per_second(13e9));
}

TEST(BuiltIn, Blackhole) {
  const Machine& blackhole = machine("blackhole");
  EXPECT_EQ(blackhole.shape().extents(), (Numbers{10, 13}));
  EXPECT_EQ(blackhole.clock_hz, 1'350'000'000);
  EXPECT_EQ(blackhole.default_space().name, "l1");
  EXPECT_EQ(blackhole.default_space().bytes, 1536 * 1024);  // 1.5 MB
  EXPECT_EQ(blackhole.default_space().align_bytes, 16);
  EXPECT_EQ(blackhole.default_space().read, machine("wormhole").default_space().read);  // assumed
  const MemorySpace& dram = space("blackhole", "dram");
  EXPECT_EQ(dram.banks, 8);
  EXPECT_EQ(dram.bytes, 4'278'190'080);
  EXPECT_EQ(dram.align_bytes, 64);
  EXPECT_EQ(dram.read, per_second(512e9 / 8));
  EXPECT_EQ(dram.write, per_second(512e9 / 8));
  Routed at;
  for (const std::int64_t x : {0, 9}) {
    for (const std::int64_t y : {11, 3, 8, 6}) at.push_back({{y, x}});
  }
  EXPECT_EQ(dram.at, at);
  EXPECT_EQ(blackhole.rules, machine("wormhole").rules);
  const MeshLevel& cores = blackhole.mesh[0];
  EXPECT_EQ(cores.routers->extents, (Numbers{12, 17}));
  EXPECT_EQ(cores.routers->places[0], (Numbers{2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  for (const std::int64_t x : cores.routers->places[1]) {
    EXPECT_TRUE((x >= 1 && x <= 7) || (x >= 10 && x <= 16)) << x;
  }
  expect_nocs(cores, 512, 16384);
  expect_mechanism(cores, "read", "noc0", 34.9, 61.5, 226, 373);
  expect_mechanism(cores, "write", "noc1", 23, 62, 208, 358);
  expect_tensix(blackhole);
  EXPECT_EQ(blackhole.op_gap_seconds, 2.08e-6);
  EXPECT_EQ(space("blackhole", "system").read, per_second(21.5e9));
  EXPECT_EQ(space("blackhole", "system").write, per_second(14.6e9));
  EXPECT_EQ(space("blackhole", "system").at, (Routed{{{0, 2}}}));
}

TEST(BuiltIn, Spyre) {
  const Machine& spyre = machine("spyre");
  EXPECT_EQ(spyre.shape().extents(), (Numbers{32}));
  const MemorySpace& lx = space("spyre", "lx");
  EXPECT_EQ(lx.owner, MemorySpace::Owner::kPlace);
  EXPECT_EQ(lx.bytes, 2 * 1024 * 1024);
  EXPECT_NEAR(static_cast<double>(*lx.data_bytes()) / (1024 * 1024), 1.55, 0.0005);
  EXPECT_EQ(*lx.data_bytes() % 128, 0);
  EXPECT_EQ(lx.align_bytes, 128);
  EXPECT_EQ(lx.read, per_cycle(128));
  const MemorySpace& hbm = spyre.default_space();
  EXPECT_EQ(hbm.name, "hbm");
  EXPECT_EQ(hbm.owner, MemorySpace::Owner::kShared);
  EXPECT_EQ(hbm.bytes, std::nullopt);
  EXPECT_EQ(hbm.align_bytes, 128);
  EXPECT_EQ(hbm.read, per_second(150e9));
  EXPECT_EQ(hbm.write, per_second(150e9));
  EXPECT_EQ(hbm.mixed, per_second(105e9));
  ASSERT_EQ(hbm.at.size(), 1U);
  EXPECT_EQ(hbm.at[0].size(), 32U);
  EXPECT_EQ(space("spyre", "host").read, per_second(50e9));
  EXPECT_EQ(space("spyre", "host").at, (Routed{{{0}}}));
  EXPECT_EQ(spyre.rules.stick_bytes, 128);
  // 255.996 MiB, which is exact to 3 digits: 256 MiB less a page of 4 KiB.
  EXPECT_EQ(spyre.rules.span_limit_bytes, 256 * 1024 * 1024 - 4096);
  EXPECT_NEAR(static_cast<double>(*spyre.rules.span_limit_bytes) / (1024 * 1024), 255.996, 0.0005);
  ASSERT_EQ(spyre.mesh[0].networks.size(), 1U);
  const Network& ring = spyre.mesh[0].networks[0];
  EXPECT_EQ(ring.kind, NetworkKind::kRing);
  EXPECT_EQ(ring.ways, (std::vector<Way>{Way::kBoth}));
  EXPECT_EQ(ring.bits_per_cycle, 128 * 8);
  EXPECT_EQ(spyre.clock_hz, 1'500'000'000);
  EXPECT_EQ(spyre.compute, (std::vector<ComputeRate>{{"matrix", "f16", "peak", 1536 / 1.5},
                                                     {"matrix", "f16", "sustained", 1140 / 1.5}}));
}

}  // namespace
}  // namespace tessera::target
