// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/fabric/topology.h"

namespace tessera::fabric {

/// The endpoints of a message, which decide between parallel links on its way and on the way back.
struct EndPair {
  std::int64_t from = 0;
  std::int64_t to = 0;

  std::int64_t link(std::int64_t parallel) const {
    if (parallel == 1) return 0;
    std::int64_t sum = from;
    for (std::int64_t rest = to / parallel; rest > 0; rest /= parallel) sum += rest % parallel;
    return sum % parallel;
  }
};

/// The part of a route between two devices that does not depend on its ends inside them: from a
/// gateway of the first device to one of the last.
struct DeviceRoute {
  std::int64_t first_gateway = 0;  ///< a router of the first device
  std::int64_t last_gateway = 0;   ///< of the last device
  /// What it passes inside devices on the way.
  struct Inside {
    std::int64_t device = 0;
    std::int64_t from = 0;
    std::int64_t to = 0;
  };
  std::vector<Inside> inside;
  struct Link {
    std::int64_t number = 0;
    std::size_t level = 0;  ///< in Parts::outer
  };
  std::vector<Link> links;          ///< between devices
  std::vector<std::size_t> levels;  ///< of `links`, each once
  double link_hop_cycles = 0;       ///< Σ over `links`
  std::vector<std::int64_t> steps;  ///< Σ over `inside`, for each network
};

/// The routes between all devices, for each combination of parallel links: found once, for all
/// messages.
class DeviceRoutes {
 public:
  DeviceRoutes() = default;
  /// None for a single device, and for so many that the table would be large.
  static DeviceRoutes of(const Topology::Parts& parts);

  bool present() const { return !routes_.empty(); }
  std::size_t count() const { return routes_.size(); }
  /// The number of the route of a message; the devices differ.
  std::size_t number(EndPair pair, std::int64_t from, std::int64_t to) const {
    std::int64_t combination = 0;
    for (const std::int64_t parallel : parallel_) {
      combination = combination * parallel + pair.link(parallel);
    }
    return static_cast<std::size_t>((from * devices_ + to) * combinations_ + combination);
  }
  const DeviceRoute& operator[](std::size_t number) const { return routes_[number]; }

 private:
  std::int64_t devices_ = 1;
  std::int64_t combinations_ = 1;
  std::vector<std::int64_t> parallel_;  ///< numbers of parallel links of levels, each once
  std::vector<DeviceRoute> routes_;     ///< empty between a device and itself
};

}  // namespace tessera::fabric
