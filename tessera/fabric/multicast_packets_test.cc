// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/multicast_packets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/testing/fabric/model_errors.h"
#include "tessera/testing/fabric/naive_network.h"
#include "tessera/testing/fabric/network_machines.h"
#include "tessera/testing/fabric/noc_machines.h"
#include "tessera/testing/fabric/realistic_moves.h"

namespace tessera::fabric {
namespace {

using test::Dice;
using test::MoveMachine;
using test::NaiveNetwork;
using test::NetworkCase;
using test::print_error_row;
using test::quantile;

Machine with_multicasts(Machine machine) {
  target::MeshLevel& level = machine.mesh.back();
  const std::string& network = level.networks.front().name;
  level.mechanisms = {{"multicast", network, 200, 20, 28, {}},
                      {"multicast_linked", network, 200, 20, 30, 1}};
  return machine;
}

/// Along the first row of Wormhole, 7 receivers: noc0 goes right over columns 1 to 9, 8 links, and
/// the farthest answers over the other 2 of 10. 6000 bytes in 2 transactions of 3000: by
/// `multicast` each takes 20 to issue, 2·8·9 to reserve and 3000/28 to leave; 8·9 there and 2·9
/// back are added once. Linked, the second follows the first, and its data take longer than its
/// issue. To place 1, 1 link there and 9 back, the acknowledgement takes a cycle more; those of all
/// 7 arrive together over the same last link, and wait for at most 2·7 cycles of each other.
TEST(MulticastPackets, OfARowByHand) {
  const Machine machine = with_multicasts(test::noc_machine(test::kWormholeNoc));
  const auto topology = Topology::of(machine);
  ASSERT_TRUE(topology);
  const std::vector<Multicast> row = {{0, {1, 2, 3, 4, 5, 6, 7}, 6000, 2}};
  const auto plain = simulate_multicasts(*topology, machine, row, {0, 0});
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_NEAR(plain->cycles, 200 + 2 * (20 + 2 * 8 * 9 + 3000.0 / 28) + 10 * 9, 1e-9);
  EXPECT_EQ(plain->packets, 2);
  const std::vector<Multicast> next = {{0, {1}, 6000, 2}};
  const auto linked = simulate_multicasts(*topology, machine, next, {0, 1});
  ASSERT_TRUE(linked) << linked.error().message;
  EXPECT_NEAR(linked->cycles, 200 + 2 * 9 + 6000.0 / 30 + 10 * 9 + 1, 1e-9);
  const auto all = simulate_multicasts(*topology, machine, row, {0, 1});
  ASSERT_TRUE(all) << all.error().message;
  const double least = 200 + 2 * 8 * 9 + 6000.0 / 30 + 10 * 9 + 1;
  EXPECT_GE(all->cycles, least);
  EXPECT_LE(all->cycles, least + 2 * 7);
}

/// Two sources of one column that send to the whole row of the first share the links of that row:
/// the second waits for the tail of the first at each of them.
TEST(MulticastPackets, TakeTurnsWhereTheyShareALink) {
  const Machine machine = with_multicasts(test::noc_machine(test::kWormholeNoc));
  const auto topology = Topology::of(machine);
  ASSERT_TRUE(topology);
  const Multicast first{0, {1, 2, 3}, 5600, 1};
  const Multicast second{1, {2, 3}, 5600, 1};
  const auto cycles = [&](std::vector<Multicast> multicasts) {
    const auto simulation = simulate_multicasts(*topology, machine, multicasts, {0, 0});
    EXPECT_TRUE(simulation) << simulation.error().message;
    return simulation->cycles;
  };
  const double alone = cycles({first});
  const double both = cycles({first, second});
  // 200 to leave, and 2 links of 9 cycles to reserve there and back.
  EXPECT_GE(both, alone + 5600.0 / 28 + 2 * 2 * 9);
  EXPECT_LE(both, alone + 5600.0 / 28 + 2 * 3 * 9 + 20);
  // Other rows share nothing.
  EXPECT_EQ(cycles({first, {8, {9, 10, 11}, 5600, 1}}), alone);
}

TEST(MulticastPackets, RefuseWhatIsTooLarge) {
  const Machine machine = with_multicasts(test::noc_machine(test::kWormholeNoc));
  const auto topology = Topology::of(machine);
  ASSERT_TRUE(topology);
  const auto code = [&](const Multicast& multicast, const Travel& travel, std::int64_t most) {
    const std::vector<Multicast> one = {multicast};
    const auto result = simulate_multicasts(*topology, machine, one, travel, most);
    return result ? "accepted" : std::string(code_name(result.error().code));
  };
  EXPECT_EQ(code({0, {1}, 64, 1}, {0, 0}, 100), "accepted");
  EXPECT_EQ(code({0, {1}, 64, 1000}, {0, 0}, 100), "too_large");
  EXPECT_EQ(code({0, {1}, INT64_MAX, 1}, {0, 0}, 100), "too_large");
  EXPECT_EQ(code({0, {1}, 64, INT64_MAX}, {0, 0}, 100), "too_large");
  EXPECT_EQ(code({0, {1, 64}, 64, 1}, {0, 0}, 100), "out_of_range");
  EXPECT_EQ(code({0, {2, 4}, 64, 1}, {0, 0}, 100), "not_supported");
  EXPECT_EQ(code({0, {1}, 64, 1}, {0, 2}, 100), "out_of_range");
}

/// Numbers of the places of a box of one device, given by its first and last corner.
std::vector<std::int32_t> places_of_box(const Shape& shape, const std::vector<std::int64_t>& low,
                                        const std::vector<std::int64_t>& high) {
  std::vector<std::int32_t> places;
  for (std::int64_t p = 0; p < shape.elements(); ++p) {
    const Place at = shape.delinear(p);
    bool inside = true;
    for (std::size_t axis = 0; axis < at.size(); ++axis) {
      inside = inside && low[axis] <= at[axis] && at[axis] <= high[axis];
    }
    if (inside) places.push_back(static_cast<std::int32_t>(p));
  }
  return places;
}

/// Multicasts as programs make them.
class Pattern {
 public:
  Pattern(Dice& dice, const Machine& machine)
      : dice_(dice), shape_(machine.shape()), inner_(machine.mesh.back().extents.size()) {
    const std::int64_t power = std::int64_t{32} << dice.below(12);
    bytes_ = power + dice.below(power);
    const std::int64_t run = std::int64_t{512} << dice.below(5);
    transactions_ = dice.chance(40) ? 1 : std::clamp<std::int64_t>(bytes_ / run, 1, 32);
  }

  std::vector<Multicast> make(std::string_view& name) {
    switch (dice_.below(4)) {
      case 0:
        name = "broadcast";
        send(dice_.below(shape_.elements()), all());
        break;
      case 1:
        name = "panels";  // one place of each row sends to its row
        along(false);
        break;
      case 2:
        name = "all gather";  // every place of a row to its row
        along(true);
        break;
      default:
        name = "boxes";
        for (std::int64_t count = dice_.between(1, 6); count > 0; --count) box();
    }
    return std::move(multicasts_);
  }

 private:
  std::vector<bool> all() const { return std::vector<bool>(shape_.rank(), true); }

  /// To the places that differ from the source along the chosen axes of its device only.
  void send(std::int64_t source, const std::vector<bool>& along) {
    const Place at = shape_.delinear(source);
    std::vector<std::int64_t> low = at, high = at;
    for (std::size_t axis = shape_.rank() - inner_; axis < shape_.rank(); ++axis) {
      if (along[axis]) low[axis] = 0, high[axis] = shape_[axis] - 1;
    }
    add(source, low, high);
  }
  void along(bool everyone) {
    std::vector<bool> chosen(shape_.rank(), false);
    const std::size_t axis = shape_.rank() - 1 -
                             static_cast<std::size_t>(dice_.below(
                                 std::ssize(shape_.extents()) > 1 && inner_ > 1 ? 2 : 1));
    chosen[axis] = true;
    const std::int64_t sender = dice_.below(shape_[axis]);
    for (std::int64_t p = 0; p < shape_.elements(); ++p) {
      if (everyone || shape_.delinear(p)[axis] == sender) send(p, chosen);
    }
  }
  void box() {
    const std::int64_t source = dice_.below(shape_.elements());
    std::vector<std::int64_t> low = shape_.delinear(source), high = low;
    for (std::size_t axis = shape_.rank() - inner_; axis < shape_.rank(); ++axis) {
      low[axis] = dice_.between(0, low[axis]);
      high[axis] = dice_.between(high[axis], shape_[axis] - 1);
    }
    add(source, low, high);
  }
  void add(std::int64_t source, const std::vector<std::int64_t>& low,
           const std::vector<std::int64_t>& high) {
    Multicast multicast{static_cast<std::int32_t>(source), places_of_box(shape_, low, high), bytes_,
                        transactions_};
    std::erase(multicast.receivers, multicast.source);
    if (!multicast.receivers.empty()) multicasts_.push_back(std::move(multicast));
  }

  Dice& dice_;
  const Shape shape_;
  const std::size_t inner_;
  std::int64_t bytes_ = 0;
  std::int64_t transactions_ = 1;
  std::vector<Multicast> multicasts_;
};

/// The bytes on every link: those of each multicast once for each link of a route.
std::map<std::string, std::int64_t> walked_bytes(const Machine& machine,
                                                 const std::vector<Multicast>& multicasts,
                                                 std::int64_t number) {
  const NaiveNetwork network(machine, number);
  std::map<std::string, std::int64_t> bytes;
  for (const Multicast& multicast : multicasts) {
    std::set<std::string> tree;
    for (const std::int32_t receiver : multicast.receivers) {
      for (const NaiveNetwork::Hop& hop : network.walk(multicast.source, receiver).there) {
        tree.insert(hop.name);
      }
    }
    for (const std::string& link : tree) bytes[link] += multicast.bytes;
  }
  std::erase_if(bytes, [](const auto& entry) { return entry.second == 0; });
  return bytes;
}

class MulticastPacketLaws : public testing::TestWithParam<NetworkCase> {};

TEST_P(MulticastPacketLaws, HoldOnRandomMachines) {
  int several = 0;
  for (int seed = 0; seed < 60 && !HasFailure(); ++seed) {
    SCOPED_TRACE(cat(test::case_name(GetParam()), " seed ", seed));
    Dice dice(static_cast<std::uint64_t>(seed) + 300);
    const Machine machine = with_multicasts(test::random_network_machine(dice, GetParam()));
    const auto topology = Topology::of(machine);
    ASSERT_TRUE(topology) << topology.error().message;
    std::string_view pattern;
    const std::vector<Multicast> multicasts = Pattern(dice, machine).make(pattern);
    for (const std::int64_t mechanism : {0, 1}) {
      const Travel travel{0, mechanism};
      const auto cost = multicast_cost(*topology, machine, multicasts, travel);
      const auto simulation = simulate_multicasts(*topology, machine, multicasts, travel);
      ASSERT_TRUE(cost && simulation);
      EXPECT_EQ(*simulation, *simulate_multicasts(*topology, machine, multicasts, travel));
      std::map<std::string, std::int64_t> bytes;
      for (std::size_t link = 0; link < simulation->link_bytes.size(); ++link) {
        if (simulation->link_bytes[link] == 0) continue;
        bytes[topology->link_name(static_cast<std::int64_t>(link))] = simulation->link_bytes[link];
      }
      EXPECT_EQ(bytes, walked_bytes(machine, multicasts, 0));
      // Nothing is faster than the busiest link, nor than each of them alone.
      const double per_byte =
          1 / *machine.mesh.back().mechanisms[static_cast<std::size_t>(mechanism)].bytes_per_cycle;
      EXPECT_GE(simulation->cycles * (1 + 1e-12),
                static_cast<double>(cost->max_link_bytes) * per_byte);
      for (std::size_t m = 0; m < multicasts.size(); ++m) {
        const std::vector<Multicast> one = {multicasts[m]};
        const auto alone = multicast_cost(*topology, machine, one, travel);
        ASSERT_TRUE(alone);
        const std::int64_t packet = machine.mesh.back().networks.front().packet_bytes.value_or(0);
        const bool even = one[0].bytes % one[0].transactions == 0 &&
                          (packet == 0 || one[0].bytes <= packet * one[0].transactions);
        const auto itself = simulate_multicasts(*topology, machine, one, travel);
        ASSERT_TRUE(itself);
        if (mechanism == 0 && even) {
          EXPECT_NEAR(itself->cycles, alone->cycles, 1e-9 * alone->cycles);
        }
        EXPECT_GE(simulation->multicasts[m].completed * (1 + 1e-9), itself->cycles);
      }
      several += multicasts.size() > 1 ? 1 : 0;
    }
  }
  RecordProperty("several", several);
  EXPECT_GT(several, 0);
}

INSTANTIATE_TEST_SUITE_P(All, MulticastPacketLaws, testing::ValuesIn(test::kNetworkCases),
                         [](const auto& tested) {
                           std::string name(test::case_name(tested.param));
                           std::erase_if(name, [](char c) { return c == ' ' || c == '-'; });
                           return name;
                         });

/// multicast_cost against the packets, as CostModel does for messages.
TEST(MulticastModel, IsCloseToSimulatedPackets) {
  constexpr int kMoves = 300;
  std::map<std::string, std::vector<double>> by_pattern;
  for (const MoveMachine kind : test::kMoveMachines) {
    if (kind == MoveMachine::kBanks) continue;  // multicasts are between places
    const Machine machine = with_multicasts(test::machine_of(kind));
    const auto topology = Topology::of(machine);
    ASSERT_TRUE(topology) << topology.error().message;
    Dice dice(7);
    std::vector<double> errors;
    std::vector<double> sizes;
    while (errors.size() < kMoves) {
      std::string_view pattern;
      const std::vector<Multicast> multicasts = Pattern(dice, machine).make(pattern);
      const Travel travel{0, dice.below(2)};
      if (multicasts.empty()) continue;
      const auto cost = multicast_cost(*topology, machine, multicasts, travel);
      const auto simulated = simulate_multicasts(*topology, machine, multicasts, travel);
      ASSERT_TRUE(cost) << cost.error().message;
      ASSERT_TRUE(simulated) << simulated.error().message;
      errors.push_back((cost->cycles - simulated->cycles) / simulated->cycles);
      sizes.push_back(std::fabs(errors.back()));
      by_pattern[cat(pattern, travel.mechanism == 0 ? ", reserved" : ", linked")].push_back(
          errors.back());
    }
    print_error_row(test::machine_name(kind), errors);
    EXPECT_LT(quantile(sizes, 0.5), 0.05) << test::machine_name(kind);
    EXPECT_LT(quantile(sizes, 0.9), 0.15) << test::machine_name(kind);
  }
  for (const auto& [pattern, errors] : by_pattern) print_error_row(pattern, errors);
}

}  // namespace
}  // namespace tessera::fabric
