// SPDX-License-Identifier: Apache-2.0
// Routes: which routers a message begins and ends at, and the links between them.
#include <algorithm>
#include <iterator>

#include "tessera/fabric/networks/parts.h"

namespace tessera::fabric {
namespace {

/// The alternatives of one endpoint; a place has one.
struct Alternatives {
  const DeviceRouter* first = nullptr;
  std::size_t count = 0;
  std::int32_t device = -1;  ///< of a bank, whose alternatives name none
  std::int64_t first_port = 0;
  std::int64_t port_devices = 1;

  static Alternatives of(const Topology::Parts& parts, std::int64_t endpoint) {
    if (parts.is_place(endpoint)) {
      const DeviceRouter& place = parts.places[static_cast<std::size_t>(endpoint)];
      return {&place, 1, place.device, endpoint, 1};
    }
    const MemoryEnd& end = parts.memory(endpoint);
    return {parts.alternatives.data() + end.first, end.count, end.device, end.first_port,
            end.port_devices};
  }
  /// Alternative `number`; -1 for the device where it depends on the other endpoint.
  DeviceRouter router(std::size_t number) const {
    return {device >= 0 ? device : first[number].device, first[number].router};
  }
  std::int64_t port(std::size_t number, const DeviceRouter& at) const {
    return first_port + static_cast<std::int64_t>(number) * port_devices +
           (port_devices > 1 ? at.device : 0);
  }
};

}  // namespace

std::int64_t Topology::Parts::endpoint_of_port(std::int64_t port) const {
  if (is_place(port)) return port;
  const auto after = std::upper_bound(
      memories.begin(), memories.end(), port,
      [](std::int64_t number, const MemoryEnd& end) { return number < end.first_port; });
  return static_cast<std::int64_t>(places.size()) + (after - memories.begin()) - 1;
}

RouteEnds Topology::Parts::route_ends(std::int64_t network, std::int64_t from,
                                      std::int64_t to) const {
  if (is_place(from) && is_place(to)) {
    return {places[static_cast<std::size_t>(from)], places[static_cast<std::size_t>(to)], from, to};
  }
  const Alternatives sources = Alternatives::of(*this, from);
  const Alternatives ends = Alternatives::of(*this, to);
  const InnerNetwork& own = inner[static_cast<std::size_t>(network)];
  RouteEnds best;
  std::int64_t fewest = INT64_MAX;
  for (std::size_t s = 0; s < sources.count; ++s) {
    for (std::size_t e = 0; e < ends.count; ++e) {
      DeviceRouter source = sources.router(s);
      DeviceRouter end = ends.router(e);
      if (source.device < 0) source.device = end.device < 0 ? 0 : end.device;
      if (end.device < 0) end.device = source.device;
      const RouteEnds found{source, end, sources.port(s, source), ends.port(e, end)};
      if (sources.count == 1 && ends.count == 1) return found;
      const std::int64_t steps = source.device == end.device
                                     ? own.distance(source.router, end.router)
                                     : distance(network, {from, to}, source, end);
      if (steps >= fewest) continue;
      fewest = steps;
      best = found;
    }
  }
  return best;
}

std::int64_t Topology::Parts::distance(std::int64_t network, EndPair pair, DeviceRouter from,
                                       DeviceRouter to) const {
  const InnerNetwork& own = inner[static_cast<std::size_t>(network)];
  if (from.device == to.device) return own.distance(from.router, to.router);
  if (device_routes.present()) {
    const DeviceRoute& route = device_routes[device_routes.number(pair, from.device, to.device)];
    return own.distance(from.router, route.first_gateway) +
           own.distance(route.last_gateway, to.router) + std::ssize(route.links) +
           route.steps[static_cast<std::size_t>(network)];
  }
  std::int64_t steps = 0;
  walk_route(
      *this, pair, from, to,
      [&](std::int64_t, std::int64_t a, std::int64_t b) { steps += own.distance(a, b); },
      [&](const OuterLevel&, std::int64_t) { ++steps; });
  return steps;
}

double Topology::Parts::hop_cycles(std::int64_t network, EndPair pair, DeviceRouter from,
                                   DeviceRouter to) const {
  const InnerNetwork& own = inner[static_cast<std::size_t>(network)];
  std::int64_t steps = 0;
  double between_devices = 0;
  if (from.device != to.device && device_routes.present()) {
    const DeviceRoute& route = device_routes[device_routes.number(pair, from.device, to.device)];
    steps = own.distance(from.router, route.first_gateway) +
            own.distance(route.last_gateway, to.router) +
            route.steps[static_cast<std::size_t>(network)];
    return static_cast<double>(steps) * own.link.hop_cycles + route.link_hop_cycles;
  }
  walk_route(
      *this, pair, from, to,
      [&](std::int64_t, std::int64_t a, std::int64_t b) { steps += own.distance(a, b); },
      [&](const OuterLevel& level, std::int64_t) { between_devices += level.link.hop_cycles; });
  return static_cast<double>(steps) * own.link.hop_cycles + between_devices;
}

void Topology::route(std::int64_t network, std::int64_t from, std::int64_t to,
                     std::vector<std::int32_t>& links) const {
  if (from == to) return;
  const InnerNetwork& own = parts_->inner[static_cast<std::size_t>(network)];
  const RouteEnds ends = parts_->route_ends(network, from, to);
  links.push_back(static_cast<std::int32_t>(parts_->link_out(network, ends.port_out)));
  walk_route(
      *parts_, EndPair{from, to}, ends.first, ends.last,
      [&](std::int64_t device, std::int64_t router, std::int64_t end) {
        while (router != end) {
          const GridStep step = own.grid.step(router, end);
          links.push_back(
              static_cast<std::int32_t>(own.first_link + device * own.grid.links() + step.slot));
          router = step.next;
        }
      },
      [&](const OuterLevel&, std::int64_t link) {
        links.push_back(static_cast<std::int32_t>(link));
      });
  links.push_back(static_cast<std::int32_t>(parts_->link_in(network, ends.port_in)));
}

std::int64_t Topology::distance(std::int64_t network, std::int64_t from, std::int64_t to) const {
  if (from == to) return 0;
  const RouteEnds ends = parts_->route_ends(network, from, to);
  return parts_->distance(network, {from, to}, ends.first, ends.last);
}

double Topology::latency_cycles(std::int64_t network, std::int64_t from, std::int64_t to) const {
  if (from == to) return 0;
  const RouteEnds ends = parts_->route_ends(network, from, to);
  return parts_->hop_cycles(network, {from, to}, ends.first, ends.last) +
         2 * parts_->inner[static_cast<std::size_t>(network)].port.hop_cycles;
}

double Topology::return_cycles(std::int64_t network, std::int64_t from, std::int64_t to) const {
  if (from == to) return 0;
  const RouteEnds ends = parts_->route_ends(network, from, to);
  return parts_->hop_cycles(network, {from, to}, ends.last, ends.first) +
         2 * parts_->inner[static_cast<std::size_t>(network)].port.hop_cycles;
}

}  // namespace tessera::fabric
