// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tessera/fabric/networks/device_routes.h"
#include "tessera/fabric/networks/grid.h"
#include "tessera/fabric/networks/pair_table.h"
#include "tessera/fabric/topology.h"

namespace tessera::fabric {

/// A router of a device. In an alternative of a shared memory, device -1 is that of the other
/// endpoint.
struct DeviceRouter {
  std::int32_t device = 0;
  std::int32_t router = 0;
  friend bool operator==(const DeviceRouter&, const DeviceRouter&) = default;
};

/// The coordinates of a router, where there are at most two axes; of one axis: {0, col}.
struct Cell {
  std::int32_t row = 0;
  std::int32_t col = 0;
};

/// A network of the innermost level.
struct InnerNetwork {
  std::string name;          ///< its own, or that of its kind
  std::string why_left_out;  ///< empty; else what its description lacks, and it has no links
  Grid grid;
  LinkFacts link;
  LinkFacts port;
  std::int64_t first_link = 0;  ///< of device 0; each device has grid.links()
  std::int64_t first_port = 0;  ///< the link of port 0: out, then in
  /// Of each router, if the network is a mesh, torus or ring of one or two axes; else empty.
  std::vector<Cell> cells;
  PairTable pairs;  ///< not present where lines are long or devices many

  /// Links between two routers of a device.
  std::int64_t distance(std::int64_t from, std::int64_t to) const {
    if (cells.empty()) return grid.distance(from, to);
    const Cell a = cells[static_cast<std::size_t>(from)];
    const Cell b = cells[static_cast<std::size_t>(to)];
    const std::int64_t along = grid.axes.back().steps(a.col, b.col).count;
    return grid.axes.size() == 1 ? along : along + grid.axes.front().steps(a.row, b.row).count;
  }
};

/// A level outside the innermost one, with its first network.
struct OuterLevel {
  std::string name;  ///< of the network, or of its kind
  Grid grid;
  LinkFacts link;
  std::int64_t parallel = 1;       ///< links between two neighbours
  std::int64_t first_link = 0;     ///< of the first place of the level
  std::int64_t links = 0;          ///< of all its places, with parallel ones
  std::int64_t inner_devices = 1;  ///< devices of one place of this level
  std::vector<std::int64_t> extents;
  std::size_t axes_outside = 0;  ///< of the levels further out
  /// For each axis, direction (up, down) and parallel link: the router that it begins or ends at,
  /// with its device among those of the place.
  std::vector<DeviceRouter> gateways;

  /// Places of this level and those outside it: device / inner_devices.
  std::int64_t place_of(std::int64_t device) const { return device / inner_devices; }
  const DeviceRouter& gateway(std::int64_t axis, bool up, std::int64_t link_number) const {
    return gateways[static_cast<std::size_t>((axis * 2 + (up ? 0 : 1)) * parallel + link_number)];
  }
};

/// A bank or shared memory.
struct MemoryEnd {
  std::int32_t memory = 0;   ///< in Machine::memory
  std::int32_t device = -1;  ///< of a bank; -1 for shared memories
  std::int64_t number = 0;   ///< of a bank, device-major; else 0
  std::size_t first = 0;     ///< of its alternatives
  std::size_t count = 0;
  std::int64_t first_port = 0;  ///< of its ports
  /// Devices on which each alternative has a port: all of them for a shared memory, else 1.
  std::int64_t port_devices = 1;

  std::int64_t ports() const { return static_cast<std::int64_t>(count) * port_devices; }
};

/// The routers between which a message travels, and its ports there: numbers from 0 to
/// Parts::ports, the same for every network.
struct RouteEnds {
  DeviceRouter first;
  DeviceRouter last;
  std::int64_t port_out = 0;
  std::int64_t port_in = 0;
};

struct Topology::Parts {
  std::vector<OuterLevel> outer;    ///< outermost first
  std::vector<InnerNetwork> inner;  ///< of the innermost level
  std::int64_t devices = 1;
  std::int64_t links = 0;
  Shape shape;                               ///< of all places
  std::vector<std::int64_t> device_extents;  ///< of all outer levels
  std::vector<std::int64_t> router_extents;  ///< of the innermost level
  std::vector<DeviceRouter> places;
  std::vector<MemoryEnd> memories;  ///< endpoints after the places
  std::int64_t ports = 0;           ///< one per place, then those of the memories
  std::vector<DeviceRouter> alternatives;
  std::vector<std::string> memory_names;     ///< of Machine::memory
  std::vector<std::int64_t> first_endpoint;  ///< of each memory; -1 where it is not reached
  std::vector<std::int64_t> banks;           ///< of each memory, on one device; 0 unless per bank
  DeviceRoutes device_routes;

  std::int64_t endpoints() const {
    return static_cast<std::int64_t>(places.size() + memories.size());
  }
  bool is_place(std::int64_t endpoint) const {
    return endpoint < static_cast<std::int64_t>(places.size());
  }
  const MemoryEnd& memory(std::int64_t endpoint) const {
    return memories[static_cast<std::size_t>(endpoint) - places.size()];
  }
  /// The links of a port, out and in.
  std::int64_t link_out(std::int64_t network, std::int64_t port) const {
    return inner[static_cast<std::size_t>(network)].first_port + port * 2;
  }
  std::int64_t link_in(std::int64_t network, std::int64_t port) const {
    return link_out(network, port) + 1;
  }
  /// The endpoint that a port belongs to.
  std::int64_t endpoint_of_port(std::int64_t port) const;
  /// The nearest of all alternatives.
  RouteEnds route_ends(std::int64_t network, std::int64_t from, std::int64_t to) const;
  std::int64_t distance(std::int64_t network, EndPair pair, DeviceRouter from,
                        DeviceRouter to) const;
  /// Σ of hop cycles between two routers, without ports.
  double hop_cycles(std::int64_t network, EndPair pair, DeviceRouter from, DeviceRouter to) const;
};

/// The parts of a route: calls segment(device, from router, to router) for each part inside a
/// device (also where both are the same), link(outer level, number of the link) for each step
/// between devices.
/// `pair` chooses between parallel links: an EndPair.
template <typename Pair, typename Segment, typename Link>
class RouteWalk {
 public:
  RouteWalk(const Topology::Parts& parts, const Pair& pair, const Segment& segment,
            const Link& link)
      : parts_(parts), pair_(pair), segment_(segment), link_(link) {}

  /// Moves to `to`, which differs from `from` only in `level` and further in.
  void go(std::size_t level, DeviceRouter from, DeviceRouter to) const {
    if (level == parts_.outer.size()) {
      segment_(from.device, from.router, to.router);
      return;
    }
    const OuterLevel& outer = parts_.outer[level];
    const std::int64_t number = pair_.link(outer.parallel);
    const std::int64_t goal = outer.place_of(to.device);
    std::int64_t here = outer.place_of(from.device);
    while (here != goal) {
      const std::int64_t first = here - here % outer.grid.routers;  // of this level
      const GridStep step = outer.grid.step(here - first, goal - first);
      go(level + 1, from, absolute(outer, here, outer.gateway(step.axis, step.up, number)));
      const std::int64_t slot = first / outer.grid.routers * outer.grid.links() + step.slot;
      link_(outer, outer.first_link + slot * outer.parallel + number);
      here = first + step.next;
      from = absolute(outer, here, outer.gateway(step.axis, !step.up, number));
    }
    go(level + 1, from, to);
  }

 private:
  static DeviceRouter absolute(const OuterLevel& outer, std::int64_t place,
                               const DeviceRouter& gateway) {
    return {static_cast<std::int32_t>(place * outer.inner_devices + gateway.device),
            gateway.router};
  }

  const Topology::Parts& parts_;
  const Pair& pair_;
  const Segment& segment_;
  const Link& link_;
};

template <typename Pair, typename Segment, typename Link>
void walk_route(const Topology::Parts& parts, const Pair& pair, DeviceRouter from, DeviceRouter to,
                const Segment& segment, const Link& link) {
  RouteWalk<Pair, Segment, Link>(parts, pair, segment, link).go(0, from, to);
}

}  // namespace tessera::fabric
