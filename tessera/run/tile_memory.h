// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/device/device.h"
#include "tessera/run/kernels/kernel.h"
#include "tessera/run/local_boxes.h"

namespace tessera::run {

/// Copies the boxes of a place into a tile that contains them, as numbers of the compute type.
Status load(const device::Device& device, device::BufferId buffer, std::int64_t place,
            const std::vector<LocalBox>& boxes, DType dtype, const Tile& tile);
/// The other way round: numbers of a tile become the elements of the boxes.
Status store(device::Device& device, device::BufferId buffer, std::int64_t place,
             const std::vector<LocalBox>& boxes, DType dtype, const Tile& tile);

/// The boxes inside `within`.
std::vector<LocalBox> clipped(const std::vector<LocalBox>& boxes, const Box& within);
/// The smallest box around all of them.
Box around(const std::vector<LocalBox>& boxes);

/// The loops of a box in slots, for the device.
std::vector<device::SlotLoop> loops_of(const LocalBox& box);

}  // namespace tessera::run
