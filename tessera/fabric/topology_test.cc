// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/topology.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/testing/fabric/naive_network.h"
#include "tessera/testing/fabric/realistic_moves.h"
#include "tessera/testing/figures.h"

namespace tessera::fabric {
namespace {

using target::Gateway;
using target::MemorySpace;
using target::MeshLevel;
using target::Network;
using target::NetworkKind;
using target::Way;

Network network(NetworkKind kind, std::vector<Way> ways = {}) {
  Network made;
  made.kind = kind;
  made.ways = std::move(ways);
  made.hop_cycles = 1;
  made.bits_per_cycle = 32;
  return made;
}

Machine machine_with(std::vector<std::int64_t> extents, Network made) {
  Machine machine;
  machine.name = "made";
  MeshLevel level;
  level.extents = std::move(extents);
  level.networks = {std::move(made)};
  machine.mesh = {level};
  MemorySpace memory;
  memory.name = "sram";
  machine.memory = {memory};
  machine.data_space = "sram";
  return machine;
}

Topology topology_of(const Machine& machine) {
  const auto topology = Topology::of(machine);
  EXPECT_TRUE(topology) << topology.error().message;
  return *topology;
}

/// The names of the links between the ports.
std::vector<std::string> route(const Topology& topology, std::int64_t from, std::int64_t to) {
  std::vector<std::int32_t> links;
  topology.route(0, from, to, links);
  std::vector<std::string> names;
  for (std::size_t i = 1; i + 1 < links.size(); ++i) names.push_back(topology.link_name(links[i]));
  EXPECT_EQ(static_cast<std::int64_t>(names.size()), topology.distance(0, from, to));
  return names;
}

using Names = std::vector<std::string>;

TEST(Topology, TakesAOneWayRing) {
  const Topology ring = topology_of(machine_with({8}, network(NetworkKind::kRing, {Way::kUp})));
  EXPECT_EQ(route(ring, 6, 1), (Names{"ring, router [6] to [7]", "ring, router [7] to [0]",
                                      "ring, router [0] to [1]"}));
  EXPECT_EQ(ring.distance(0, 1, 6), 5);
  EXPECT_EQ(ring.return_cycles(0, 6, 1), 5);
  EXPECT_TRUE(route(ring, 3, 3).empty());
  // The link that would go down.
  EXPECT_EQ(ring.link_name(1), "ring, router [0] to nothing");
}

TEST(Topology, TakesAxesInOrderAndTheShorterWay) {
  Network torus = network(NetworkKind::kTorus);
  torus.name = "noc";
  // Columns first; 0 → 2 of 4 is a tie, which goes up; 0 → 4 of 5 goes down.
  EXPECT_EQ(route(topology_of(machine_with({5, 4}, torus)), 0, 4 * 4 + 2),
            (Names{"noc, router [0, 0] to [0, 1]", "noc, router [0, 1] to [0, 2]",
                   "noc, router [0, 2] to [4, 2]"}));
  torus.route = {0, 1};
  torus.ways = {Way::kDown, Way::kDown};
  EXPECT_EQ(route(topology_of(machine_with({5, 4}, torus)), 0, 4 * 4 + 2),
            (Names{"noc, router [0, 0] to [4, 0]", "noc, router [4, 0] to [4, 3]",
                   "noc, router [4, 3] to [4, 2]"}));
  EXPECT_EQ(route(topology_of(machine_with({3, 2}, network(NetworkKind::kAllToAll))), 0, 5),
            (Names{"all_to_all, router [0, 0] to [2, 1]"}));
}

/// Three devices in a row of 2x2 cores; links at the corners.
Machine three_devices() {
  Machine machine = machine_with({2, 2}, network(NetworkKind::kMesh));
  MeshLevel devices;
  devices.name = "devices";
  devices.extents = {3};
  Network ethernet = network(NetworkKind::kMesh);
  ethernet.name = "ethernet";
  ethernet.links = 2;
  ethernet.hop_cycles = 100;
  devices.networks = {ethernet};
  devices.gateways = {Gateway{0, Way::kUp, {{0, 1}, {1, 1}}},
                      Gateway{0, Way::kDown, {{0, 0}, {1, 0}}}};
  machine.mesh.insert(machine.mesh.begin(), devices);
  return machine;
}

TEST(Topology, PassesGateways) {
  const Topology topology = topology_of(three_devices());
  // From core (0, 0) of device 0 to core (1, 1) of device 2. In base 2, 11 is 1011; its digits
  // without the last one are 1, 0, 1, and 0 + 2 is even: link 0.
  EXPECT_EQ(route(topology, 0, 11), (Names{"mesh of device [0], router [0, 0] to [0, 1]",
                                           "ethernet link 0 of device [0] up axis 0",
                                           "mesh of device [1], router [0, 0] to [0, 1]",
                                           "ethernet link 0 of device [1] up axis 0",
                                           "mesh of device [2], router [0, 0] to [0, 1]",
                                           "mesh of device [2], router [0, 1] to [1, 1]"}));
  // From core (0, 1): 1 + 2 is odd: link 1.
  EXPECT_EQ(route(topology, 1, 11), (Names{"mesh of device [0], router [0, 1] to [1, 1]",
                                           "ethernet link 1 of device [0] up axis 0",
                                           "mesh of device [1], router [1, 0] to [1, 1]",
                                           "ethernet link 1 of device [1] up axis 0",
                                           "mesh of device [2], router [1, 0] to [1, 1]"}));
  EXPECT_EQ(topology.latency_cycles(0, 0, 11), 204);
}

TEST(Topology, ReachesMemoriesAtTheNearestRouter) {
  Machine machine = machine_with({4, 4}, network(NetworkKind::kMesh));
  MemorySpace dram;
  dram.name = "dram";
  dram.owner = MemorySpace::Owner::kBank;
  dram.banks = 2;
  dram.at = {{{0, 0}, {3, 3}}, {{2, 2}}};
  MemorySpace host;
  host.name = "host";
  host.owner = MemorySpace::Owner::kShared;
  host.at = {{{0, 3}}};
  machine.memory.push_back(host);
  machine.memory.push_back(dram);
  const Topology topology = topology_of(machine);
  EXPECT_EQ(topology.endpoints(), 16 + 3);
  EXPECT_EQ(*topology.bank(2, 0, 0), 16);
  EXPECT_EQ(*topology.bank(2, 0, 1), 17);
  EXPECT_EQ(*topology.shared(1), 18);
  EXPECT_EQ(topology.endpoint(17), (Endpoint{Endpoint::Kind::kBank, 2, 1}));
  EXPECT_EQ(topology.endpoint(18), (Endpoint{Endpoint::Kind::kShared, 1, 0}));
  EXPECT_EQ(topology.endpoint_name(17), "dram bank 1");
  EXPECT_EQ(topology.endpoint_name(18), "host");
  EXPECT_EQ(topology.distance(0, 16, 4), 1);   // place [1, 0] from [0, 0]
  EXPECT_EQ(topology.distance(0, 16, 3), 3);   // place [0, 3]: a tie
  EXPECT_EQ(topology.distance(0, 15, 16), 0);  // place [3, 3] shares the router
  EXPECT_EQ(topology.latency_cycles(0, 15, 16), 0);
  EXPECT_EQ(topology.bank(2, 0, 2).error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(topology.bank(2, 1, 0).error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(topology.bank(0, 0, 0).error().code, ErrorCode::kUnknownName);
  EXPECT_EQ(topology.bank(1, 0, 0).error().code, ErrorCode::kUnknownName);
  EXPECT_EQ(topology.shared(2).error().code, ErrorCode::kUnknownName);
  EXPECT_EQ(topology.shared(7).error().code, ErrorCode::kOutOfRange);
}

/// Code and figures of the error for a changed machine.
std::string refusal(Machine machine, void (*change)(Machine&)) {
  change(machine);
  const auto topology = Topology::of(machine);
  if (topology) return "accepted";
  EXPECT_FALSE(topology.error().help.empty());
  return std::string(code_name(topology.error().code)) + ": " +
         test::figures(topology.error().message);
}

TEST(Topology, SaysWhatIsNotDescribed) {
  EXPECT_EQ(refusal(three_devices(), [](Machine&) {}), "accepted");
  EXPECT_EQ(refusal(three_devices(), [](Machine& m) { m.mesh[1].networks.clear(); }),
            "not_supported: ");
  EXPECT_EQ(refusal(three_devices(), [](Machine& m) { m.mesh[0].networks.clear(); }),
            "not_supported: 0");
  EXPECT_EQ(
      refusal(three_devices(), [](Machine& m) { m.mesh[1].networks[0].kind = NetworkKind::kNoc; }),
      "not_supported: ");
  EXPECT_EQ(refusal(three_devices(), [](Machine& m) { m.mesh[1].networks[0].hop_cycles.reset(); }),
            "not_supported: hop_cycles");
  EXPECT_EQ(
      refusal(three_devices(), [](Machine& m) { m.mesh[0].networks[0].bits_per_cycle.reset(); }),
      "not_supported: bits_per_cycle");
  EXPECT_EQ(refusal(three_devices(),
                    [](Machine& m) {
                      m.mesh[0].networks[0].hop_cycles.reset();
                      m.mesh[0].networks[0].hop_seconds = 1e-6;
                    }),
            "not_supported: clock_hz");
  EXPECT_EQ(refusal(three_devices(), [](Machine& m) { m.mesh[0].gateways.clear(); }),
            "not_supported: 0 0");
  EXPECT_EQ(refusal(three_devices(), [](Machine& m) { m.mesh[1].extents = {2000, 2000}; }),
            "too_large: 8388608");
  EXPECT_EQ(refusal(machine_with({4096}, network(NetworkKind::kAllToAll)), [](Machine&) {}),
            "too_large: 8388608");
  EXPECT_EQ(refusal(machine_with({INT64_C(1) << 31, INT64_C(1) << 31}, network(NetworkKind::kMesh)),
                    [](Machine&) {}),
            "too_large: 8388608");
}

TEST(Topology, CoversTheBuiltInMachines) {
  std::string answers;
  for (const Machine& machine : machines()) {
    const auto topology = Topology::of(machine);
    ASSERT_TRUE(topology) << topology.error().message;
    answers += machine.name + " " + std::to_string(topology->endpoints()) + "\n";
  }
  // Places and banks of all devices, and the memory of the host: wormhole 64 + 12 + 1, wse2 994 ·
  // 750 + 1. Spyre has a memory of its own as well.
  EXPECT_EQ(answers,
            "blackhole 139\nspyre 34\nwormhole 77\nwormhole-8 609\nwormhole-n300 153\n"
            "wse2 745501\nwse3 883351\n");
}

TEST(NetworkCost, IsThatOfWalkedRoutesOnRealMachines) {
  for (const char* const name : {"wormhole", "wormhole-n300", "spyre"}) {
    const Machine& machine = **find_machine(name);
    const Topology topology = topology_of(machine);
    std::vector<Message> messages;
    for (std::int32_t p = 0; p < topology.endpoints(); p += 5) {
      for (std::int32_t q = 0; q < topology.endpoints(); q += 3) {
        messages.push_back({p, q, 100 * p + 7 * q, 1 + (p + q) % 5});
      }
    }
    for (std::int64_t n = 0; n < topology.networks(); ++n) {
      const Travel travel{n, machine.mesh.back().mechanisms.empty() ? -1 : 0};
      const auto cost = network_cost(topology, machine, messages, travel);
      ASSERT_TRUE(cost) << cost.error().message;
      const test::NaiveCost naive = test::naive_network_cost(machine, messages, travel);
      EXPECT_EQ(cost->max_link_bytes, naive.cost.max_link_bytes) << name;
      EXPECT_EQ(cost->hops, naive.cost.hops) << name;
      EXPECT_EQ(cost->longest_distance, naive.cost.longest_distance) << name;
      EXPECT_NEAR(cost->cycles, naive.cost.cycles, 1e-9 * cost->cycles) << name;
      EXPECT_TRUE(naive.dominating.contains({cost->dominated_by, cost->busiest})) << cost->busiest;
    }
  }
}

TEST(NetworkCost, RefusesWhatDoesNotFit) {
  const Machine machine = machine_with({4}, network(NetworkKind::kMesh));
  const Topology topology = topology_of(machine);
  const auto code = [&](std::vector<Message> messages, Travel travel = {}) {
    const auto cost = network_cost(topology, machine, messages, travel);
    return cost ? "accepted" : std::string(code_name(cost.error().code));
  };
  EXPECT_EQ(code({}), "accepted");
  EXPECT_EQ(code({{0, 4, 1, 1}}), "out_of_range");
  EXPECT_EQ(code({{-1, 0, 1, 1}}), "out_of_range");
  EXPECT_EQ(code({{1, 1, -1, 1}}), "out_of_range");
  EXPECT_EQ(code({{0, 1, 1, 0}}), "out_of_range");
  EXPECT_EQ(code({}, {1, -1}), "out_of_range");
  EXPECT_EQ(code({}, {0, 0}), "out_of_range");
  EXPECT_EQ(code({{0, 1, INT64_MAX, 1}}), "accepted");
  EXPECT_EQ(code({{0, 1, INT64_MAX, 1}, {2, 3, 1, 1}}), "overflow");
  EXPECT_EQ(code({{0, 3, INT64_MAX / 2, 1}}), "overflow");  // bytes times 3 hops
  EXPECT_EQ(code({{0, 1, 1, INT64_MAX}, {0, 1, 1, INT64_MAX}}), "overflow");
  Machine packets = machine;
  packets.mesh[0].networks[0].packet_bytes = 1;
  const auto cost = network_cost(topology_of(packets), packets, {{{0, 1, INT64_MAX / 4, 1}}}, {});
  ASSERT_FALSE(cost);  // with headers of 4 bytes
  EXPECT_EQ(cost.error().code, ErrorCode::kOverflow);
}

/// Many plain messages, then some that are not: sums of both kinds.
TEST(NetworkCost, AddsPlainAndOtherMessages) {
  const Machine machine = test::machine_of(test::MoveMachine::kOneWayTorus);
  const Topology topology = topology_of(machine);
  std::vector<Message> messages;
  for (std::int32_t m = 0; m < 5000; ++m) {
    const std::int32_t bytes = m % 701 == 0 ? 1 << 20 : m % 977;
    messages.push_back({m * 7 % 64, m * 31 % (m % 11 == 0 ? 76 : 64), bytes, 1 + m % 3});
  }
  for (const Travel& travel : {Travel{0, 0}, Travel{1, 1}, Travel{0, -1}}) {
    const auto cost = network_cost(topology, machine, messages, travel);
    ASSERT_TRUE(cost);
    const test::NaiveCost naive = test::naive_network_cost(machine, messages, travel);
    NetworkCost expected = naive.cost;
    EXPECT_NEAR(cost->cycles, expected.cycles, 1e-9 * expected.cycles);
    expected.cycles = cost->cycles;
    expected.dominated_by = cost->dominated_by;
    expected.busiest = cost->busiest;
    EXPECT_EQ(*cost, expected);
  }
}

TEST(BestTravel, ChoosesTheCheapestThatFits) {
  const Machine machine = test::machine_of(test::MoveMachine::kOneWayTorus);
  const Topology topology = topology_of(machine);
  const auto best = [&](std::vector<Message> messages) {
    const auto answer = best_travel(topology, machine, messages);
    EXPECT_TRUE(answer);
    return answer->travel;
  };
  const std::int32_t bank = 64;
  EXPECT_EQ(best({{bank, 3, 4096, 2}}), (Travel{0, 0}));  // only a read begins at a bank
  EXPECT_EQ(best({{3, bank, 4096, 2}}), (Travel{1, 1}));  // only a write ends there
  for (std::int32_t p = 0; p < 64; ++p) {
    const std::vector<Message> messages = {{p, (p * 5 + 1) % 64, 10'000, 5}};
    const auto answer = best_travel(topology, machine, messages);
    ASSERT_TRUE(answer);
    const double read = network_cost(topology, machine, messages, {0, 0})->cycles;
    const double write = network_cost(topology, machine, messages, {1, 1})->cycles;
    EXPECT_EQ(answer->cost.cycles, std::min(read, write));
  }
  const auto mixed = best_travel(topology, machine, {{{bank, 3, 64, 1}, {3, bank, 64, 1}}});
  EXPECT_TRUE(mixed);
  EXPECT_EQ(best_travel(topology, machine, {{{0, 99, 1, 1}}}).error().code, ErrorCode::kOutOfRange);
}

/// From each core of one chip to the same core of the other, from one core to all, from all to one,
/// and by multiples: the parallel links between the chips carry the same.
TEST(Routes, UseAllParallelLinks) {
  const auto machine = find_machine("wormhole-n300");
  ASSERT_TRUE(machine);
  const auto topology = Topology::of(**machine);
  ASSERT_TRUE(topology);
  std::vector<Message> shift, scatter, gather, multiples;
  for (std::int32_t core = 0; core < 64; ++core) {
    shift.push_back({core, 64 + core, 1024, 1});
    scatter.push_back({7, 64 + core, 1024, 1});
    gather.push_back({core, 64 + 7, 1024, 1});
    multiples.push_back({core, 64 + core * 2 % 64, 1024, 1});
  }
  for (const std::vector<Message>& messages : {shift, scatter, gather, multiples}) {
    const auto bytes = link_bytes(*topology, messages, 0);
    ASSERT_TRUE(bytes);
    std::vector<std::int64_t> between;
    for (std::int64_t link = 0; link < topology->links(); ++link) {
      const std::int64_t load = (*bytes)[static_cast<std::size_t>(link)];
      if (load > 0 && topology->link_name(link).find(" link ") != std::string::npos) {
        between.push_back(load);
      }
    }
    ASSERT_EQ(between.size(), 2U);
    EXPECT_EQ(between[0], between[1]);
  }
}

}  // namespace
}  // namespace tessera::fabric
