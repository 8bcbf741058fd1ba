// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/fabric/networks/parts.h"
#include "tessera/target/machine.h"

namespace tessera::fabric {

/// kNotSupported: the description of a machine lacks something that routes or costs need.
Error not_described(const Machine& machine, std::string_view what);

/// The row-major number of a router or place.
std::int64_t row_major(const std::vector<std::int64_t>& extents, const std::int64_t* coordinates);

/// OuterLevel::gateways of one level, once those of the levels further in are known. kNotSupported
/// if the machine does not say where links that routes take meet the routers of a device.
Result<std::vector<DeviceRouter>> gateways_of(const Machine& machine, std::size_t level,
                                              const Topology::Parts& parts);

}  // namespace tessera::fabric
