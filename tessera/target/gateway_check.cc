// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tessera/base/text.h"
#include "tessera/target/field_checks.h"
#include "tessera/target/machine_check.h"

namespace tessera::target {
namespace {

/// The axes along which devices have neighbours, with their extents. A ring has one, whatever the
/// axes of its level.
std::vector<std::int64_t> neighbour_extents(const MeshLevel& level) {
  if (level.networks[0].kind != NetworkKind::kRing) return level.router_extents();
  std::int64_t routers = 1;
  for (const std::int64_t extent : level.router_extents()) routers *= extent;
  return {routers};
}

Found check_gateway(const Gateway& gateway, const MeshLevel& level, const MeshLevel& inner,
                    const std::string& path) {
  const auto axes = static_cast<std::int64_t>(neighbour_extents(level).size());
  if (gateway.axis < 0 || gateway.axis >= axes) {
    return Problem{ErrorCode::kOutOfRange, cat(path, "/axis"),
                   cat("expected an axis from 0 to ", axes - 1, ", found ", gateway.axis),
                   "axes count from 0; a ring has one"};
  }
  if (gateway.way == Way::kBoth) {
    return Problem{ErrorCode::kBadTarget, cat(path, "/way"), "expected up or down, found both",
                   "describe each direction with a gateway of its own"};
  }
  const auto routers = static_cast<std::int64_t>(gateway.routers.size());
  if (routers != level.networks[0].links) {
    return Problem{
        ErrorCode::kContradiction, cat(path, "/routers"),
        cat("expected ", level.networks[0].links, " for as many parallel links, found ", routers),
        "list one router for each of the network's links"};
  }
  return each(gateway.routers, cat(path, "/routers"),
              [&](const Place& router, const std::string& at) {
                return inside(router, inner.router_extents(), at);
              });
}

Found check_level_gateways(const MeshLevel& level, const MeshLevel& inner,
                           const std::string& path) {
  const std::string gateways = cat(path, "/gateways");
  if (level.gateways.empty()) return std::nullopt;
  if (level.networks.empty()) {
    return Problem{ErrorCode::kContradiction, gateways,
                   "the level has gateways but no network whose links they meet",
                   "describe the network of the level"};
  }
  if (Found found = each(level.gateways, gateways, [&](const Gateway& gateway, const auto& at) {
        return check_gateway(gateway, level, inner, at);
      })) {
    return found;
  }
  const auto leads = [&](std::int64_t axis, Way way) {
    return std::count_if(level.gateways.begin(), level.gateways.end(),
                         [&](const Gateway& each) { return each.axis == axis && each.way == way; });
  };
  for (std::size_t i = 1; i < level.gateways.size(); ++i) {
    const Gateway& gateway = level.gateways[i];
    const auto end = level.gateways.begin() + static_cast<std::ptrdiff_t>(i);
    const bool repeated = std::any_of(level.gateways.begin(), end, [&](const Gateway& earlier) {
      return earlier.axis == gateway.axis && earlier.way == gateway.way;
    });
    if (!repeated) continue;
    return Problem{ErrorCode::kContradiction, cat(gateways, "/", i),
                   cat("axis ", gateway.axis, " already has a gateway ", way_name(gateway.way)),
                   "list all its routers in one gateway"};
  }
  const std::vector<std::int64_t> extents = neighbour_extents(level);
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis] == 1) continue;
    for (const Way way : {Way::kUp, Way::kDown}) {
      if (leads(static_cast<std::int64_t>(axis), way) == 1) continue;
      return Problem{
          ErrorCode::kContradiction, gateways,
          cat("expected a gateway ", way_name(way), " axis ", axis, " of ", extents[axis],
              " devices, found none"),
          cat("add {\"axis\": ", axis, ", \"way\": \"", way_name(way), "\", \"routers\": [..]}")};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Problem> check_gateways(const Machine& machine) {
  for (std::size_t i = 0; i < machine.mesh.size(); ++i) {
    const std::string path = cat("/mesh/", i);
    const MeshLevel& level = machine.mesh[i];
    if (i + 1 < machine.mesh.size()) {
      if (Found found = check_level_gateways(level, machine.mesh[i + 1], path)) return found;
    } else if (!level.gateways.empty()) {
      return Problem{ErrorCode::kContradiction, cat(path, "/gateways"),
                     cat("expected none on the innermost level, found ", level.gateways.size()),
                     "gateways lead from the routers of the next inner level to other devices"};
    }
  }
  return std::nullopt;
}

}  // namespace tessera::target
