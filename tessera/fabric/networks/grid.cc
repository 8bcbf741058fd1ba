// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/networks/grid.h"

#include <cassert>

namespace tessera::fabric {

using target::NetworkKind;
using target::Way;

Grid Grid::of(const target::Network& network, const std::vector<std::int64_t>& extents) {
  assert(network.kind != NetworkKind::kNoc);
  Grid grid;
  for (const std::int64_t extent : extents) grid.routers *= extent;
  if (network.kind == NetworkKind::kAllToAll) {
    grid.all_to_all = true;
    return grid;
  }
  const bool ring = network.kind == NetworkKind::kRing;
  std::vector<std::int64_t> lengths = extents;
  if (ring) lengths.assign(1, grid.routers);
  grid.axes.resize(lengths.size());
  std::int64_t stride = 1;
  for (std::size_t axis = lengths.size(); axis-- > 0;) {
    const Way way = network.ways.empty() ? Way::kBoth : network.ways[axis];
    grid.axes[axis] = {lengths[axis], stride, way, network.kind != NetworkKind::kMesh};
    stride *= lengths[axis];
  }
  if (ring || network.route.empty()) {
    for (std::size_t axis = lengths.size(); axis-- > 0;) grid.order.push_back(axis);
  } else {
    for (const std::int64_t axis : network.route) {
      grid.order.push_back(static_cast<std::size_t>(axis));
    }
  }
  return grid;
}

GridStep Grid::step(std::int64_t from, std::int64_t to) const {
  assert(from != to);
  if (all_to_all) return {to, from * routers + to, 0, true};
  for (const std::size_t number : order) {
    const GridAxis& axis = axes[number];
    const std::int64_t at = coordinate(axis, from);
    const AxisSteps steps = axis.steps(at, coordinate(axis, to));
    if (steps.count == 0) continue;
    const std::int64_t slot =
        (from * static_cast<std::int64_t>(axes.size()) + static_cast<std::int64_t>(number)) * 2 +
        (steps.up ? 0 : 1);
    return {end_of(slot), slot, static_cast<std::int64_t>(number), steps.up};
  }
  assert(false);  // `order` names every axis
  return {};
}

std::int64_t Grid::end_of(std::int64_t slot) const {
  if (all_to_all) return slot / routers == slot % routers ? -1 : slot % routers;
  const auto count = static_cast<std::int64_t>(axes.size());
  const bool up = slot % 2 == 0;
  const GridAxis& axis = axes[static_cast<std::size_t>(slot / 2 % count)];
  const std::int64_t from = slot / 2 / count;
  const std::int64_t at = coordinate(axis, from);
  const std::int64_t to = at + (up ? 1 : -1);
  const bool outside = to < 0 || to == axis.extent;
  const bool against = axis.way == (up ? Way::kDown : Way::kUp);
  if (axis.extent == 1 || against || (outside && !axis.wraps)) return -1;
  return from + (floor_mod(to, axis.extent) - at) * axis.stride;
}

}  // namespace tessera::fabric
