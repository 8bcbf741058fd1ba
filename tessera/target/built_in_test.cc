// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tessera/target/built_in_texts.h"
#include "tessera/target/machine.h"
#include "tessera/testing/figures.h"

// All published figures of the five machines, as literals.
namespace tessera::target {
namespace {

const Machine& machine(std::string_view name) { return **find_machine(name); }
const MemorySpace& space(std::string_view target, std::string_view name) {
  return *machine(target).find_space(name);
}
using Numbers = std::vector<std::int64_t>;

TEST(BuiltIn, FiveMachines) {
  std::vector<std::string> names;
  for (const Machine& each : machines()) names.push_back(each.name);
  EXPECT_EQ(names, (std::vector<std::string>{"blackhole", "spyre", "wormhole", "wse2", "wse3"}));
  EXPECT_EQ(machines().size(), built_in_texts().size());
}

TEST(BuiltIn, TextsAreTheFiles) {
  std::size_t i = 0;
  for (const Machine& each : machines()) {
    std::ifstream file("targets/" + each.name + ".json");
    std::ostringstream text;
    text << file.rdbuf();
    EXPECT_EQ(text.str(), built_in_texts()[i++]) << each.name;
    EXPECT_TRUE(each.check().ok()) << each.name;
    EXPECT_FALSE(each.title.empty()) << each.name;
  }
}

TEST(BuiltIn, UnknownNamesGetTheNearest) {
  const auto unknown = find_machine("wse-2");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kUnknownTarget);
  EXPECT_EQ(test::figures(unknown.error().message), "'wse-2'");
  EXPECT_EQ(test::figures(unknown.error().help), "'wse2'");
  EXPECT_EQ(test::figures(find_machine("abacus").error().help), "wse2 wse3");
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
  const Links& links = *wse2.mesh[0].links;
  EXPECT_EQ(links.network, Network::kMesh);
  EXPECT_EQ(links.ports, (std::vector<std::string>{"north", "south", "east", "west", "ramp"}));
  EXPECT_EQ(links.hop_cycles, 1);
  EXPECT_EQ(links.bits_per_cycle, 32);
  EXPECT_EQ(links.ramp_cycles, 2);
  EXPECT_EQ(wse2.clock_hz, 850'000'000);
  EXPECT_TRUE(wse2.dead.empty());
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
  EXPECT_EQ(wse3.mesh[0].links, machine("wse2").mesh[0].links);
  EXPECT_EQ(wse3.clock_hz, std::nullopt);  // not published, and not 0
}

TEST(BuiltIn, Wormhole) {
  const Machine& wormhole = machine("wormhole");
  EXPECT_EQ(wormhole.shape().extents(), (Numbers{8, 8}));
  const MemorySpace& l1 = wormhole.default_space();
  EXPECT_EQ(l1.name, "l1");
  EXPECT_EQ(l1.bytes, 1'499'136);
  EXPECT_EQ(l1.data_bytes(), 1364 * 1024);
  EXPECT_EQ(l1.align_bytes, 16);
  const MemorySpace& dram = space("wormhole", "dram");
  EXPECT_EQ(dram.owner, MemorySpace::Owner::kBank);
  EXPECT_EQ(dram.banks, 12);
  EXPECT_EQ(dram.bytes, std::int64_t{1} << 30);
  EXPECT_EQ(dram.align_bytes, 32);
  EXPECT_EQ(wormhole.rules.tile, (TileSize{32, 32}));
  EXPECT_EQ(wormhole.mesh[0].links->network, Network::kNoc);
  // The figures of the NoC are parameters: unknown unless given.
  EXPECT_EQ(wormhole.mesh[0].links->bits_per_cycle, std::nullopt);
  // The four spaces of tt-mlir.
  for (const char* name : {"system", "mmio", "dram", "l1"}) {
    EXPECT_NE(wormhole.find_space(name), nullptr) << name;
  }
  EXPECT_EQ(space("wormhole", "system").bytes, std::nullopt);
}

TEST(BuiltIn, Blackhole) {
  const Machine& blackhole = machine("blackhole");
  EXPECT_EQ(blackhole.shape().extents(), (Numbers{10, 13}));
  EXPECT_EQ(blackhole.default_space().name, "l1");
  EXPECT_EQ(blackhole.default_space().bytes, 1536 * 1024);  // 1.5 MB
  EXPECT_EQ(blackhole.default_space().align_bytes, 16);
  EXPECT_EQ(space("blackhole", "dram"), space("wormhole", "dram"));
  EXPECT_EQ(blackhole.rules, machine("wormhole").rules);
  EXPECT_EQ(blackhole.mesh[0].links->network, Network::kNoc);
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
  const MemorySpace& hbm = spyre.default_space();
  EXPECT_EQ(hbm.name, "hbm");
  EXPECT_EQ(hbm.owner, MemorySpace::Owner::kShared);
  EXPECT_EQ(hbm.bytes, std::nullopt);
  EXPECT_EQ(hbm.align_bytes, 128);
  EXPECT_EQ(spyre.rules.stick_bytes, 128);
  EXPECT_EQ(spyre.rules.span_limit_bytes, 256 * 1024 * 1024);
  EXPECT_EQ(spyre.mesh[0].links->network, Network::kRing);
}

}  // namespace
}  // namespace tessera::target
