// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/layout/layout.h"

/// Meshes whose places are numbered: what comparisons on a device (on_device.cc) and changes of the
/// mesh (numbered_places.cc) share.
namespace tessera {

inline constexpr std::int64_t kMostDeviceSteps = std::int64_t{1} << 22;
inline constexpr std::int64_t kWorkPerDeviceStep = 16;  ///< looking up a pair of places
Error too_many_device_steps();

inline bool is_mapped(const DeviceMap& map) { return map.kind() != DeviceMap::Kind::kIdentity; }
inline const Shape& device_mesh(const Form& form, const DeviceMap& map) {
  return is_mapped(map) ? map.physical() : form.mesh;
}

/// A linear map: the number of a physical place is first + Σ weight·coordinate.
struct Weights {
  std::int64_t first = 0;
  std::vector<std::int64_t> of_axis;
};

/// The map of a device into `device`, if it is linear with positive weights and stacks no places.
std::optional<Weights> weights_of(const Form& form, const DeviceMap& map, const Shape& device);

/// The form on a mesh of `places` numbered places.
Result<Form> numbered_form(const Form& form, const Weights& weights, std::int64_t places);

}  // namespace tessera
