// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/fabric/network_machines.h"

#include <algorithm>
#include <string>
#include <utility>

namespace tessera::test {
namespace {

using target::Bandwidth;
using target::Gateway;
using target::Mechanism;
using target::MemorySpace;
using target::MeshLevel;
using target::Network;
using target::NetworkKind;
using target::Routers;
using target::Way;

Way random_way(Dice& dice) { return static_cast<Way>(dice.below(3)); }

std::vector<std::int64_t> random_extents(Dice& dice, std::int64_t most_axes, std::int64_t most) {
  std::vector<std::int64_t> extents;
  const std::int64_t axes = dice.between(1, most_axes);
  for (std::int64_t axis = 0; axis < axes; ++axis) {
    extents.push_back(dice.chance(15) ? 1 : dice.between(1, axes > 2 ? 3 : most));
  }
  return extents;
}

/// A network with figures that need not be whole numbers.
Network random_network(Dice& dice, NetworkKind kind, std::size_t axes, bool one_way) {
  Network network;
  network.kind = kind;
  if ((kind == NetworkKind::kMesh || kind == NetworkKind::kTorus) && dice.chance(60)) {
    for (const std::size_t axis : dice.order(axes)) {
      network.route.push_back(static_cast<std::int64_t>(axis));
    }
  }
  const bool ring = kind == NetworkKind::kRing;
  if (kind == NetworkKind::kTorus || ring) {
    for (std::size_t axis = 0; axis < (ring ? 1 : axes); ++axis) {
      network.ways.push_back(one_way ? random_way(dice) : Way::kBoth);
    }
    if (!one_way && dice.chance(50)) network.ways.clear();
  }
  if (dice.chance(70)) {
    network.hop_cycles = dice.chance(50) ? 9 : 1.5;
  } else {
    network.hop_seconds = 40e-9;
  }
  if (dice.chance(70)) {
    network.bits_per_cycle = dice.chance(50) ? 256 : 36;
  } else {
    network.bytes_per_second = 12.5e9;
  }
  if (dice.chance(60)) network.ramp_cycles = dice.chance(80) ? 5 : 0;
  if (dice.chance(60)) network.packet_bytes = dice.between(1, 100);
  network.links = dice.chance(70) ? 1 : dice.between(2, 3);
  return network;
}

NetworkKind random_kind(Dice& dice) { return static_cast<NetworkKind>(dice.below(4)); }

MeshLevel inner_level(Dice& dice, NetworkKind kind, bool one_way) {
  MeshLevel level;
  level.name = "cores";
  level.extents = random_extents(dice, dice.chance(80) ? 2 : 3, 6);
  const std::size_t axes = level.extents.size();
  if (dice.chance(40)) {
    Routers routers;
    for (const std::int64_t extent : level.extents) {
      routers.extents.push_back(extent + dice.below(axes > 2 ? 2 : 4));
      std::vector<std::size_t> order = dice.order(static_cast<std::size_t>(routers.extents.back()));
      order.resize(static_cast<std::size_t>(extent));
      std::sort(order.begin(), order.end());
      routers.places.emplace_back(order.begin(), order.end());
    }
    level.routers = std::move(routers);
  }
  level.networks.push_back(random_network(dice, kind, axes, one_way));
  if (dice.chance(40)) {
    level.networks.push_back(random_network(dice, random_kind(dice), axes, true));
    level.networks[0].name = "noc0";
    level.networks[1].name = "noc1";
  }
  for (const char* const name : {"read", "write", "multicast"}) {
    if (dice.chance(40)) continue;
    Mechanism mechanism;
    mechanism.name = name;
    mechanism.network = level
                            .networks[static_cast<std::size_t>(
                                dice.below(static_cast<std::int64_t>(level.networks.size())))]
                            .name;
    if (dice.chance(80)) mechanism.overhead_cycles = 100;
    if (dice.chance(80)) mechanism.issue_cycles = 7.5;
    if (dice.chance(80)) mechanism.bytes_per_cycle = 28.6;
    level.mechanisms.push_back(std::move(mechanism));
  }
  return level;
}

Place random_place(Dice& dice, const std::vector<std::int64_t>& extents) {
  Place place;
  for (const std::int64_t extent : extents) place.push_back(dice.below(extent));
  return place;
}

/// A level around `inner`, with gateways.
MeshLevel outer_level(Dice& dice, const MeshLevel& inner, const char* name, bool several) {
  MeshLevel level;
  level.name = name;
  do {
    level.extents = random_extents(dice, 2, 4);
  } while (several && *std::max_element(level.extents.begin(), level.extents.end()) == 1);
  level.networks.push_back(
      random_network(dice, random_kind(dice), level.extents.size(), dice.chance(50)));
  const Network& network = level.networks[0];
  const bool ring = network.kind == NetworkKind::kRing;
  for (std::size_t axis = 0; axis < (ring ? 1 : level.extents.size()); ++axis) {
    for (const Way way : {Way::kUp, Way::kDown}) {
      Gateway gateway;
      gateway.axis = static_cast<std::int64_t>(axis);
      gateway.way = way;
      for (std::int64_t link = 0; link < network.links; ++link) {
        gateway.routers.push_back(random_place(dice, inner.router_extents()));
      }
      level.gateways.push_back(std::move(gateway));
    }
  }
  return level;
}

Bandwidth random_bandwidth(Dice& dice) {
  Bandwidth bandwidth;
  if (dice.chance(30)) return bandwidth;
  if (dice.chance(50)) {
    bandwidth.bytes_per_cycle = 24;
  } else {
    bandwidth.bytes_per_second = 3e9;
  }
  return bandwidth;
}

MemorySpace random_memory(Dice& dice, const Machine& machine, MemorySpace::Owner owner,
                          const char* name) {
  const std::vector<std::int64_t>& routers = machine.mesh.back().router_extents();
  MemorySpace memory;
  memory.name = name;
  memory.owner = owner;
  memory.bytes = 1 << 20;
  memory.read = random_bandwidth(dice);
  memory.write = random_bandwidth(dice);
  memory.mixed = random_bandwidth(dice);
  const bool banked = owner == MemorySpace::Owner::kBank;
  const std::int64_t count = banked ? dice.between(1, 4) : 1;
  if (banked) memory.banks = count;
  for (std::int64_t bank = 0; bank < count; ++bank) {
    std::vector<Place> at;
    const std::int64_t alternatives = dice.between(1, 4);
    for (std::int64_t i = 0; i < alternatives; ++i) {
      Place place;
      if (!banked && machine.mesh.size() > 1 && dice.chance(50)) {
        for (std::size_t level = 0; level + 1 < machine.mesh.size(); ++level) {
          const Place part = random_place(dice, machine.mesh[level].extents);
          place.insert(place.end(), part.begin(), part.end());
        }
      }
      const Place router = random_place(dice, routers);
      place.insert(place.end(), router.begin(), router.end());
      at.push_back(std::move(place));
    }
    std::sort(at.begin(), at.end());
    at.erase(std::unique(at.begin(), at.end()), at.end());
    memory.at.push_back(std::move(at));
  }
  return memory;
}

}  // namespace

std::string_view case_name(NetworkCase kind) {
  switch (kind) {
    case NetworkCase::kMesh:
      return "mesh";
    case NetworkCase::kTorus:
      return "torus";
    case NetworkCase::kOneWayTorus:
      return "one-way torus";
    case NetworkCase::kRing:
      return "ring";
    case NetworkCase::kAllToAll:
      return "all to all";
    case NetworkCase::kTwoLevels:
      return "levels";
    case NetworkCase::kBanks:
      return "banks";
    case NetworkCase::kShared:
      return "shared";
  }
  return "";
}

Machine random_network_machine(Dice& dice, NetworkCase kind) {
  Machine machine;
  machine.name = "random";
  machine.clock_hz = 1'000'000'000;
  NetworkKind network = random_kind(dice);
  bool one_way = true;
  switch (kind) {
    case NetworkCase::kMesh:
      network = NetworkKind::kMesh;
      break;
    case NetworkCase::kOneWayTorus:
      network = NetworkKind::kTorus;
      break;
    case NetworkCase::kRing:
      network = NetworkKind::kRing;
      break;
    case NetworkCase::kAllToAll:
      network = NetworkKind::kAllToAll;
      break;
    case NetworkCase::kTorus:
      network = NetworkKind::kTorus;
      one_way = false;
      break;
    default:
      break;
  }
  machine.mesh.push_back(inner_level(dice, network, one_way));
  const bool levels =
      kind == NetworkCase::kTwoLevels ||
      (dice.chance(25) && (kind == NetworkCase::kBanks || kind == NetworkCase::kShared));
  if (levels) {
    MeshLevel& cores = machine.mesh[0];
    for (std::int64_t& extent : cores.extents) extent = std::min<std::int64_t>(extent, 3);
    if (cores.routers) cores.routers->places.clear();
    if (cores.routers) {
      cores.routers->extents.clear();
      for (const std::int64_t extent : cores.extents) {
        cores.routers->extents.push_back(extent + 1);
        std::vector<std::int64_t> places;
        for (std::int64_t i = 0; i < extent; ++i) places.push_back(i + 1);
        cores.routers->places.push_back(std::move(places));
      }
    }
    const bool three = dice.chance(25);
    machine.mesh.insert(machine.mesh.begin(), outer_level(dice, machine.mesh[0], "devices", three));
    if (three) {
      machine.mesh.insert(machine.mesh.begin(), outer_level(dice, machine.mesh[0], "boxes", false));
      for (std::int64_t& extent : machine.mesh[0].extents)
        extent = std::min<std::int64_t>(extent, 2);
    }
  }
  MemorySpace own;
  own.name = "l1";
  own.bytes = 1 << 20;
  machine.memory.push_back(own);
  machine.data_space = "l1";
  if (kind == NetworkCase::kShared || dice.chance(15)) {
    machine.memory.push_back(random_memory(dice, machine, MemorySpace::Owner::kShared, "system"));
  }
  if (kind == NetworkCase::kBanks || dice.chance(15)) {
    machine.memory.push_back(random_memory(dice, machine, MemorySpace::Owner::kBank, "dram"));
  }
  return machine;
}

std::vector<fabric::Message> random_messages(Dice& dice, std::int64_t endpoints,
                                             std::int64_t count) {
  std::vector<fabric::Message> messages;
  for (std::int64_t m = 0; m < count; ++m) {
    fabric::Message message;
    message.source = static_cast<std::int32_t>(dice.below(endpoints));
    message.destination = static_cast<std::int32_t>(dice.below(endpoints));
    message.bytes = dice.chance(10) ? 0 : dice.between(1, dice.chance(50) ? 60 : 3000);
    message.transactions = dice.chance(60) ? 1 : dice.between(1, 9);
    messages.push_back(message);
  }
  return messages;
}

}  // namespace tessera::test
