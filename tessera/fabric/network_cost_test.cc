// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/fabric/topology.h"
#include "tessera/testing/fabric/naive_network.h"
#include "tessera/testing/fabric/network_machines.h"

/// Law: every field of network_cost, and every load, is what walking each route gives.
namespace tessera::fabric {
namespace {

using test::Dice;
using test::NetworkCase;

/// The loads by name, without links that carry nothing.
std::map<std::string, std::int64_t> named_loads(const Topology& topology,
                                                const std::vector<std::int64_t>& bytes) {
  std::map<std::string, std::int64_t> loads;
  for (std::size_t link = 0; link < bytes.size(); ++link) {
    if (bytes[link] == 0) continue;
    const auto [at, added] =
        loads.emplace(topology.link_name(static_cast<std::int64_t>(link)), bytes[link]);
    EXPECT_TRUE(added) << at->first;
  }
  return loads;
}

void expect_equal(const NetworkCost& cost, const test::NaiveCost& naive) {
  NetworkCost expected = naive.cost;
  EXPECT_NEAR(cost.cycles, expected.cycles, 1e-9 * expected.cycles);
  if (cost.messages > 0) {
    EXPECT_TRUE(naive.dominating.contains({cost.dominated_by, cost.busiest}))
        << term_name(cost.dominated_by) << " " << cost.busiest;
  }
  expected.dominated_by = cost.dominated_by;
  expected.cycles = cost.cycles;
  expected.busiest = cost.busiest;
  EXPECT_EQ(cost, expected);
}

/// `pricer` has priced other messages before.
void check(NetworkPricer& pricer, const Topology& topology, const Machine& machine,
           const std::vector<Message>& messages, const Travel& travel, bool links) {
  const auto cost = network_cost(topology, machine, messages, travel);
  ASSERT_TRUE(cost) << cost.error().message;
  expect_equal(*cost, test::naive_network_cost(machine, messages, travel));
  const auto again = pricer.cost(messages, travel);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *cost);
  if (!links) return;
  const auto bytes = link_bytes(topology, messages, travel.network);
  ASSERT_TRUE(bytes);
  std::map<std::string, std::int64_t> naive =
      test::naive_link_bytes(machine, messages, travel.network);
  std::erase_if(naive, [](const auto& load) { return load.second == 0; });
  EXPECT_EQ(named_loads(topology, *bytes), naive);
}

class NetworkCosts : public testing::TestWithParam<NetworkCase> {};

TEST_P(NetworkCosts, EqualWalkedRoutes) {
  constexpr int kMachines = 700;
  constexpr int kSets = 15;
  for (int seed = 0; seed < kMachines && !HasFailure(); ++seed) {
    Dice dice(static_cast<std::uint64_t>(seed));
    const Machine machine = test::random_network_machine(dice, GetParam());
    const auto valid = machine.check();
    ASSERT_TRUE(valid) << valid.error().message;
    const auto topology = Topology::of(machine);
    ASSERT_TRUE(topology) << topology.error().message;
    const test::NaiveNetwork naive(machine, 0);
    ASSERT_EQ(topology->endpoints(), naive.endpoints());
    NetworkPricer pricer(*topology, machine);
    for (int set = 0; set < kSets; ++set) {
      SCOPED_TRACE(cat(test::case_name(GetParam()), " seed ", seed, " set ", set));
      // Many messages now and then: then bytes are added up by pairs of routers first.
      const std::int64_t count = set == 0 ? dice.between(20, 60) : dice.below(6);
      const std::vector<Message> messages =
          test::random_messages(dice, topology->endpoints(), count);
      Travel travel;
      travel.network = dice.below(topology->networks());
      travel.mechanism =
          dice.between(-1, static_cast<std::int64_t>(machine.mesh.back().mechanisms.size()) - 1);
      check(pricer, *topology, machine, messages, travel, set < 2);
    }
  }
}

/// A pattern is priced as the messages themselves.
TEST_P(NetworkCosts, OfPatternsAreThoseOfTheirMessages) {
  constexpr int kMachines = 100;
  constexpr int kSets = 6;
  for (int seed = 0; seed < kMachines && !HasFailure(); ++seed) {
    Dice dice(static_cast<std::uint64_t>(seed));
    const Machine machine = test::random_network_machine(dice, GetParam());
    const auto topology = Topology::of(machine);
    ASSERT_TRUE(topology) << topology.error().message;
    NetworkPricer pricer(*topology, machine);
    for (int set = 0; set < kSets; ++set) {
      SCOPED_TRACE(cat(test::case_name(GetParam()), " seed ", seed, " set ", set));
      std::vector<Message> messages =
          test::random_messages(dice, topology->endpoints(), dice.below(30));
      const auto pattern = pricer.pattern(messages);
      ASSERT_TRUE(pattern) << pattern.error().message;
      for (int size = 0; size < 4; ++size) {
        const std::int64_t bytes =
            size == 3 ? INT64_MAX / dice.between(1, 100) : dice.below(1 << (7 * size + 2));
        const std::int64_t pieces = dice.between(1, 5);
        for (Message& message : messages) {
          message.bytes = bytes;
          message.transactions = pieces;
        }
        const auto best = pricer.best(messages);
        const auto same = pricer.best(*pattern, bytes, pieces);
        ASSERT_EQ(best.ok(), same.has_value());
        if (!same) continue;
        EXPECT_EQ(same->travel, best->travel);
        EXPECT_EQ(same->cycles, best->cost.cycles);
        EXPECT_EQ(same->dominated_by, best->cost.dominated_by);
        EXPECT_EQ(pricer.busiest(*same), best->cost.busiest);
      }
    }
  }
}

/// A ring of devices whose routes are too many to be stored.
TEST(ManyDevices, EqualWalkedRoutes) {
  const Result<Machine> machine = target::parse_machine(R"({
    "name": "many",
    "mesh": [{"name": "devices", "extents": [70],
              "links": {"network": "ring", "hop_cycles": 50, "bits_per_cycle": 16},
              "gateways": [{"axis": 0, "way": "up", "routers": [[0, 2]]},
                           {"axis": 0, "way": "down", "routers": [[1, 0]]}]},
             {"name": "cores", "extents": [2, 3],
              "links": {"network": "mesh", "hop_cycles": 2, "bits_per_cycle": 64}}],
    "memory": [{"name": "l1", "bytes": 65536}]})");
  ASSERT_TRUE(machine) << machine.error().message;
  const auto topology = Topology::of(*machine);
  ASSERT_TRUE(topology) << topology.error().message;
  NetworkPricer pricer(*topology, *machine);
  Dice dice(3);
  for (int set = 0; set < 30; ++set) {
    check(pricer, *topology, *machine,
          test::random_messages(dice, topology->endpoints(), dice.between(1, 12)), {0, -1}, true);
  }
}

/// What was refused leaves nothing behind.
TEST(Pricers, AreAsNewAfterAnError) {
  Dice dice(5);
  const Machine machine = test::random_network_machine(dice, NetworkCase::kTwoLevels);
  const auto topology = Topology::of(machine);
  ASSERT_TRUE(topology);
  NetworkPricer pricer(*topology, machine);
  const auto last = static_cast<std::int32_t>(topology->endpoints() - 1);
  const std::vector<Message> good = {{0, last, 100, 2}, {last, 0, 50, 1}};
  const std::vector<Message> bad = {{0, last, 1000, 3}, {0, last + 1, 1, 1}};
  const auto cost = pricer.cost(good, {0, -1});
  ASSERT_TRUE(cost);
  EXPECT_FALSE(pricer.cost(bad, {0, -1}));
  const auto again = pricer.cost(good, {0, -1});
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, *cost);
}

INSTANTIATE_TEST_SUITE_P(All, NetworkCosts, testing::ValuesIn(test::kNetworkCases),
                         [](const auto& param) {
                           std::string name(test::case_name(param.param));
                           std::erase_if(name, [](char c) { return c == ' ' || c == '-'; });
                           return name;
                         });

}  // namespace
}  // namespace tessera::fabric
