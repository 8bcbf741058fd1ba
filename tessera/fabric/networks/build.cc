// SPDX-License-Identifier: Apache-2.0
// Topology::of: the parts of a topology from the description of a machine.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/fabric/networks/gateways.h"
#include "tessera/fabric/networks/parts.h"

namespace tessera::fabric {
namespace {

using target::MemorySpace;
using target::MeshLevel;
using target::Network;
using target::NetworkKind;

std::string name_of(const Network& network) {
  return network.name.empty() ? std::string(target::network_name(network.kind)) : network.name;
}

Result<LinkFacts> facts_of(const Machine& machine, const Network& network) {
  LinkFacts facts;
  const std::string name = name_of(network);
  const double clock = static_cast<double>(machine.clock_hz.value_or(0));
  if ((network.hop_seconds || network.bytes_per_second) && !machine.clock_hz) {
    return not_described(machine, cat("its clock_hz, in which the seconds of ", name, " count"));
  }
  if (network.hop_cycles) {
    facts.hop_cycles = *network.hop_cycles;
  } else if (network.hop_seconds) {
    facts.hop_cycles = *network.hop_seconds * clock;
  } else {
    return not_described(machine, cat("the hop_cycles of ", name));
  }
  double bytes_per_cycle = 0;
  if (network.bits_per_cycle) {
    bytes_per_cycle = *network.bits_per_cycle / 8;
  } else if (network.bytes_per_second) {
    bytes_per_cycle = *network.bytes_per_second / clock;
  } else {
    return not_described(machine, cat("the bits_per_cycle of ", name));
  }
  facts.cycles_per_byte = 1 / bytes_per_cycle;
  if (network.packet_bytes) {
    constexpr double kMostHeader = 1 << 30;
    facts.packet_bytes = *network.packet_bytes;
    facts.header_bytes =
        static_cast<std::int64_t>(std::fmin(std::ceil(bytes_per_cycle), kMostHeader));
  }
  return facts;
}

/// Takes `count` link numbers from the total.
Result<std::int64_t> take_links(const Machine& machine, Topology::Parts& parts, Checked count) {
  const std::int64_t first = parts.links;
  const Checked total = Checked(parts.links) + count;
  if (total.saturated() > kMaxTopologyLinks) {
    return Error{
        ErrorCode::kTooLarge,
        cat("the networks of ", machine.name, " have more than ", kMaxTopologyLinks, " links"),
        std::nullopt, "describe a smaller part of the machine"};
  }
  parts.links = total.raw();
  return first;
}

/// What Grid::links() will be, checked. The extents are those of routers.
Checked link_count(const Network& network, const std::vector<std::int64_t>& extents) {
  Checked routers = 1;
  for (const std::int64_t extent : extents) routers *= extent;
  if (network.kind == NetworkKind::kAllToAll) return routers * routers;
  const bool ring = network.kind == NetworkKind::kRing;
  return routers * Checked(ring ? 1 : static_cast<std::int64_t>(extents.size())) * 2;
}

std::vector<Cell> cells_of(const Grid& grid) {
  std::vector<Cell> cells;
  if (grid.all_to_all || grid.axes.empty() || grid.axes.size() > 2) return cells;
  const std::int64_t cols = grid.axes.back().extent;
  cells.reserve(static_cast<std::size_t>(grid.routers));
  for (std::int64_t router = 0; router < grid.routers; ++router) {
    cells.push_back(
        {static_cast<std::int32_t>(router / cols), static_cast<std::int32_t>(router % cols)});
  }
  return cells;
}

/// A network of the innermost level. kNotSupported where its description lacks something.
Result<InnerNetwork> inner_network(const Machine& machine, const Network& network,
                                   Topology::Parts& parts) {
  if (network.kind == NetworkKind::kNoc) {
    return not_described(machine, cat("the routes of ", name_of(network)));
  }
  InnerNetwork inner;
  TESSERA_TRY(inner.link, facts_of(machine, network));
  inner.link.cycles_per_byte /= static_cast<double>(network.links);
  inner.port = inner.link;
  inner.port.hop_cycles = network.ramp_cycles.value_or(0);
  const Checked count = link_count(network, parts.router_extents);
  TESSERA_TRY(inner.first_link, take_links(machine, parts, count * parts.devices));
  inner.grid = Grid::of(network, parts.router_extents);
  inner.cells = cells_of(inner.grid);
  return inner;
}

/// A network that is not described keeps its number, without links. At least one is described.
Status add_inner_networks(const Machine& machine, Topology::Parts& parts) {
  const MeshLevel& level = machine.mesh.back();
  if (level.networks.empty()) return not_described(machine, "how its places are connected");
  std::optional<Error> first;
  bool any = false;
  for (const Network& network : level.networks) {
    Result<InnerNetwork> made = inner_network(machine, network, parts);
    if (!made && made.error().code != ErrorCode::kNotSupported) return made.error();
    any = any || made.ok();
    InnerNetwork inner;
    if (made) {
      inner = *std::move(made);
    } else {
      inner.why_left_out = made.error().message;
      inner.first_link = parts.links;
      if (!first) first = made.error();
    }
    inner.name = name_of(network);
    parts.inner.push_back(std::move(inner));
  }
  if (!any) return *first;
  return ok_status();
}

Status add_ports(const Machine& machine, Topology::Parts& parts) {
  for (InnerNetwork& inner : parts.inner) {
    TESSERA_TRY(inner.first_port, take_links(machine, parts, Checked(parts.ports) * 2));
  }
  return ok_status();
}

Status add_outer_levels(const Machine& machine, Topology::Parts& parts) {
  std::int64_t outside = 1;  // places of the levels outside this one
  std::int64_t left = parts.devices;
  std::size_t axes_outside = 0;
  for (std::size_t number = 0; number + 1 < machine.mesh.size(); ++number) {
    const MeshLevel& level = machine.mesh[number];
    std::int64_t places = 1;
    for (const std::int64_t extent : level.extents) places *= extent;
    left /= places;
    OuterLevel outer;
    outer.inner_devices = left;
    outer.extents = level.extents;
    outer.axes_outside = axes_outside;
    axes_outside += level.extents.size();
    outer.grid.routers = places;
    if (places > 1) {
      if (level.networks.empty() || level.networks.front().kind == NetworkKind::kNoc) {
        return not_described(machine,
                             cat("how the places of mesh level ", number, " are connected"));
      }
      if (level.router_extents() != level.extents) {
        return not_described(machine, cat("how messages pass routers of mesh level ", number,
                                          " that have no device"));
      }
      const Network& network = level.networks.front();
      outer.name = name_of(network);
      outer.parallel = network.links;
      TESSERA_TRY(outer.link, facts_of(machine, network));
      const Checked count = link_count(network, level.extents) * outside * network.links;
      TESSERA_TRY(outer.first_link, take_links(machine, parts, count));
      outer.links = count.raw();
      outer.grid = Grid::of(network, level.extents);
    }
    outside *= places;
    parts.outer.push_back(std::move(outer));
  }
  for (std::size_t number = parts.outer.size(); number-- > 0;) {
    if (parts.outer[number].grid.routers == 1) continue;
    TESSERA_TRY(parts.outer[number].gateways, gateways_of(machine, number, parts));
  }
  return ok_status();
}

void add_places(const MeshLevel& level, Topology::Parts& parts) {
  // The router of each place of one device.
  std::int64_t count = 1;
  for (const std::int64_t extent : level.extents) count *= extent;
  std::vector<std::int32_t> routers(static_cast<std::size_t>(count));
  for (std::int64_t place = 0; place < count; ++place) {
    std::int64_t rest = place;
    std::int64_t router = 0;
    std::int64_t stride = 1;
    for (std::size_t axis = level.extents.size(); axis-- > 0;) {
      const std::int64_t at = rest % level.extents[axis];
      rest /= level.extents[axis];
      const std::int64_t column =
          level.routers ? level.routers->places[axis][static_cast<std::size_t>(at)] : at;
      router += column * stride;
      stride *= parts.router_extents[axis];
    }
    routers[static_cast<std::size_t>(place)] = static_cast<std::int32_t>(router);
  }
  parts.places.reserve(static_cast<std::size_t>(parts.devices * count));
  for (std::int64_t device = 0; device < parts.devices; ++device) {
    for (const std::int32_t router : routers) {
      parts.places.push_back({static_cast<std::int32_t>(device), router});
    }
  }
}

/// The routers at which a bank or a shared memory is reached.
void add_alternatives(const std::vector<Place>& at, Topology::Parts& parts) {
  const std::size_t inner = parts.router_extents.size();
  for (const Place& place : at) {
    const std::size_t outer = place.size() - inner;
    DeviceRouter alternative{-1, 0};
    if (place.size() > inner) {
      alternative.device = static_cast<std::int32_t>(row_major(parts.device_extents, place.data()));
    }
    alternative.router =
        static_cast<std::int32_t>(row_major(parts.router_extents, place.data() + outer));
    parts.alternatives.push_back(alternative);
  }
}

/// The endpoints of one memory, whose routers are listed.
void add_memory(std::size_t memory, const MemorySpace& space, Topology::Parts& parts) {
  const bool banked = space.owner == MemorySpace::Owner::kBank;
  parts.first_endpoint[memory] = parts.endpoints();
  if (banked) parts.banks[memory] = static_cast<std::int64_t>(space.at.size());
  const std::size_t first = parts.alternatives.size();
  for (const std::vector<Place>& at : space.at) add_alternatives(at, parts);
  std::int64_t number = 0;
  for (std::int64_t device = 0; device < (banked ? parts.devices : 1); ++device) {
    std::size_t begin = first;
    for (const std::vector<Place>& at : space.at) {
      MemoryEnd end;
      end.memory = static_cast<std::int32_t>(memory);
      end.device = banked ? static_cast<std::int32_t>(device) : -1;
      end.number = number++;
      end.first = begin;
      end.count = at.size();
      end.first_port = parts.ports;
      end.port_devices = banked ? 1 : parts.devices;
      parts.ports += end.ports();
      parts.memories.push_back(end);
      begin += at.size();
    }
  }
}

Status add_memories(const Machine& machine, Topology::Parts& parts) {
  const std::size_t count = machine.memory.size();
  parts.first_endpoint.assign(count, -1);
  parts.banks.assign(count, 0);
  Checked ports = 0;  // refused before memory is taken
  for (const MemorySpace& space : machine.memory) {
    parts.memory_names.push_back(space.name);
    for (const std::vector<Place>& at : space.at) {
      ports += Checked(static_cast<std::int64_t>(at.size())) * parts.devices * 2;
    }
  }
  TESSERA_CHECK_OK(take_links(machine, parts, ports));
  parts.links -= ports.raw();
  parts.ports = static_cast<std::int64_t>(parts.places.size());
  for (const MemorySpace::Owner owner : {MemorySpace::Owner::kBank, MemorySpace::Owner::kShared}) {
    for (std::size_t memory = 0; memory < count; ++memory) {
      const MemorySpace& space = machine.memory[memory];
      if (space.owner == owner && !space.at.empty()) add_memory(memory, space, parts);
    }
  }
  return ok_status();
}

/// For the endpoints up to the first that has several routers, or one on each of several devices.
void add_pair_tables(Topology::Parts& parts) {
  const bool any = std::any_of(
      parts.inner.begin(), parts.inner.end(),
      [&](const InnerNetwork& inner) { return PairTable::fits(inner.grid, parts.devices); });
  if (!any) return;
  std::vector<PairTable::End> ends;
  for (const DeviceRouter& place : parts.places) ends.push_back({place.device, place.router});
  for (const MemoryEnd& end : parts.memories) {
    if (end.ports() != 1) break;
    const std::int64_t device = std::max(end.device, 0);
    ends.push_back({device, parts.alternatives[end.first].router});
  }
  for (InnerNetwork& inner : parts.inner) {
    inner.pairs = PairTable::of(inner.grid, parts.devices, ends);
  }
}

}  // namespace

Result<Topology> Topology::of(const Machine& machine) {
  auto parts = std::make_shared<Parts>();
  parts->shape = machine.shape();
  parts->router_extents = machine.mesh.back().router_extents();
  for (std::size_t level = 0; level + 1 < machine.mesh.size(); ++level) {
    const std::vector<std::int64_t>& extents = machine.mesh[level].extents;
    parts->device_extents.insert(parts->device_extents.end(), extents.begin(), extents.end());
  }
  parts->devices = machine.devices();
  TESSERA_CHECK_OK(add_inner_networks(machine, *parts));
  TESSERA_CHECK_OK(add_outer_levels(machine, *parts));
  // The number of places does not exceed that of routers, whose links are counted by now.
  add_places(machine.mesh.back(), *parts);
  parts->device_routes = DeviceRoutes::of(*parts);
  TESSERA_CHECK_OK(add_memories(machine, *parts));
  add_pair_tables(*parts);
  TESSERA_CHECK_OK(add_ports(machine, *parts));
  return Topology(std::move(parts));
}

}  // namespace tessera::fabric
