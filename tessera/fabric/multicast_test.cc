// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/multicast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/testing/fabric/naive_network.h"
#include "tessera/testing/fabric/network_machines.h"
#include "tessera/testing/fabric/noc_machines.h"

namespace tessera::fabric {
namespace {

using target::Mechanism;
using test::Dice;
using test::NaiveNetwork;
using test::NetworkCase;

/// The formulas of multicast.h from a walk along every route.
double naive_cycles(const Machine& machine, const std::vector<Multicast>& multicasts,
                    const Travel& travel) {
  const NaiveNetwork network(machine, travel.network);
  const Mechanism& mechanism =
      machine.mesh.back().mechanisms[static_cast<std::size_t>(travel.mechanism)];
  const bool linked = mechanism.name == "multicast_linked";
  std::map<std::string, double> reserved, issued, carried, all;
  double latency = 0;
  bool any = false;
  for (const Multicast& multicast : multicasts) {
    std::set<std::string> tree;
    double there = 0;
    double hop_cycles = 0;
    double per_byte = 0;
    double packets = 1;
    const std::int64_t transaction =
        (multicast.bytes + multicast.transactions - 1) / multicast.transactions;
    if (multicast.bytes == 0) continue;
    const auto n = static_cast<double>(multicast.transactions);
    for (const std::int32_t receiver : multicast.receivers) {
      const NaiveNetwork::Walk walk = network.walk(multicast.source, receiver);
      double out = 0, back = 0;
      for (const NaiveNetwork::Hop& hop : walk.there) {
        tree.insert(hop.name);
        per_byte = mechanism.bytes_per_cycle ? 1 / *mechanism.bytes_per_cycle
                                             : network.cycles_per_byte(hop);
        packets =
            static_cast<double>(std::max<std::size_t>(1, network.packets(hop, transaction).size()));
        if (hop.port) continue;
        hop_cycles = network.hop_cycles(hop);
        out += 1;
      }
      for (const NaiveNetwork::Hop& hop : network.walk(receiver, multicast.source).there) {
        if (!hop.port) back += 1;
      }
      there = std::max(there, out);
      latency = std::max(latency, (out + back) * hop_cycles);
      any = true;
    }
    for (const std::string& link : tree) {
      const double reservation = (linked ? packets : n * packets) * 2 * hop_cycles * there;
      const double issue = (linked ? n - 1 : n * packets) * mechanism.issue_cycles.value_or(0);
      const double carry = static_cast<double>(multicast.bytes) * per_byte;
      reserved[link] += reservation;
      issued[link] += issue;
      carried[link] += carry;
      all[link] += reservation + issue + carry;
    }
    if (!linked) continue;
    for (const std::int32_t receiver : multicast.receivers) {
      for (const NaiveNetwork::Hop& hop : network.walk(receiver, multicast.source).there) {
        carried[hop.name] += n * packets * mechanism.receiver_cycles.value_or(0);
      }
    }
  }
  const auto most = [](const std::map<std::string, double>& sums) {
    double largest = 0;
    for (const auto& [link, sum] : sums) largest = std::max(largest, sum);
    return largest;
  };
  if (!any) return 0;
  const double work = linked ? most(reserved) + std::max(most(issued), most(carried)) : most(all);
  return mechanism.overhead_cycles.value_or(0) + latency + work;
}

/// The places of a random box of one device, and a source inside it or anywhere on the device.
Multicast random_multicast(Dice& dice, const Machine& machine) {
  const Shape shape = machine.shape();
  const std::size_t inner = machine.mesh.back().extents.size();
  std::vector<std::int64_t> low, high, source;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t first = dice.below(shape[axis]);
    const bool device = axis + inner < shape.rank();
    low.push_back(first);
    high.push_back(device ? first : dice.between(first, shape[axis] - 1));
    source.push_back(device ? first : dice.below(shape[axis]));
  }
  if (dice.chance(60)) {
    for (std::size_t axis = 0; axis < source.size(); ++axis) {
      source[axis] = dice.between(low[axis], high[axis]);
    }
  }
  Multicast multicast;
  const auto number = [&](const std::vector<std::int64_t>& place) {
    std::int64_t sum = 0;
    for (std::size_t axis = 0; axis < place.size(); ++axis) sum = sum * shape[axis] + place[axis];
    return static_cast<std::int32_t>(sum);
  };
  multicast.source = number(source);
  for (std::vector<std::int64_t> at = low;;) {
    if (number(at) != multicast.source) multicast.receivers.push_back(number(at));
    std::size_t axis = at.size();
    while (axis > 0 && at[axis - 1] == high[axis - 1]) {
      at[axis - 1] = low[axis - 1];
      --axis;
    }
    if (axis == 0) break;
    ++at[axis - 1];
  }
  multicast.transactions = dice.between(1, 4);
  multicast.bytes = dice.below(20000);
  return multicast;
}

void add_multicasts(Machine& machine, Dice& dice) {
  target::MeshLevel& level = machine.mesh.back();
  level.mechanisms.clear();
  for (const char* name : {"multicast", "multicast_linked"}) {
    Mechanism mechanism;
    mechanism.name = name;
    mechanism.network =
        level.networks[static_cast<std::size_t>(dice.below(std::ssize(level.networks)))].name;
    if (dice.chance(80)) mechanism.overhead_cycles = 150;
    if (dice.chance(80)) mechanism.issue_cycles = 21.5;
    if (dice.chance(80)) mechanism.bytes_per_cycle = 27.25;
    if (dice.chance(80)) mechanism.receiver_cycles = 1.5;
    level.mechanisms.push_back(std::move(mechanism));
  }
}

TEST(Multicasts, EqualWalkedRoutesOnEveryNetwork) {
  int cases = 0;
  for (const NetworkCase kind : test::kNetworkCases) {
    for (int seed = 0; seed < 120 && !HasFailure(); ++seed) {
      Dice dice(static_cast<std::uint64_t>(seed));
      Machine machine = test::random_network_machine(dice, kind);
      add_multicasts(machine, dice);
      const auto topology = Topology::of(machine);
      ASSERT_TRUE(topology) << topology.error().message;
      for (int set = 0; set < 6; ++set) {
        SCOPED_TRACE(cat(test::case_name(kind), " seed ", seed, " set ", set));
        std::vector<Multicast> multicasts;
        for (std::int64_t count = dice.between(1, 4); count > 0; --count) {
          multicasts.push_back(random_multicast(dice, machine));
          ASSERT_TRUE(fills_box(*topology, multicasts.back()));
        }
        for (std::int64_t m = 0; m < 2; ++m) {
          const std::string& network =
              machine.mesh.back().mechanisms[static_cast<std::size_t>(m)].network;
          const Travel travel{network.empty() ? 0 : *topology->network(network), m};
          const auto cost = multicast_cost(*topology, machine, multicasts, travel);
          ASSERT_TRUE(cost) << cost.error().message;
          const double naive = naive_cycles(machine, multicasts, travel);
          EXPECT_NEAR(cost->cycles, naive, 1e-9 * naive);
          ++cases;
        }
      }
    }
  }
  RecordProperty("cases", cases);
  EXPECT_GT(cases, 10000);
}

/// A pattern knows nothing of what multicasts carry, and gives what a sum over them gives.
TEST(Multicasts, OfAPatternCostWhatTheyCostOneByOne) {
  int cases = 0;
  for (const NetworkCase kind : test::kNetworkCases) {
    for (int seed = 0; seed < 40 && !HasFailure(); ++seed) {
      Dice dice(static_cast<std::uint64_t>(seed));
      Machine machine = test::random_network_machine(dice, kind);
      add_multicasts(machine, dice);
      const auto topology = Topology::of(machine);
      ASSERT_TRUE(topology) << topology.error().message;
      MulticastPricer pricer(*topology, machine);
      std::vector<Multicast> multicasts;
      for (std::int64_t count = dice.between(1, 6); count > 0; --count) {
        multicasts.push_back(random_multicast(dice, machine));
      }
      const auto pattern = pricer.pattern(multicasts);
      ASSERT_TRUE(pattern);
      for (int size = 0; size < 6; ++size) {
        SCOPED_TRACE(cat(test::case_name(kind), " seed ", seed, " size ", size));
        const std::int64_t bytes = dice.between(1, 20000);
        const std::int64_t transactions = dice.between(1, 4);
        for (Multicast& multicast : multicasts) {
          multicast.bytes = bytes;
          multicast.transactions = transactions;
        }
        const auto by_pattern = pricer.best(*pattern, bytes, transactions);
        const auto one_by_one = pricer.best(multicasts);
        ASSERT_TRUE(by_pattern && one_by_one && *one_by_one);
        EXPECT_EQ(by_pattern->travel, (*one_by_one)->travel);
        EXPECT_DOUBLE_EQ(by_pattern->cost.cycles, (*one_by_one)->cost.cycles);
        EXPECT_EQ(by_pattern->cost.max_link_bytes, (*one_by_one)->cost.max_link_bytes);
        EXPECT_EQ(by_pattern->cost.dominated_by, (*one_by_one)->cost.dominated_by);
        EXPECT_EQ(by_pattern->cost.busiest, (*one_by_one)->cost.busiest);
        ++cases;
      }
      EXPECT_FALSE(pricer.best(*pattern, INT64_MAX, 1).has_value() && multicasts.size() > 1 &&
                   pattern->multicasts > 1);
    }
  }
  EXPECT_GT(cases, 1000);
}

TEST(Multicasts, NeedABox) {
  const Machine machine = test::noc_machine(test::kWormholeNoc);
  const auto topology = Topology::of(machine);
  ASSERT_TRUE(topology);
  EXPECT_TRUE(fills_box(*topology, {0, {1, 2, 3}, 64, 1}));
  EXPECT_TRUE(fills_box(*topology, {0, {1, 8, 9}, 64, 1}));  // with the source, 2x2
  EXPECT_TRUE(fills_box(*topology, {63, {0, 1, 8, 9}, 64, 1}));
  EXPECT_FALSE(fills_box(*topology, {63, {0, 1, 8}, 64, 1}));
  EXPECT_FALSE(fills_box(*topology, {0, {2, 4}, 64, 1}));
  EXPECT_FALSE(fills_box(*topology, {0, {2, 2}, 64, 1}));
  EXPECT_FALSE(fills_box(*topology, {1, {1, 2}, 64, 1}));
}

TEST(Multicasts, AreRefusedWithoutAMechanismOrABox) {
  Machine machine = test::noc_machine(test::kWormholeNoc);
  const auto topology = Topology::of(machine);
  ASSERT_TRUE(topology);
  const std::vector<Multicast> row = {{0, {1, 2, 3}, 64, 1}};
  const auto none = best_multicast(*topology, machine, row);
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->has_value());
  const auto read = multicast_cost(*topology, machine, row, {0, 0});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kNotSupported);
  machine.mesh.back().mechanisms.push_back({"multicast_linked", "noc0", 200, 20, 28, 1});
  const std::vector<Multicast> gaps = {{0, {2, 4}, 64, 1}};
  const auto no_box = multicast_cost(*topology, machine, gaps, {0, 2});
  ASSERT_FALSE(no_box);
  EXPECT_EQ(no_box.error().code, ErrorCode::kNotSupported);
  const auto not_best = best_multicast(*topology, machine, gaps);
  ASSERT_TRUE(not_best);
  EXPECT_FALSE(not_best->has_value());
  const std::vector<Multicast> outside = {{0, {1, 64}, 64, 1}};
  const auto beyond = multicast_cost(*topology, machine, outside, {0, 2});
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().code, ErrorCode::kOutOfRange);
  const std::vector<Multicast> huge = {{0, {1}, INT64_MAX, 1}, {0, {1}, 1, 1}};
  const auto overflow = multicast_cost(*topology, machine, huge, {0, 2});
  ASSERT_FALSE(overflow);
  EXPECT_EQ(overflow.error().code, ErrorCode::kOverflow);
}

/// From place (0, 0) to the rest of the first row, 7 others: noc0 goes right over columns 1 to 9, 8
/// hops, and the answer of the farthest takes the other 2 of 10. 65536 bytes in 8 transactions of
/// one packet: 200 + 9·10 + 1·2·9·8 + max(7·20, 65536/32 + 7·8·0.5).
TEST(Multicasts, OfARowByHand) {
  Machine machine = test::noc_machine(test::kWormholeNoc);
  machine.mesh.back().mechanisms.push_back({"multicast_linked", "noc0", 200, 20, 32, 0.5});
  const auto topology = Topology::of(machine);
  ASSERT_TRUE(topology);
  const std::vector<Multicast> row = {{0, {1, 2, 3, 4, 5, 6, 7}, 65536, 8}};
  const auto best = best_multicast(*topology, machine, row);
  ASSERT_TRUE(best);
  ASSERT_TRUE(best->has_value());
  EXPECT_EQ((*best)->cost.max_link_bytes, 65536);
  EXPECT_EQ((*best)->cost.dominated_by, Term::kLink);
  // Acknowledgements of all 7 meet only where no data go, and in the port of the source: 28 cycles,
  // less than the data of another link. Of data and acknowledgements on one link, the link from
  // column 8 to 9 has the data and 6 answers.
  const double waits = 200 + 9 * 10 + 2 * 9 * 8;
  EXPECT_NEAR((*best)->cost.cycles, waits + 2048 + 6 * 8 * 0.5, 1e-9);
}

}  // namespace
}  // namespace tessera::fabric
