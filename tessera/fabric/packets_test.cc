// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/packets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/testing/fabric/naive_packets.h"
#include "tessera/testing/fabric/network_machines.h"

namespace tessera::fabric {
namespace {

using test::Dice;
using test::NetworkCase;

/// Eight places in a one-way ring: 2 cycles a hop, 3 a ramp, 4 bytes a cycle.
Machine ring_of_8(const char* mechanism) {
  Machine machine;
  machine.name = "ring";
  target::MeshLevel level;
  level.extents = {8};
  target::Network network;
  network.kind = target::NetworkKind::kRing;
  network.ways = {target::Way::kUp};
  network.hop_cycles = 2;
  network.ramp_cycles = 3;
  network.bits_per_cycle = 32;
  level.networks = {network};
  if (mechanism != nullptr) {
    target::Mechanism made;
    made.name = mechanism;
    made.overhead_cycles = 10;
    made.issue_cycles = 7;
    made.bytes_per_cycle = 2;
    level.mechanisms = {made};
  }
  machine.mesh = {level};
  target::MemorySpace memory;
  memory.name = "sram";
  machine.memory = {memory};
  machine.data_space = "sram";
  return machine;
}

double cycles(const Machine& machine, const std::vector<Message>& messages,
              const PacketOptions& options = {}) {
  const auto topology = Topology::of(machine);
  EXPECT_TRUE(topology);
  const Travel travel{0, machine.mesh[0].mechanisms.empty() ? -1 : 0};
  const auto simulation = simulate_packets(*topology, machine, messages, travel, options);
  EXPECT_TRUE(simulation) << simulation.error().message;
  return simulation->cycles;
}

TEST(Packets, TakeTheirLatencyAndTheirBytes) {
  // 6 → 1: 3 hops and 2 ramps are 12 cycles; 20 bytes are 5.
  EXPECT_EQ(cycles(ring_of_8(nullptr), {{6, 1, 20, 1}}), 17);
  // Two transactions in one message follow each other without a gap.
  EXPECT_EQ(cycles(ring_of_8(nullptr), {{6, 1, 20, 2}}), 17);
  // A write: overhead 10, 12 there, 5 hops and 2 ramps (16) back, 20 bytes at 2 a cycle.
  EXPECT_EQ(cycles(ring_of_8("write"), {{6, 1, 20, 1}}), 10 + 12 + 16 + 10);
  // A read has its way back first.
  EXPECT_EQ(cycles(ring_of_8("read"), {{6, 1, 20, 1}}), 10 + 16 + 12 + 10);
  // Ten transactions of 2 bytes: the last is issued after 9 · 7 cycles, and takes 1.
  EXPECT_EQ(cycles(ring_of_8("write"), {{6, 1, 20, 10}}), 10 + 12 + 16 + 63 + 1);
  EXPECT_EQ(cycles(ring_of_8(nullptr), {}), 0);
  EXPECT_EQ(cycles(ring_of_8(nullptr), {{3, 3, 100, 1}}), 0);
}

TEST(Packets, WaitForEachOther) {
  // 0 and 1 send 40 bytes to 2; both use the link 1 → 2 and the port of 2. The head of the first
  // reaches the link after 3 cycles (from 1), the other after 5: 10 cycles each, one after the
  // other.
  EXPECT_EQ(cycles(ring_of_8(nullptr), {{0, 2, 40, 1}, {1, 2, 40, 1}}), 3 + 20 + 2 + 3);
  // Cut into packets they share it, and take as long together.
  Machine machine = ring_of_8(nullptr);
  machine.mesh[0].networks[0].packet_bytes = 8;
  // Headers of 4 bytes: 5 packets of 12 bytes are 15 cycles.
  EXPECT_EQ(cycles(machine, {{0, 2, 40, 1}, {1, 2, 40, 1}}), 3 + 30 + 2 + 3);
}

TEST(Packets, RefuseWhatIsTooLarge) {
  const Machine machine = ring_of_8("write");
  const auto topology = Topology::of(machine);
  ASSERT_TRUE(topology);
  const auto code = [&](std::vector<Message> messages, const Travel& travel,
                        const PacketOptions& options = {}) {
    const auto result = simulate_packets(*topology, machine, messages, travel, options);
    return result ? "accepted" : std::string(code_name(result.error().code));
  };
  const Travel travel{0, 0};
  EXPECT_EQ(code({{0, 1, 1, 1}}, travel), "accepted");
  EXPECT_EQ(code({{0, 1, 1, INT64_MAX}}, travel), "too_large");
  EXPECT_EQ(code({{0, 1, 1, 1000}}, travel, {IssueOrder::kNext, 1000}), "too_large");
  EXPECT_EQ(code({{0, 1, INT64_MAX, 1}}, travel), "accepted");
  EXPECT_EQ(code({{0, 1, INT64_MAX, 1}, {0, 2, INT64_MAX, 1}}, travel), "overflow");
  EXPECT_EQ(code({{0, 8, 1, 1}}, travel), "out_of_range");
  EXPECT_EQ(code({{-1, 1, 1, 1}}, travel), "out_of_range");
  EXPECT_EQ(code({{0, 1, -1, 1}}, travel), "out_of_range");
  EXPECT_EQ(code({{0, 1, 1, 0}}, travel), "out_of_range");
  EXPECT_EQ(code({{0, 1, 1, 1}}, {1, 0}), "out_of_range");
  EXPECT_EQ(code({{0, 1, 1, 1}}, {0, 1}), "out_of_range");
}

/// The most cycles that the transactions of one processor, or the bytes of one memory, take.
double busiest_end(const Topology& topology, const Machine& machine,
                   const std::vector<Message>& messages, std::int64_t mechanism) {
  const auto& mechanisms = machine.mesh.back().mechanisms;
  std::vector<double> issued(static_cast<std::size_t>(topology.endpoints()));
  std::vector<double> sent = issued, received = issued, moved = issued;
  const auto at_memory = [&](std::int32_t end) {
    return topology.endpoint(end).kind != Endpoint::Kind::kPlace;
  };
  for (const Message& message : messages) {
    if (message.source == message.destination) continue;
    const auto from = static_cast<std::size_t>(message.source);
    const auto to = static_cast<std::size_t>(message.destination);
    sent[from] += static_cast<double>(message.bytes);
    received[to] += static_cast<double>(message.bytes);
    if (mechanism < 0 || (at_memory(message.source) && at_memory(message.destination))) continue;
    const bool read = mechanisms[static_cast<std::size_t>(mechanism)].name == "read";
    const bool by_receiver = at_memory(message.source) || (read && !at_memory(message.destination));
    issued[by_receiver ? to : from] += static_cast<double>(message.transactions);
    moved[by_receiver ? to : from] += static_cast<double>(message.bytes);
  }
  double most = 0;
  for (std::size_t end = 0; end < sent.size(); ++end) {
    if (mechanism >= 0 && issued[end] > 0) {
      const target::Mechanism& by = mechanisms[static_cast<std::size_t>(mechanism)];
      most = std::max(most, (issued[end] - 1) * by.issue_cycles.value_or(0));
      if (by.bytes_per_cycle) most = std::max(most, moved[end] / *by.bytes_per_cycle);
    }
    const Endpoint& what = topology.endpoint(static_cast<std::int64_t>(end));
    if (what.kind == Endpoint::Kind::kPlace) continue;
    most = std::max(most, machine
                              .memory_cycles(machine.memory[static_cast<std::size_t>(what.memory)],
                                             sent[end], received[end])
                              .value_or(0));
  }
  return most;
}

class PacketLaws : public testing::TestWithParam<NetworkCase> {};

/// Loads are those of the routes, and nothing is faster than its parts allow.
TEST_P(PacketLaws, HoldOnRandomMachines) {
  for (int seed = 0; seed < 300 && !HasFailure(); ++seed) {
    SCOPED_TRACE(cat(test::case_name(GetParam()), " seed ", seed));
    Dice dice(static_cast<std::uint64_t>(seed) + 1000);
    const Machine machine = test::random_network_machine(dice, GetParam());
    const auto topology = Topology::of(machine);
    ASSERT_TRUE(topology);
    const std::vector<Message> messages =
        test::random_messages(dice, topology->endpoints(), dice.below(20));
    const auto& mechanisms = machine.mesh.back().mechanisms;
    const Travel travel{dice.below(topology->networks()),
                        dice.between(-1, static_cast<std::int64_t>(mechanisms.size()) - 1)};
    PacketOptions options;
    options.issue_order = dice.chance(50) ? IssueOrder::kNext : IssueOrder::kSpread;
    const auto simulation = simulate_packets(*topology, machine, messages, travel, options);
    ASSERT_TRUE(simulation) << simulation.error().message;
    EXPECT_EQ(*simulation, *simulate_packets(*topology, machine, messages, travel, options));
    const auto bytes = link_bytes(*topology, messages, travel.network);
    ASSERT_TRUE(bytes);
    EXPECT_EQ(simulation->link_bytes, *bytes);
    const double least = simulation->cycles * (1 + 1e-12);
    for (std::size_t link = 0; link < bytes->size(); ++link) {
      const double work = static_cast<double>((*bytes)[link]) *
                          topology->link(static_cast<std::int64_t>(link)).cycles_per_byte;
      EXPECT_LE(work, least) << topology->link_name(static_cast<std::int64_t>(link));
    }
    EXPECT_LE(busiest_end(*topology, machine, messages, travel.mechanism), least);
    for (std::size_t m = 0; m < messages.size(); ++m) {
      const Message& message = messages[m];
      const PacketTimes& times = simulation->messages[m];
      if (message.source == message.destination) {
        EXPECT_EQ(times, PacketTimes{});
        continue;
      }
      const double latency =
          topology->latency_cycles(travel.network, message.source, message.destination);
      EXPECT_LE((times.first_issue + latency) * (1 - 1e-12), times.completed);
      EXPECT_LE(times.completed, simulation->cycles);
    }
  }
}

/// Cycle by cycle, on machines whose figures are whole numbers.
TEST_P(PacketLaws, EqualANaiveMachine) {
  std::int64_t packets = 0;
  for (int seed = 0; seed < 250 && !HasFailure(); ++seed) {
    SCOPED_TRACE(cat(test::case_name(GetParam()), " seed ", seed));
    Dice dice(static_cast<std::uint64_t>(seed) + 5000);
    Machine machine = test::random_network_machine(dice, GetParam());
    test::make_whole(dice, machine);
    const auto topology = Topology::of(machine);
    ASSERT_TRUE(topology);
    std::vector<Message> messages =
        test::random_messages(dice, topology->endpoints(), dice.below(8));
    for (Message& message : messages) {
      message.bytes = message.bytes % 20 + 1;
      message.transactions = std::min(message.transactions, message.bytes);
    }
    const auto& mechanisms = machine.mesh.back().mechanisms;
    const Travel travel{dice.below(topology->networks()),
                        dice.between(-1, static_cast<std::int64_t>(mechanisms.size()) - 1)};
    PacketOptions options;
    options.issue_order = dice.chance(50) ? IssueOrder::kNext : IssueOrder::kSpread;
    const auto simulation = simulate_packets(*topology, machine, messages, travel, options);
    ASSERT_TRUE(simulation);
    const test::NaivePackets naive =
        test::naive_packets(machine, messages, travel, options.issue_order);
    ASSERT_TRUE(naive.finished);
    EXPECT_EQ(simulation->cycles, naive.cycles);
    EXPECT_EQ(simulation->messages, naive.messages);
    packets += simulation->packets;
  }
  EXPECT_GT(packets, 1000);
}

INSTANTIATE_TEST_SUITE_P(All, PacketLaws, testing::ValuesIn(test::kNetworkCases),
                         [](const auto& param) {
                           std::string name(test::case_name(param.param));
                           std::erase_if(name, [](char c) { return c == ' ' || c == '-'; });
                           return name;
                         });

}  // namespace
}  // namespace tessera::fabric
