// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/tile_memory.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <span>

#include "tessera/relayout/casts/cast.h"
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

/// Room for the elements of a box, one after the other.
struct Elements {
  std::int64_t count = 0;
  std::int64_t wide = 0;            ///< bytes of one in `computed`
  std::vector<std::byte> stored;    ///< in the type of the tensor
  std::vector<std::byte> computed;  ///< in its compute type
};

/// Calls act(box, elements) for every box that is not empty, with room for its elements. The first
/// error ends it.
template <class Act>
Status for_each_box(const std::vector<LocalBox>& boxes, DType dtype, const Act& act) {
  Elements elements;
  elements.wide = compute_bytes(compute_type(dtype));
  for (const LocalBox& box : boxes) {
    elements.count = box.box.elements();
    if (elements.count == 0) continue;
    const std::int64_t stored = dtype_bytes(dtype, elements.count).value_or(0);
    elements.stored.resize(static_cast<std::size_t>(stored));
    elements.computed.resize(static_cast<std::size_t>(elements.count * elements.wide));
    TESSERA_CHECK_OK(act(box, elements));
  }
  return ok_status();
}

constexpr std::int64_t kBlockTile = 1024;  // slots of a tile of block floats

/// The numbers of one tile of block floats, by slot.
using BlockTile = std::array<float, kBlockTile>;

/// Calls visit(slot, number in the tile) for every element of the boxes.
template <class Visit>
Status for_each_element(const std::vector<LocalBox>& boxes, const Tile& tile, const Visit& visit) {
  for (const LocalBox& box : boxes) {
    if (box.box.elements() == 0) continue;
    const std::size_t rank = box.box.from.size();
    Index x = box.box.from;
    for (bool more = true; more;) {
      std::int64_t slot = box.first;
      std::int64_t at = 0;
      for (std::size_t d = 0; d < rank; ++d) {
        slot += (x[d] - box.box.from[d]) * box.steps[d];
        at += (x[d] - tile.box.from[d]) * tile.strides[d];
      }
      TESSERA_CHECK_OK(visit(slot, tile.data + at * std::int64_t{sizeof(float)}));
      std::size_t d = rank;
      while (d > 0 && ++x[d - 1] == box.box.to[d - 1]) {
        --d;
        x[d] = box.box.from[d];
      }
      more = d > 0;
    }
  }
  return ok_status();
}

std::vector<std::byte> packed_tile(DType storage) {
  return std::vector<std::byte>(static_cast<std::size_t>(tile_bytes_32x32(storage)));
}

Status load_blocks(const device::Device& device, device::BufferId buffer, std::int64_t place,
                   const std::vector<LocalBox>& boxes, DType storage, const Tile& tile) {
  TESSERA_TRY(const relayout::Cast unpack,
              relayout::Cast::make(storage, DType::kF32, relayout::Rounding::kSaturate));
  std::vector<std::byte> packed = packed_tile(storage);
  std::map<std::int64_t, BlockTile> tiles;
  const auto tile_at = [&](std::int64_t number) -> Result<const BlockTile*> {
    const auto [found, is_new] = tiles.try_emplace(number);
    if (is_new) {
      const device::SlotLoop all{kBlockTile, 1};
      TESSERA_CHECK_OK(device.read(buffer, place, {number * kBlockTile, {&all, 1}}, packed));
      (void)unpack.run(packed.data(), 0, reinterpret_cast<std::byte*>(found->second.data()), 0,
                       kBlockTile);
    }
    return &found->second;
  };
  const BlockTile* now = nullptr;
  std::int64_t number = -1;
  return for_each_element(boxes, tile, [&](std::int64_t slot, std::byte* to) -> Status {
    if (now == nullptr || slot / kBlockTile != number) {
      number = slot / kBlockTile;
      TESSERA_TRY(now, tile_at(number));
    }
    const float element = (*now)[static_cast<std::size_t>(slot % kBlockTile)];
    std::memcpy(to, &element, sizeof element);
    return ok_status();
  });
}

Status store_blocks(device::Device& device, device::BufferId buffer, std::int64_t place,
                    const std::vector<LocalBox>& boxes, DType storage, const Tile& tile) {
  TESSERA_TRY(const relayout::Cast pack,
              relayout::Cast::make(DType::kF32, storage, relayout::Rounding::kSaturate));
  std::map<std::int64_t, BlockTile> tiles;
  BlockTile* now = nullptr;
  std::int64_t number = -1;
  TESSERA_CHECK_OK(
      for_each_element(boxes, tile, [&](std::int64_t slot, const std::byte* from) -> Status {
        if (now == nullptr || slot / kBlockTile != number) {
          number = slot / kBlockTile;
          const auto [found, is_new] = tiles.try_emplace(number);
          if (is_new) found->second.fill(0);
          now = &found->second;
        }
        std::memcpy(&(*now)[static_cast<std::size_t>(slot % kBlockTile)], from, sizeof(float));
        return ok_status();
      }));
  std::vector<std::byte> packed = packed_tile(storage);
  for (const auto& [at, numbers] : tiles) {
    (void)pack.run(reinterpret_cast<const std::byte*>(numbers.data()), 0, packed.data(), 0,
                   kBlockTile);
    const device::SlotLoop all{kBlockTile, 1};
    TESSERA_CHECK_OK(device.write(buffer, place, {at * kBlockTile, {&all, 1}}, packed));
  }
  return ok_status();
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
            const std::vector<LocalBox>& boxes, DType storage, const Tile& tile) {
  if (is_block_float(storage)) return load_blocks(device, buffer, place, boxes, storage, tile);
  return for_each_box(boxes, storage, [&](const LocalBox& box, Elements& elements) -> Status {
    const std::vector<device::SlotLoop> loops = loops_of(box);
    TESSERA_CHECK_OK(device.read(buffer, place, {box.first, loops}, elements.stored));
    TESSERA_CHECK_OK(
        to_compute(elements.stored, storage, elements.computed.data(), elements.count));
    copy_box(tile, box.box, elements.wide, elements.computed.data(), true);
    return ok_status();
  });
}

Status store(device::Device& device, device::BufferId buffer, std::int64_t place,
             const std::vector<LocalBox>& boxes, DType storage, const Tile& tile) {
  if (is_block_float(storage)) return store_blocks(device, buffer, place, boxes, storage, tile);
  return for_each_box(boxes, storage, [&](const LocalBox& box, Elements& elements) -> Status {
    copy_box(tile, box.box, elements.wide, elements.computed.data(), false);
    TESSERA_CHECK_OK(
        from_compute(elements.computed.data(), storage, elements.stored, elements.count));
    const std::vector<device::SlotLoop> loops = loops_of(box);
    return device.write(buffer, place, {box.first, loops}, elements.stored);
  });
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
