// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "tessera/testing/fabric/realistic_moves.h"

namespace tessera::test {
namespace {

using target::Gateway;
using target::Mechanism;
using target::MemorySpace;
using target::MeshLevel;
using target::Network;
using target::NetworkKind;
using target::Routers;
using target::Way;

Mechanism mechanism(const char* name, const char* network, double issue, double bytes_per_cycle) {
  Mechanism made;
  made.name = name;
  made.network = network;
  made.overhead_cycles = 100;
  made.issue_cycles = issue;
  made.bytes_per_cycle = bytes_per_cycle;
  return made;
}

Network noc(const char* name, NetworkKind kind, std::vector<Way> ways) {
  Network network;
  network.name = name;
  network.kind = kind;
  network.ways = std::move(ways);
  network.hop_cycles = 9;
  network.ramp_cycles = 5;
  network.bits_per_cycle = 256;
  network.packet_bytes = 8192;
  return network;
}

MemorySpace own_memory() {
  MemorySpace memory;
  memory.name = "l1";
  memory.bytes = 1 << 20;
  return memory;
}

Machine with_level(MeshLevel level) {
  Machine machine;
  machine.name = "tested";
  machine.clock_hz = 1'000'000'000;
  machine.mesh.push_back(std::move(level));
  machine.memory.push_back(own_memory());
  machine.data_space = "l1";
  return machine;
}

Machine one_way_torus() {
  MeshLevel level;
  level.name = "cores";
  level.extents = {8, 8};
  level.routers = Routers{{12, 10}, {{1, 2, 3, 4, 5, 7, 8, 9}, {1, 2, 3, 4, 6, 7, 8, 9}}};
  Network back = noc("noc1", NetworkKind::kTorus, {Way::kDown, Way::kDown});
  back.route = {0, 1};
  level.networks = {noc("noc0", NetworkKind::kTorus, {Way::kUp, Way::kUp}), back};
  level.mechanisms = {mechanism("read", "noc0", 25, 28.6), mechanism("write", "noc1", 22, 31.1)};
  Machine machine = with_level(level);
  MemorySpace dram;
  dram.name = "dram";
  dram.owner = MemorySpace::Owner::kBank;
  dram.banks = 12;
  dram.bytes = 1 << 30;
  dram.read.bytes_per_second = 24e9;
  dram.write.bytes_per_second = 24e9;
  const std::vector<std::pair<std::int64_t, std::vector<std::int64_t>>> groups = {
      {0, {0, 1, 11}}, {0, {5, 6, 7}}, {5, {0, 1, 11}},
      {5, {2, 9, 10}}, {5, {3, 4, 8}}, {5, {5, 6, 7}}};
  for (const auto& [col, rows] : groups) {
    std::vector<Place> at;
    for (const std::int64_t row : rows) at.push_back({row, col});
    dram.at.push_back(at);
    dram.at.push_back(at);
  }
  machine.memory.push_back(dram);
  return machine;
}

Machine square(NetworkKind kind) {
  MeshLevel level;
  level.name = "cores";
  level.extents = {8, 8};
  level.networks = {noc("noc", kind, {})};
  level.mechanisms = {mechanism("read", "noc", 25, 28.6), mechanism("write", "noc", 22, 31.1)};
  return with_level(level);
}

Machine ring() {
  MeshLevel level;
  level.name = "cores";
  level.extents = {32};
  Network network = noc("ring", NetworkKind::kRing, {});
  network.hop_cycles = 2;
  network.bits_per_cycle = 1024;
  network.packet_bytes = 4096;
  level.networks = {network};
  level.mechanisms = {mechanism("read", "ring", 16, 120), mechanism("write", "ring", 16, 120)};
  return with_level(level);
}

Machine two_levels() {
  MeshLevel devices;
  devices.name = "devices";
  devices.extents = {2, 2};
  Network ethernet;
  ethernet.name = "ethernet";
  ethernet.hop_seconds = 0.8e-6;
  ethernet.bytes_per_second = 12.5e9;
  ethernet.links = 2;
  devices.networks = {ethernet};
  devices.gateways = {
      Gateway{0, Way::kUp, {{4, 1}, {4, 2}}}, Gateway{0, Way::kDown, {{0, 1}, {0, 2}}},
      Gateway{1, Way::kUp, {{1, 4}, {2, 4}}}, Gateway{1, Way::kDown, {{1, 0}, {2, 0}}}};
  MeshLevel cores;
  cores.name = "cores";
  cores.extents = {4, 4};
  cores.routers = Routers{{5, 5}, {{0, 1, 2, 3}, {0, 1, 2, 3}}};
  cores.networks = {noc("noc", NetworkKind::kMesh, {})};
  cores.mechanisms = {mechanism("read", "noc", 25, 28.6), mechanism("write", "noc", 22, 31.1)};
  Machine machine = with_level(cores);
  machine.mesh.insert(machine.mesh.begin(), devices);
  return machine;
}

}  // namespace

std::string_view machine_name(MoveMachine kind) {
  switch (kind) {
    case MoveMachine::kOneWayTorus:
      return "one-way torus";
    case MoveMachine::kTorus:
      return "torus";
    case MoveMachine::kRing:
      return "ring";
    case MoveMachine::kMesh:
      return "mesh";
    case MoveMachine::kTwoLevels:
      return "two levels";
    case MoveMachine::kBanks:
      return "banks";
  }
  return "";
}

Machine machine_of(MoveMachine kind) {
  switch (kind) {
    case MoveMachine::kTorus:
      return square(NetworkKind::kTorus);
    case MoveMachine::kMesh:
      return square(NetworkKind::kMesh);
    case MoveMachine::kRing:
      return ring();
    case MoveMachine::kTwoLevels:
      return two_levels();
    case MoveMachine::kOneWayTorus:
    case MoveMachine::kBanks:
      break;
  }
  return one_way_torus();
}

}  // namespace tessera::test
