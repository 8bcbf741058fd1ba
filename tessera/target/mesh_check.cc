// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/target/field_checks.h"
#include "tessera/target/machine_check.h"

namespace tessera::target {
namespace {

/// Routes take every axis once, on networks whose routes take axes.
Found check_route(const Network& network, std::size_t axes, const std::string& path) {
  if (network.route.empty()) return std::nullopt;
  if (network.kind != NetworkKind::kMesh && network.kind != NetworkKind::kTorus) {
    return Problem{ErrorCode::kContradiction, path,
                   cat("expected no order of axes for the network ", network_name(network.kind),
                       ", found ", bracketed(network.route)),
                   "only routes of a mesh or torus take one axis after the other"};
  }
  std::vector<std::int64_t> sorted = network.route;
  std::sort(sorted.begin(), sorted.end());
  bool each_once = sorted.size() == axes;
  for (std::size_t i = 0; each_once && i < axes; ++i) {
    each_once = sorted[i] == static_cast<std::int64_t>(i);
  }
  if (each_once) return std::nullopt;
  return Problem{ErrorCode::kContradiction, path,
                 cat("expected each of the ", axes, " axes once, found ", bracketed(network.route)),
                 axes == 1 ? "axes count from 0: [0]"
                           : "axes count from 0: [1, 0] takes the last of two first"};
}

Found check_ways(const Network& network, std::size_t axes, const std::string& path) {
  if (network.ways.empty()) return std::nullopt;
  const bool ring = network.kind == NetworkKind::kRing;
  const std::size_t expected = ring ? 1 : axes;
  if (network.ways.size() != expected) {
    return Problem{ErrorCode::kContradiction, path,
                   cat("expected ", expected, expected == 1 ? " way" : " ways", ", found ",
                       network.ways.size()),
                   ring ? "a ring has one" : "one for each axis"};
  }
  if (ring || network.kind == NetworkKind::kTorus) return std::nullopt;
  return each(network.ways, path, [&](Way way, const std::string& at) -> Found {
    if (way == Way::kBoth) return std::nullopt;
    return Problem{ErrorCode::kContradiction, at,
                   cat("expected both for the network ", network_name(network.kind), ", found ",
                       way_name(way)),
                   "only links of a torus or ring lead around the end"};
  });
}

Found check_network(const Network& network, std::size_t axes, const std::string& path) {
  const std::string ports = cat(path, "/ports");
  return first_of(
      [&]() -> Found {
        return network.name.empty() ? std::nullopt : plain_name(network.name, cat(path, "/name"));
      },
      [&] { return at_most(kMaxPorts, network.ports.size(), "ports", ports); },
      [&] { return each(network.ports, ports, plain_name); },
      [&] { return distinct(network.ports, [&](std::size_t i) { return cat(ports, "/", i); }); },
      [&] { return check_route(network, axes, cat(path, "/route")); },
      [&] { return check_ways(network, axes, cat(path, "/ways")); },
      [&] { return in_range(network.hop_cycles, cat(path, "/hop_cycles")); },
      [&] { return in_range(network.bits_per_cycle, cat(path, "/bits_per_cycle")); },
      [&] { return in_range(network.ramp_cycles, cat(path, "/ramp_cycles"), Zero::kAllowed); },
      [&] { return in_range(network.hop_seconds, cat(path, "/hop_seconds")); },
      [&] { return in_range(network.bytes_per_second, cat(path, "/bytes_per_second")); },
      [&] {
        return not_both(network.hop_cycles, "hop_cycles", network.hop_seconds, "hop_seconds", path);
      },
      [&] {
        return not_both(network.bits_per_cycle, "bits_per_cycle", network.bytes_per_second,
                        "bytes_per_second", path);
      },
      [&] { return between(1, network.links, kMaxLinks, cat(path, "/links")); },
      [&] { return at_least(1, network.packet_bytes, cat(path, "/packet_bytes")); });
}

/// Several networks need names, to be told apart.
Found check_networks(const MeshLevel& level, const std::string& path) {
  const std::string networks = cat(path, "/networks");
  if (Found found = at_most(kMaxNetworks, level.networks.size(), "networks", networks)) {
    return found;
  }
  for (std::size_t i = 0; i < level.networks.size(); ++i) {
    const Network& network = level.networks[i];
    const std::string at = has_links(level) ? cat(path, "/links") : cat(networks, "/", i);
    if (level.networks.size() > 1 && network.name.empty()) {
      return Problem{
          ErrorCode::kBadTarget, at,
          cat("expected a name for each of ", level.networks.size(), " networks, found none"),
          "add \"name\": \"noc0\""};
    }
    if (Found found = check_network(network, level.extents.size(), at)) return found;
  }
  return distinct_items(level.networks, networks);
}

Found check_routers(const MeshLevel& level, const std::string& path) {
  if (!level.routers) return std::nullopt;
  const Routers& routers = *level.routers;
  const std::string extents = cat(path, "/extents");
  const std::string places = cat(path, "/places");
  const std::size_t axes = level.extents.size();
  const auto one_per_axis = [&](std::size_t count, const std::string& at) -> Found {
    if (count == axes) return std::nullopt;
    return Problem{ErrorCode::kContradiction, at,
                   cat("expected ", axes, ", one per axis, found ", count),
                   "routers have the axes of their level"};
  };
  if (Found found = first_of([&] { return one_per_axis(routers.extents.size(), extents); },
                             [&] { return one_per_axis(routers.places.size(), places); })) {
    return found;
  }
  for (std::size_t axis = 0; axis < axes; ++axis) {
    if (Found found = at_least(1, routers.extents[axis], cat(extents, "/", axis))) return found;
    const std::vector<std::int64_t>& list = routers.places[axis];
    const std::string at = cat(places, "/", axis);
    if (static_cast<std::int64_t>(list.size()) != level.extents[axis]) {
      return Problem{ErrorCode::kContradiction, at,
                     cat("expected the routers of ", level.extents[axis],
                         level.extents[axis] == 1 ? " place" : " places", ", found ", list.size()),
                     "one router coordinate for each place coordinate of the axis"};
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::int64_t least = i == 0 ? 0 : list[i - 1] + 1;
      if (list[i] >= least && list[i] < routers.extents[axis]) continue;
      return Problem{ErrorCode::kContradiction, cat(at, "/", i),
                     cat("expected a router from ", least, " to ", routers.extents[axis] - 1,
                         ", found ", list[i]),
                     "routers count from 0 and are listed in increasing order"};
    }
  }
  return std::nullopt;
}

Found check_mechanism(const Mechanism& mechanism, const MeshLevel& level, const std::string& path) {
  const auto names_network = [&]() -> Found {
    std::vector<std::string_view> names;
    for (const Network& network : level.networks) names.push_back(network.name);
    const bool only = mechanism.network.empty() && names.size() == 1;
    if (only || std::find(names.begin(), names.end(), mechanism.network) != names.end()) {
      return std::nullopt;
    }
    if (names.empty()) {
      return Problem{ErrorCode::kContradiction, path, "the level has no network to move data over",
                     "describe the networks of the level"};
    }
    if (mechanism.network.empty()) {
      return Problem{ErrorCode::kBadTarget, path,
                     cat("expected one of ", names.size(), " networks, found none"),
                     cat("add \"network\": \"", names[0], "\"")};
    }
    return Problem{ErrorCode::kUnknownName, cat(path, "/network"),
                   cat("no network of the level is called ", quote_name(mechanism.network)),
                   did_you_mean(mechanism.network, names)};
  };
  const auto figure = [&](const std::optional<double>& value, std::string_view name) {
    return in_range(value, cat(path, "/", name), Zero::kAllowed);
  };
  return first_of(
      [&] { return plain_name(mechanism.name, cat(path, "/name")); }, names_network,
      [&] { return figure(mechanism.overhead_cycles, "overhead_cycles"); },
      [&] { return figure(mechanism.issue_cycles, "issue_cycles"); },
      [&] { return in_range(mechanism.bytes_per_cycle, cat(path, "/bytes_per_cycle")); },
      [&] { return figure(mechanism.receiver_cycles, "receiver_cycles"); });
}

Found check_mechanisms(const MeshLevel& level, const std::string& path) {
  return first_of(
      [&] { return at_most(kMaxMechanisms, level.mechanisms.size(), "mechanisms", path); },
      [&] {
        return each(level.mechanisms, path, [&](const Mechanism& mechanism, const std::string& at) {
          return check_mechanism(mechanism, level, at);
        });
      },
      [&] { return distinct_items(level.mechanisms, path); });
}

Found check_level(const MeshLevel& level, const std::string& path) {
  const std::string extents = cat(path, "/extents");
  const std::string axes = cat(path, "/axes");
  return first_of(
      [&] { return plain_name(level.name, cat(path, "/name")); },
      [&] { return at_most(kMaxLevelAxes, level.extents.size(), "axes", extents); },
      [&]() -> Found {
        if (!level.extents.empty()) return std::nullopt;
        return Problem{ErrorCode::kBadTarget, extents, "expected at least one extent, found none",
                       "a single place is [1]"};
      },
      [&] {
        return each(level.extents, extents, [](std::int64_t extent, const std::string& at) {
          return at_least(1, extent, at);
        });
      },
      [&]() -> Found {
        if (level.axes.empty() || level.axes.size() == level.extents.size()) return std::nullopt;
        return Problem{ErrorCode::kContradiction, axes,
                       cat("expected ", level.extents.size(), " names, one per axis, found ",
                           level.axes.size())};
      },
      [&] { return each(level.axes, axes, plain_name); },
      [&] { return distinct(level.axes, [&](std::size_t i) { return cat(axes, "/", i); }); },
      [&] { return check_routers(level, cat(path, "/routers")); },
      [&] { return check_networks(level, path); },
      [&] { return check_mechanisms(level, cat(path, "/mechanisms")); });
}

/// Checks that neither the places nor the routers of all levels overflow.
Found check_places(const Machine& machine) {
  Checked places = 1;
  Checked routers = 1;
  for (const MeshLevel& level : machine.mesh) {
    for (const std::int64_t extent : level.extents) places *= extent;
    for (const std::int64_t extent : level.router_extents()) routers *= extent;
  }
  if (!places.overflowed() && !routers.overflowed()) return std::nullopt;
  return Problem{ErrorCode::kOverflow, "/mesh",
                 cat("the number of ", places.overflowed() ? "places" : "routers",
                     " does not fit a signed 64-bit integer"),
                 "use smaller extents"};
}

}  // namespace

std::optional<Problem> check_mesh(const Machine& machine) {
  const std::string path = "/mesh";
  return first_of(
      [&]() -> Found {
        if (!machine.mesh.empty()) return std::nullopt;
        return Problem{ErrorCode::kBadTarget, path, "expected at least one level, found none",
                       "a single place is [1]"};
      },
      [&] { return at_most(kMaxMeshLevels, machine.mesh.size(), "levels", path); },
      [&] { return each(machine.mesh, path, check_level); },
      [&] { return distinct_items(machine.mesh, path); }, [&] { return check_places(machine); },
      [&] { return check_gateways(machine); });
}

}  // namespace tessera::target
