// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/fabric/naive_network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tessera/base/text.h"

namespace tessera::test {
namespace {

using target::Gateway;
using target::MemorySpace;
using target::MeshLevel;
using target::Network;
using target::NetworkKind;
using target::Way;

using Node = NaiveNetwork::Node;

Node slice(const Node& node, std::size_t from, std::size_t count) {
  const auto first = node.begin() + static_cast<std::ptrdiff_t>(from);
  return Node(first, first + static_cast<std::ptrdiff_t>(count));
}

Node joined(Node first, const Node& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::vector<Node> all_nodes(const std::vector<std::int64_t>& extents) {
  std::vector<Node> nodes = {{}};
  for (const std::int64_t extent : extents) {
    std::vector<Node> longer;
    for (const Node& node : nodes) {
      for (std::int64_t i = 0; i < extent; ++i) longer.push_back(joined(node, {i}));
    }
    nodes = std::move(longer);
  }
  return nodes;
}

std::string name_of(const Network& network) {
  return network.name.empty() ? std::string(target::network_name(network.kind)) : network.name;
}

/// The next router along one axis, or nothing at the end of a mesh.
std::optional<std::int64_t> neighbour(std::int64_t at, bool up, std::int64_t extent, bool wraps) {
  const std::int64_t next = up ? at + 1 : at - 1;
  if (next >= 0 && next < extent) return next;
  if (!wraps) return std::nullopt;
  return up ? 0 : extent - 1;
}

/// Steps from one coordinate to another in one direction, by walking; nothing if it is not reached.
std::optional<std::int64_t> steps(std::int64_t from, std::int64_t to, bool up, std::int64_t extent,
                                  bool wraps, Way way) {
  if (way == (up ? Way::kDown : Way::kUp)) return std::nullopt;
  std::int64_t count = 0;
  while (from != to) {
    const std::optional<std::int64_t> next = neighbour(from, up, extent, wraps);
    if (!next) return std::nullopt;
    from = *next;
    ++count;
  }
  return count;
}

/// The direction of a route along an axis: the shorter way, on a tie up.
bool goes_up(std::int64_t from, std::int64_t to, std::int64_t extent, bool wraps, Way way) {
  const std::optional<std::int64_t> up = steps(from, to, true, extent, wraps, way);
  const std::optional<std::int64_t> down = steps(from, to, false, extent, wraps, way);
  return up && (!down || *up <= *down);
}

/// The next router of a route, and the direction.
struct Step {
  Node next;
  std::int64_t axis = 0;
  bool up = true;
};

Step step_of(const Network& network, const std::vector<std::int64_t>& extents, const Node& from,
             const Node& to) {
  Step step;
  step.next = from;
  if (network.kind == NetworkKind::kAllToAll) {
    step.next = to;
    while (extents[static_cast<std::size_t>(step.axis)] == 1) ++step.axis;
    return step;
  }
  if (network.kind == NetworkKind::kRing) {
    std::int64_t here = 0;
    std::int64_t goal = 0;
    std::int64_t size = 1;
    for (std::size_t axis = 0; axis < extents.size(); ++axis) {
      here = here * extents[axis] + from[axis];
      goal = goal * extents[axis] + to[axis];
      size *= extents[axis];
    }
    const Way way = network.ways.empty() ? Way::kBoth : network.ways[0];
    step.up = goes_up(here, goal, size, true, way);
    std::int64_t next = *neighbour(here, step.up, size, true);
    for (std::size_t axis = extents.size(); axis-- > 0;) {
      step.next[axis] = next % extents[axis];
      next /= extents[axis];
    }
    return step;
  }
  std::vector<std::int64_t> route = network.route;
  if (route.empty()) {
    for (std::size_t axis = extents.size(); axis-- > 0;) {
      route.push_back(static_cast<std::int64_t>(axis));
    }
  }
  const bool wraps = network.kind == NetworkKind::kTorus;
  for (const std::int64_t axis : route) {
    const auto a = static_cast<std::size_t>(axis);
    if (from[a] == to[a]) continue;
    const Way way = network.ways.empty() ? Way::kBoth : network.ways[a];
    step.axis = axis;
    step.up = goes_up(from[a], to[a], extents[a], wraps, way);
    step.next[a] = *neighbour(from[a], step.up, extents[a], wraps);
    return step;
  }
  ADD_FAILURE() << "no step from " << bracketed(from) << " to " << bracketed(to);
  return step;
}

}  // namespace

NaiveNetwork::NaiveNetwork(const Machine& machine, std::int64_t network)
    : machine_(machine), inner_(machine.mesh.back().networks[static_cast<std::size_t>(network)]) {
  edges_.resize(machine.mesh.size());
  for (std::size_t level = 0; level + 1 < machine.mesh.size(); ++level) {
    if (!machine.mesh[level].networks.empty()) add_edges(level, machine.mesh[level].networks[0]);
  }
  add_edges(machine.mesh.size() - 1, inner_);
  add_ends();
}

std::size_t NaiveNetwork::first_axis(std::size_t level) const {
  std::size_t axis = 0;
  for (std::size_t l = 0; l < level; ++l) axis += machine_.mesh[l].extents.size();
  return axis;
}

std::vector<std::int64_t> NaiveNetwork::routers(std::size_t level) const {
  const MeshLevel& mesh = machine_.mesh[level];
  return level + 1 == machine_.mesh.size() && mesh.routers ? mesh.routers->extents : mesh.extents;
}

void NaiveNetwork::add_edges(std::size_t level, const Network& network) {
  const std::vector<std::int64_t> extents = routers(level);
  const std::vector<Node> nodes = all_nodes(extents);
  std::set<std::pair<Node, Node>>& edges = edges_[level];
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (network.kind == NetworkKind::kAllToAll) {
      for (const Node& other : nodes) edges.emplace(nodes[i], other);
    } else if (network.kind == NetworkKind::kRing) {
      const Way way = network.ways.empty() ? Way::kBoth : network.ways[0];
      const Node& next = nodes[(i + 1) % nodes.size()];
      if (way != Way::kDown) edges.emplace(nodes[i], next);
      if (way != Way::kUp) edges.emplace(next, nodes[i]);
    } else {
      for (std::size_t axis = 0; axis < extents.size(); ++axis) {
        const Way way = network.ways.empty() ? Way::kBoth : network.ways[axis];
        const bool last = nodes[i][axis] + 1 == extents[axis];
        if (last && network.kind == NetworkKind::kMesh) continue;
        Node next = nodes[i];
        next[axis] = last ? 0 : next[axis] + 1;
        if (way != Way::kDown) edges.emplace(nodes[i], next);
        if (way != Way::kUp) edges.emplace(next, nodes[i]);
      }
    }
  }
}

std::string NaiveNetwork::end_name(std::size_t memory, const Node& device,
                                   std::int64_t bank) const {
  std::string name = cat(machine_.memory[memory].name, " bank ", bank);
  if (machine_.devices() > 1) name += cat(" of device ", bracketed(device));
  return name;
}

void NaiveNetwork::add_ends() {
  const std::size_t inner = machine_.mesh.size() - 1;
  const std::size_t axes = first_axis(inner);
  const MeshLevel& cores = machine_.mesh[inner];
  for (const Node& place : all_nodes(machine_.shape().extents())) {
    Node router = place;
    for (std::size_t axis = 0; cores.routers && axis < cores.extents.size(); ++axis) {
      router[axes + axis] =
          cores.routers->places[axis][static_cast<std::size_t>(place[axes + axis])];
    }
    ends_.push_back({cat("place ", bracketed(place)), -1, {router}});
  }
  const std::vector<Node> devices = all_nodes(slice(machine_.shape().extents(), 0, axes));
  for (std::size_t m = 0; m < machine_.memory.size(); ++m) {
    const MemorySpace& memory = machine_.memory[m];
    if (memory.owner != MemorySpace::Owner::kBank) continue;
    for (const Node& device : devices) {
      for (std::size_t bank = 0; bank < memory.at.size(); ++bank) {
        End end{
            end_name(m, device, static_cast<std::int64_t>(bank)), static_cast<std::int64_t>(m), {}};
        for (const Place& router : memory.at[bank]) end.at.push_back(joined(device, router));
        ends_.push_back(end);
      }
    }
  }
  for (std::size_t m = 0; m < machine_.memory.size(); ++m) {
    const MemorySpace& memory = machine_.memory[m];
    if (memory.owner != MemorySpace::Owner::kShared || memory.at.empty()) continue;
    ends_.push_back({memory.name, static_cast<std::int64_t>(m), memory.at[0]});
  }
}

/// The coordinates, in all levels further in, of the router at which a link of `level` ends.
Node NaiveNetwork::gateway(std::size_t level, std::int64_t axis, Way way, std::int64_t link) const {
  for (const Gateway& gateway : machine_.mesh[level].gateways) {
    if (gateway.axis != axis || gateway.way != way) continue;
    Node router = gateway.routers[static_cast<std::size_t>(link)];
    if (level + 2 == machine_.mesh.size()) return router;
    // A place of the next level: on at its own gateway of the same direction.
    const MeshLevel& next = machine_.mesh[level + 1];
    const Network& network = next.networks[0];
    std::int64_t own = axis % static_cast<std::int64_t>(next.extents.size());
    if (network.kind == NetworkKind::kRing) own = 0;
    if (network.kind == NetworkKind::kAllToAll) {
      own = 0;
      while (next.extents[static_cast<std::size_t>(own)] == 1) ++own;
    }
    return joined(router, this->gateway(level + 1, own, way, link % network.links));
  }
  ADD_FAILURE() << "no gateway";
  return {};
}

std::vector<NaiveNetwork::Hop> NaiveNetwork::step_between(std::size_t level, Node& from,
                                                          const Node& to, const Ends& pair) const {
  const std::size_t first = first_axis(level);
  const std::size_t axes = machine_.mesh[level].extents.size();
  const Network& network = machine_.mesh[level].networks[0];
  const Node here = slice(from, first, axes);
  const Step step = step_of(network, routers(level), here, slice(to, first, axes));
  EXPECT_TRUE(edges_[level].contains({here, step.next}));
  std::vector<std::int64_t> digits;  // of the destination, the last one first
  for (std::int64_t left = pair.second; network.links > 1 && left != 0; left /= network.links) {
    digits.push_back(left % network.links);
  }
  std::int64_t link = pair.first;
  for (std::size_t digit = 1; digit < digits.size(); ++digit) link += digits[digit];
  link %= network.links;
  const Node outside = slice(from, 0, first);
  const Way out = step.up ? Way::kUp : Way::kDown;
  const Way in = step.up ? Way::kDown : Way::kUp;
  std::vector<Hop> hops =
      route(from, joined(joined(outside, here), gateway(level, step.axis, out, link)), pair);
  std::string name =
      cat(name_of(network), " link ", link, " of device ", bracketed(joined(outside, here)));
  if (network.kind == NetworkKind::kAllToAll) {
    name += cat(" to ", bracketed(joined(outside, step.next)));
  } else {
    name += cat(" ", target::way_name(out), " axis ", step.axis);
  }
  hops.push_back({name, static_cast<std::int64_t>(level), false});
  from = joined(joined(outside, step.next), gateway(level, step.axis, in, link));
  return hops;
}

NaiveNetwork::Hop NaiveNetwork::step_inside(Node& from, const Node& to) const {
  const std::size_t level = machine_.mesh.size() - 1;
  const std::size_t first = first_axis(level);
  const Node device = slice(from, 0, first);
  const Node here = slice(from, first, from.size() - first);
  const Step step = step_of(inner_, routers(level), here, slice(to, first, to.size() - first));
  EXPECT_TRUE(edges_[level].contains({here, step.next}));
  std::string name = name_of(inner_);
  if (machine_.devices() > 1) name += cat(" of device ", bracketed(device));
  name += cat(", router ", bracketed(here), " to ", bracketed(step.next));
  from = joined(device, step.next);
  return {name, static_cast<std::int64_t>(level), false};
}

std::vector<NaiveNetwork::Hop> NaiveNetwork::route(Node from, const Node& to,
                                                   const Ends& pair) const {
  std::vector<Hop> hops;
  while (from != to) {
    std::size_t level = 0;
    const auto differs = [&](std::size_t l) {
      const std::size_t first = first_axis(l);
      const std::size_t axes = machine_.mesh[l].extents.size();
      return slice(from, first, axes) != slice(to, first, axes);
    };
    while (!differs(level)) ++level;
    if (level + 1 == machine_.mesh.size()) {
      hops.push_back(step_inside(from, to));
    } else {
      for (const Hop& hop : step_between(level, from, to, pair)) hops.push_back(hop);
    }
  }
  return hops;
}

/// Memories have a port at each of their routers; those without a device, on every device.
std::string NaiveNetwork::port_name(const End& end, const Node& router) const {
  const std::size_t axes = first_axis(machine_.mesh.size() - 1);
  if (end.memory < 0) return end.name;
  const bool shared =
      machine_.memory[static_cast<std::size_t>(end.memory)].owner == MemorySpace::Owner::kShared;
  const bool on_devices = shared && machine_.devices() > 1;
  if (end.at.size() == 1 && !on_devices) return end.name;
  return cat(end.name, " at router ",
             bracketed(on_devices ? router : slice(router, axes, router.size() - axes)));
}

NaiveNetwork::Walk NaiveNetwork::walk(std::int64_t from, std::int64_t to) const {
  Walk best;
  if (from == to) return best;
  const End& source = ends_[static_cast<std::size_t>(from)];
  const End& end = ends_[static_cast<std::size_t>(to)];
  const std::size_t axes = first_axis(machine_.mesh.size() - 1);
  const std::size_t all = axes + machine_.mesh.back().extents.size();
  bool found = false;
  Node begins, ends;
  for (const Node& a : source.at) {
    for (Node b : end.at) {
      Node first = a;
      if (first.size() < all) {
        first = joined(b.size() < all ? Node(axes, 0) : slice(b, 0, axes), first);
      }
      if (b.size() < all) b = joined(slice(first, 0, axes), b);
      std::vector<Hop> there = route(first, b, {from, to});
      if (found && there.size() >= best.there.size()) continue;
      found = true;
      best.there = there;
      best.back = route(b, first, {from, to});
      begins = first;
      ends = b;
    }
  }
  const auto level = static_cast<std::int64_t>(machine_.mesh.size()) - 1;
  const std::string first_port = port_name(source, begins);
  const std::string last_port = port_name(end, ends);
  const auto add_ports = [&](std::vector<Hop>& hops, const std::string& out,
                             const std::string& in) {
    hops.insert(hops.begin(), {cat("out of ", out, " to ", name_of(inner_)), level, true});
    hops.push_back({cat("into ", in, " from ", name_of(inner_)), level, true});
  };
  add_ports(best.there, first_port, last_port);
  add_ports(best.back, last_port, first_port);
  return best;
}

const Network& NaiveNetwork::network_of(const Hop& hop) const {
  const auto level = static_cast<std::size_t>(hop.level);
  return level + 1 == machine_.mesh.size() ? inner_ : machine_.mesh[level].networks[0];
}

double NaiveNetwork::hop_cycles(const Hop& hop) const {
  const Network& network = network_of(hop);
  if (hop.port) return network.ramp_cycles.value_or(0);
  if (network.hop_cycles) return *network.hop_cycles;
  return *network.hop_seconds * static_cast<double>(*machine_.clock_hz);
}

double NaiveNetwork::cycles_per_byte(const Hop& hop) const {
  const Network& network = network_of(hop);
  const double one = network.bits_per_cycle
                         ? 8 / *network.bits_per_cycle
                         : static_cast<double>(*machine_.clock_hz) / *network.bytes_per_second;
  const bool innermost = hop.level + 1 == static_cast<std::int64_t>(machine_.mesh.size());
  return innermost ? one / static_cast<double>(network.links) : one;
}

std::int64_t NaiveNetwork::header_bytes(const Hop& hop) const {
  const Network& network = network_of(hop);
  if (!network.packet_bytes) return 0;
  const double cycle = network.bits_per_cycle
                           ? *network.bits_per_cycle / 8
                           : *network.bytes_per_second / static_cast<double>(*machine_.clock_hz);
  return static_cast<std::int64_t>(std::ceil(cycle));
}

std::vector<std::int64_t> NaiveNetwork::packets(const Hop& hop, std::int64_t bytes) const {
  const Network& network = network_of(hop);
  std::vector<std::int64_t> sizes;
  while (network.packet_bytes && bytes > *network.packet_bytes) {
    sizes.push_back(*network.packet_bytes);
    bytes -= *network.packet_bytes;
  }
  sizes.push_back(bytes);
  return sizes;
}

std::int64_t NaiveNetwork::wire_bytes(const Hop& hop, const fabric::Message& message) const {
  std::int64_t total = message.bytes;
  std::int64_t left = message.bytes;
  for (std::int64_t t = message.transactions; t > 0; --t) {
    const std::int64_t size = (left + t - 1) / t;  // the larger ones first
    left -= size;
    total += static_cast<std::int64_t>(packets(hop, size).size()) * header_bytes(hop);
  }
  return total;
}

}  // namespace tessera::test
