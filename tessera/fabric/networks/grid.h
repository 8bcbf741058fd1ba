// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/target/machine.h"

namespace tessera::fabric {

/// The way from one coordinate of an axis to another.
struct AxisSteps {
  std::int64_t count = 0;
  bool up = true;
};

/// One axis of a grid: routers 0 .. extent - 1, and how routes go along them.
struct GridAxis {
  std::int64_t extent = 1;
  std::int64_t stride = 1;  ///< of the row-major number of a router
  target::Way way = target::Way::kBoth;
  bool wraps = false;  ///< the ends are connected

  /// Example: on a torus axis of 8, 6 → 1 is 3 steps up; only down, it is 5 steps.
  AxisSteps steps(std::int64_t from, std::int64_t to) const {
    const std::int64_t difference = to - from;
    if (!wraps) return {difference < 0 ? -difference : difference, difference > 0};
    const std::int64_t up = difference < 0 ? difference + extent : difference;
    const std::int64_t down = up == 0 ? 0 : extent - up;
    if (way == target::Way::kUp) return {up, true};
    if (way == target::Way::kDown) return {down, false};
    return up <= down ? AxisSteps{up, true} : AxisSteps{down, false};
  }
};

/// One step of a route.
struct GridStep {
  std::int64_t next = 0;  ///< the router that it reaches
  std::int64_t slot = 0;  ///< the number of the link among those of the grid
  std::int64_t axis = 0;
  bool up = true;
};

/// The routers of one level, connected by one network, with deterministic routes.
///
/// Links are numbered (router · axes + axis) · 2 + (0 up, 1 down); between all routers, from ·
/// routers + to. Some numbers belong to no link: those that would leave a mesh, or go against a
/// one-way axis.
struct Grid {
  bool all_to_all = false;
  std::vector<GridAxis> axes;      ///< of a ring: one; between all: none
  std::vector<std::size_t> order;  ///< in which routes take them
  std::int64_t routers = 1;

  /// `network` of a level with these routers; its kind is not kNoc.
  static Grid of(const target::Network& network, const std::vector<std::int64_t>& extents);

  std::int64_t links() const {
    if (all_to_all) return routers * routers;
    return routers * static_cast<std::int64_t>(axes.size()) * 2;
  }
  std::int64_t coordinate(const GridAxis& axis, std::int64_t router) const {
    return router / axis.stride % axis.extent;
  }
  /// The links of the route between two routers.
  std::int64_t distance(std::int64_t from, std::int64_t to) const {
    if (all_to_all) return from == to ? 0 : 1;
    std::int64_t steps = 0;
    for (const GridAxis& axis : axes) {
      steps += axis.steps(coordinate(axis, from), coordinate(axis, to)).count;
    }
    return steps;
  }
  /// The first step of the route between two different routers.
  GridStep step(std::int64_t from, std::int64_t to) const;
  /// The router at the other end of a link, or -1 where there is none.
  std::int64_t end_of(std::int64_t slot) const;
};

}  // namespace tessera::fabric
