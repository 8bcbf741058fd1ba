// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "tessera/fabric/packets.h"
#include "tessera/fabric/topology.h"
#include "tessera/testing/fabric/model_errors.h"
#include "tessera/testing/fabric/realistic_moves.h"

/// network_cost against the packets: how far the formula is from what it estimates.
namespace tessera::fabric {
namespace {

using test::Dice;
using test::MoveMachine;
using test::print_error_row;
using test::quantile;

constexpr int kMoves = 300;

TEST(CostModel, IsCloseToSimulatedPackets) {
  std::printf("| machine or pattern | moves | median | 90 %% | largest | mean |\n");
  std::printf("|---|--:|--:|--:|--:|--:|\n");
  std::map<std::string_view, std::vector<double>> by_pattern;
  for (const MoveMachine kind : test::kMoveMachines) {
    const Machine machine = test::machine_of(kind);
    const auto topology = Topology::of(machine);
    ASSERT_TRUE(topology) << topology.error().message;
    Dice dice(7);
    std::vector<double> errors;
    std::vector<double> sizes;
    while (errors.size() < kMoves) {
      const test::RealisticMove move = test::random_move(dice, *topology, kind);
      if (move.messages.empty()) continue;
      const auto cost = network_cost(*topology, machine, move.messages, move.travel);
      const auto simulated = simulate_packets(*topology, machine, move.messages, move.travel);
      ASSERT_TRUE(cost) << cost.error().message;
      ASSERT_TRUE(simulated) << simulated.error().message;
      errors.push_back((cost->cycles - simulated->cycles) / simulated->cycles);
      sizes.push_back(std::fabs(errors.back()));
      by_pattern[move.pattern].push_back(errors.back());
    }
    print_error_row(test::machine_name(kind), errors);
    EXPECT_LT(quantile(sizes, 0.5), 0.05) << test::machine_name(kind);
    EXPECT_LT(quantile(sizes, 0.9), 0.15) << test::machine_name(kind);
  }
  for (const auto& [pattern, errors] : by_pattern) print_error_row(pattern, errors);
}

/// Why processors take their messages with a stride: all to all, 4 KB each.
TEST(CostModel, OrderMatters) {
  for (const MoveMachine kind :
       {MoveMachine::kOneWayTorus, MoveMachine::kTorus, MoveMachine::kMesh, MoveMachine::kRing}) {
    const Machine machine = test::machine_of(kind);
    const auto topology = Topology::of(machine);
    ASSERT_TRUE(topology);
    const auto places = static_cast<std::int32_t>(machine.places());
    std::vector<Message> messages;
    for (std::int32_t p = 0; p < places; ++p) {
      for (std::int32_t q = 0; q < places; ++q) messages.push_back({p, q, 4096, 1});
    }
    const Travel travel{topology->networks() - 1, 1};
    const double next = simulate_packets(*topology, machine, messages, travel,
                                         {IssueOrder::kNext, PacketOptions{}.max_packet_hops})
                            ->cycles;
    const double spread = simulate_packets(*topology, machine, messages, travel)->cycles;
    const double estimated = network_cost(*topology, machine, messages, travel)->cycles;
    std::printf("| %s | %.0f | %.0f | %.0f |\n", std::string(test::machine_name(kind)).c_str(),
                estimated, spread, next);
    EXPECT_LT(spread, next);
  }
}

}  // namespace
}  // namespace tessera::fabric
