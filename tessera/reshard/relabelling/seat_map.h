// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/device_map.h"

namespace tessera::reshard {

/// The device map that puts coordinate v of mesh axis j at `coords[j][v]` of the physical axis
/// `axis_of[j]`, one for each axis of `physical`. The coordinates of an axis are all different.
///
/// The map is folded if every list is a single fold: an even step, also backwards or around the end
/// (a rotation), or two nested loops (blocks dealt out in turn). Otherwise it is a table.
/// Example: coords {2, 3, 0, 1} are (v + 2) mod 4.
/// Error kTooLarge for a table of more than 2^22 places.
Result<DeviceMap> map_of_axes(const Shape& mesh, const Shape& physical,
                              const std::vector<std::size_t>& axis_of,
                              const std::vector<std::vector<std::int64_t>>& coords);

/// The device map that puts place number v of the mesh on place number places[v] of `physical`: as
/// above if the axes can be separated, otherwise a table.
Result<DeviceMap> map_of_places(const Shape& mesh, const Shape& physical,
                                const std::vector<std::int64_t>& places);

/// Coordinates that agree with `coords` wherever `matters`, in even steps over `seats`, also around
/// the end where every seat is used. Returns `coords` if there are none. With this, idle places do
/// not prevent a fold.
/// Example: {2, 3, 1, 0} of which only the first two matter, on seats 0 to 3: {2, 3, 0, 1}.
std::vector<std::int64_t> evenly(const std::vector<std::int64_t>& coords,
                                 const std::vector<bool>& matters, std::vector<std::int64_t> seats);

}  // namespace tessera::reshard
