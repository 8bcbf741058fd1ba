// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/tile_memory.h"

#include <algorithm>
#include <cstring>

#include "tessera/run/elements.h"

namespace tessera::run {
namespace {

/// Copies the elements of a box between a tile and an array of them in row-major order.
void copy_box(const Tile& tile, const Box& box, std::int64_t bytes, std::byte* packed,
              bool to_tile) {
  const std::size_t rank = box.from.size();
  const std::int64_t row = rank == 0 ? 1 : box.to[rank - 1] - box.from[rank - 1];
  const std::int64_t step = rank == 0 ? 1 : tile.strides[rank - 1];
  Index x = box.from;
  while (true) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < rank; ++d) at += (x[d] - tile.box.from[d]) * tile.strides[d];
    std::byte* element = tile.data + at * bytes;
    if (step == 1) {
      const auto size = static_cast<std::size_t>(row * bytes);
      std::memcpy(to_tile ? element : packed, to_tile ? packed : element, size);
      packed += row * bytes;
    } else {
      for (std::int64_t n = 0; n < row; ++n, packed += bytes, element += step * bytes) {
        std::memcpy(to_tile ? element : packed, to_tile ? packed : element,
                    static_cast<std::size_t>(bytes));
      }
    }
    std::size_t d = rank == 0 ? 0 : rank - 1;
    while (d > 0 && ++x[d - 1] == box.to[d - 1]) {
      --d;
      x[d] = box.from[d];
    }
    if (d == 0) return;
  }
}

std::size_t bytes_of(DType dtype, std::int64_t elements) {
  return static_cast<std::size_t>(dtype_bytes(dtype, elements).value_or(0));
}

}  // namespace

std::vector<device::SlotLoop> loops_of(const LocalBox& box) {
  std::vector<device::SlotLoop> loops;
  for (std::size_t d = 0; d < box.steps.size(); ++d) {
    const std::int64_t extent = box.box.to[d] - box.box.from[d];
    if (extent != 1) loops.push_back({extent, box.steps[d]});
  }
  return loops;
}

Status load(const device::Device& device, device::BufferId buffer, std::int64_t place,
            const std::vector<LocalBox>& boxes, DType dtype, const Tile& tile) {
  std::vector<std::byte> packed;
  std::vector<std::byte> numbers;
  const std::int64_t wide = compute_bytes(compute_type(dtype));
  for (const LocalBox& box : boxes) {
    const std::int64_t count = box.box.elements();
    if (count == 0) continue;
    packed.resize(bytes_of(dtype, count));
    numbers.resize(static_cast<std::size_t>(count * wide));
    const std::vector<device::SlotLoop> loops = loops_of(box);
    TESSERA_CHECK_OK(device.read(buffer, place, {box.first, loops}, packed));
    TESSERA_CHECK_OK(to_compute(packed, dtype, numbers.data(), count));
    copy_box(tile, box.box, wide, numbers.data(), true);
  }
  return ok_status();
}

Status store(device::Device& device, device::BufferId buffer, std::int64_t place,
             const std::vector<LocalBox>& boxes, DType dtype, const Tile& tile) {
  std::vector<std::byte> packed;
  std::vector<std::byte> numbers;
  const std::int64_t wide = compute_bytes(compute_type(dtype));
  for (const LocalBox& box : boxes) {
    const std::int64_t count = box.box.elements();
    if (count == 0) continue;
    packed.resize(bytes_of(dtype, count));
    numbers.resize(static_cast<std::size_t>(count * wide));
    copy_box(tile, box.box, wide, numbers.data(), false);
    TESSERA_CHECK_OK(from_compute(numbers.data(), dtype, packed, count));
    const std::vector<device::SlotLoop> loops = loops_of(box);
    TESSERA_CHECK_OK(device.write(buffer, place, {box.first, loops}, packed));
  }
  return ok_status();
}

std::vector<LocalBox> clipped(const std::vector<LocalBox>& boxes, const Box& within) {
  std::vector<LocalBox> inside;
  for (const LocalBox& box : boxes) {
    const std::optional<Box> both = meet(box.box, within);
    if (!both) continue;
    LocalBox part = box;
    for (std::size_t d = 0; d < part.steps.size(); ++d) {
      part.first += (both->from[d] - box.box.from[d]) * box.steps[d];
    }
    part.box = *both;
    inside.push_back(std::move(part));
  }
  return inside;
}

Box around(const std::vector<LocalBox>& boxes) {
  Box all = boxes.front().box;
  for (const LocalBox& box : boxes) {
    for (std::size_t d = 0; d < all.from.size(); ++d) {
      all.from[d] = std::min(all.from[d], box.box.from[d]);
      all.to[d] = std::max(all.to[d], box.box.to[d]);
    }
  }
  return all;
}

}  // namespace tessera::run
