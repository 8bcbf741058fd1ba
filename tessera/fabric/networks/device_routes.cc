// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/networks/device_routes.h"

#include <algorithm>

#include "tessera/base/checked.h"
#include "tessera/fabric/networks/parts.h"

namespace tessera::fabric {
namespace {

/// Stands for the messages that take these of the parallel links.
struct ChosenLinks {
  const std::vector<std::int64_t>& parallel;
  std::int64_t combination = 0;

  std::int64_t link(std::int64_t count) const {
    std::int64_t rest = combination;
    for (std::size_t i = parallel.size(); i-- > 0;) {
      if (parallel[i] == count) return rest % count;
      rest /= parallel[i];
    }
    return 0;
  }
};

DeviceRoute walked(const Topology::Parts& parts, const ChosenLinks& chosen, std::int64_t from,
                   std::int64_t to) {
  DeviceRoute route;
  const DeviceRouter first{static_cast<std::int32_t>(from), 0};
  const DeviceRouter last{static_cast<std::int32_t>(to), 0};
  walk_route(
      parts, chosen, first, last,
      [&](std::int64_t device, std::int64_t a, std::int64_t b) {
        route.inside.push_back({device, a, b});
      },
      [&](const OuterLevel& level, std::int64_t link) {
        const auto number = static_cast<std::size_t>(&level - parts.outer.data());
        route.links.push_back({link, number});
        route.link_hop_cycles += level.link.hop_cycles;
        std::vector<std::size_t>& levels = route.levels;
        if (std::find(levels.begin(), levels.end(), number) == levels.end()) {
          levels.push_back(number);
        }
      });
  // The first and the last part depend on the ends.
  route.first_gateway = route.inside.front().to;
  route.last_gateway = route.inside.back().from;
  route.inside.pop_back();
  route.inside.erase(route.inside.begin());
  for (const InnerNetwork& inner : parts.inner) {
    std::int64_t steps = 0;
    for (const DeviceRoute::Inside& part : route.inside) {
      steps += inner.distance(part.from, part.to);
    }
    route.steps.push_back(steps);
  }
  return route;
}

}  // namespace

DeviceRoutes DeviceRoutes::of(const Topology::Parts& parts) {
  constexpr std::int64_t kMostRoutes = std::int64_t{1} << 12;
  DeviceRoutes table;
  if (parts.devices == 1) return table;
  Checked count = Checked(parts.devices) * parts.devices;
  for (const OuterLevel& level : parts.outer) {
    std::vector<std::int64_t>& known = table.parallel_;
    if (level.parallel == 1 ||
        std::find(known.begin(), known.end(), level.parallel) != known.end()) {
      continue;
    }
    known.push_back(level.parallel);
    count *= level.parallel;
  }
  if (count.saturated() > kMostRoutes) return table;
  table.devices_ = parts.devices;
  table.combinations_ = count.raw() / (parts.devices * parts.devices);
  table.routes_.resize(static_cast<std::size_t>(count.raw()));
  std::size_t number = 0;
  for (std::int64_t from = 0; from < parts.devices; ++from) {
    for (std::int64_t to = 0; to < parts.devices; ++to) {
      for (std::int64_t c = 0; c < table.combinations_; ++c, ++number) {
        if (from != to) table.routes_[number] = walked(parts, {table.parallel_, c}, from, to);
      }
    }
  }
  return table;
}

}  // namespace tessera::fabric
