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
/// `storage` is the type of the elements in the buffer. Tiles of block floats are unpacked.
Status load(const device::Device& device, device::BufferId buffer, std::int64_t place,
            const std::vector<LocalBox>& boxes, DType storage, const Tile& tile);
/// The other way round: numbers of a tile become the elements of the boxes. Block floats are packed
/// in whole tiles, in which elements that no box has become 0: the boxes are all that the place
/// has.
Status store(device::Device& device, device::BufferId buffer, std::int64_t place,
             const std::vector<LocalBox>& boxes, DType storage, const Tile& tile);

/// The boxes inside `within`.
std::vector<LocalBox> clipped(const std::vector<LocalBox>& boxes, const Box& within);
/// The smallest box around all of them.
Box around(const std::vector<LocalBox>& boxes);

/// The loops of a box in slots, for the device.
std::vector<device::SlotLoop> loops_of(const LocalBox& box);

}  // namespace tessera::run
