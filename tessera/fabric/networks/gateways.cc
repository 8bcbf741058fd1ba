// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/networks/gateways.h"

#include <algorithm>
#include <string>

#include "tessera/base/text.h"

namespace tessera::fabric {
namespace {

using target::Gateway;
using target::MeshLevel;
using target::Way;

class Gateways {
 public:
  Gateways(const Machine& machine, std::size_t number, const Topology::Parts& parts)
      : machine_(machine),
        level_(machine.mesh[number]),
        outer_(parts.outer[number]),
        next_(number + 1 < parts.outer.size() ? &parts.outer[number + 1] : nullptr),
        next_extents_(machine.mesh[number + 1].router_extents()) {}

  Result<std::vector<DeviceRouter>> find() const {
    const std::size_t axes = outer_.grid.all_to_all ? 1 : outer_.grid.axes.size();
    std::vector<DeviceRouter> gateways(axes * 2 * static_cast<std::size_t>(outer_.parallel));
    for (std::size_t slot = 0; slot < gateways.size(); ++slot) {
      const std::size_t direction = slot / static_cast<std::size_t>(outer_.parallel);
      const std::size_t axis = axis_of(direction / 2);
      Result<DeviceRouter> found = router_of(axis, direction % 2 == 0 ? Way::kUp : Way::kDown,
                                             slot % static_cast<std::size_t>(outer_.parallel));
      if (!found && level_needs(direction / 2)) return found.error();
      gateways[slot] = found ? *found : kUnknown;
    }
    return gateways;
  }

 private:
  static constexpr DeviceRouter kUnknown{-1, -1};

  /// The axis whose gateways describe axis `number` of the grid.
  std::size_t axis_of(std::size_t number) const {
    if (!outer_.grid.all_to_all) return number;
    while (level_.extents[number] == 1) ++number;
    return number;
  }
  /// Whether routes take links along axis `number` of the grid.
  bool level_needs(std::size_t number) const {
    return outer_.grid.all_to_all || outer_.grid.axes[number].extent > 1;
  }

  Result<DeviceRouter> router_of(std::size_t axis, Way way, std::size_t link) const {
    const auto found =
        std::find_if(level_.gateways.begin(), level_.gateways.end(), [&](const Gateway& gateway) {
          return gateway.axis == static_cast<std::int64_t>(axis) && gateway.way == way;
        });
    const std::string where = cat("link ", link, " of ", outer_.name, " ", target::way_name(way),
                                  " axis ", axis, " meets the routers of a device");
    if (found == level_.gateways.end() || link >= found->routers.size()) {
      return not_described(machine_, cat("where ", where));
    }
    const std::int64_t router = row_major(next_extents_, found->routers[link].data());
    if (next_ == nullptr) return DeviceRouter{0, static_cast<std::int32_t>(router)};
    // A place of the next level, which the link enters as that level's links of the same direction.
    const std::size_t axes = next_->gateways.size() / static_cast<std::size_t>(next_->parallel * 2);
    const DeviceRouter inner =
        axes == 0 ? kUnknown
                  : next_->gateway(static_cast<std::int64_t>(axis % axes), way == Way::kUp,
                                   static_cast<std::int64_t>(link) % next_->parallel);
    if (inner == kUnknown) return not_described(machine_, cat("at which router ", where));
    return DeviceRouter{static_cast<std::int32_t>(router * next_->inner_devices + inner.device),
                        inner.router};
  }

  const Machine& machine_;
  const MeshLevel& level_;
  const OuterLevel& outer_;
  const OuterLevel* next_;  ///< null for the level of devices
  const std::vector<std::int64_t>& next_extents_;
};

}  // namespace

Error not_described(const Machine& machine, std::string_view what) {
  return Error{ErrorCode::kNotSupported,
               cat("the description of ", machine.name, " does not say ", what), std::nullopt,
               "describe routes, widths and latencies of the networks in the target file"};
}

std::int64_t row_major(const std::vector<std::int64_t>& extents, const std::int64_t* coordinates) {
  std::int64_t number = 0;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    number = number * extents[axis] + coordinates[axis];
  }
  return number;
}

Result<std::vector<DeviceRouter>> gateways_of(const Machine& machine, std::size_t level,
                                              const Topology::Parts& parts) {
  return Gateways(machine, level, parts).find();
}

}  // namespace tessera::fabric
