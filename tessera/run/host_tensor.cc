// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/host_tensor.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/layout/regions.h"
#include "tessera/run/elements.h"
#include "tessera/run/held_boxes.h"
#include "tessera/run/kernels/kernel.h"
#include "tessera/run/shares.h"
#include "tessera/run/tile_memory.h"

namespace tessera::run {

Status check_tensor(const HostTensor& tensor, const graph::TensorType& wanted) {
  if (!(tensor.type.shape == wanted.shape)) {
    return Error{ErrorCode::kShapeMismatch,
                 cat("expected ", wanted.to_string(), ", found ", tensor.type.to_string())};
  }
  if (tensor.type.dtype != wanted.dtype) {
    return Error{ErrorCode::kBadDType,
                 cat("expected ", wanted.to_string(), ", found ", tensor.type.to_string())};
  }
  const auto bytes = static_cast<std::int64_t>(tensor.bytes.size());
  if (bytes == wanted.bytes()) return ok_status();
  return Error{ErrorCode::kContradiction,
               cat(wanted.to_string(), " has ", wanted.bytes(), " bytes, found ", bytes)};
}

Result<std::vector<std::int64_t>> places_of(const Layout& layout) {
  TESSERA_TRY(const std::vector<PlaceClass> classes, place_classes(layout));
  std::vector<std::int64_t> numbers;
  for (const PlaceClass& each : classes) {
    if (each.elements == 0) continue;
    for (const PlaceSet& set : each.sets) {
      for (const Place& place : set.places()) numbers.push_back(layout.mesh().linear(place));
    }
  }
  std::ranges::sort(numbers);
  return numbers;
}

namespace {

/// All elements of a tensor as a tile of numbers.
struct WholeTile {
  std::vector<std::byte> memory;
  Tile tile;
};

WholeTile whole_tile(const graph::TensorType& type) {
  WholeTile whole;
  const std::int64_t bytes = type.shape.elements() * compute_bytes(compute_type(type.dtype));
  whole.memory.resize(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)));
  whole.tile = {whole.memory.data(), Box::whole(type.shape), type.shape.row_major_strides()};
  return whole;
}

/// Where the device has a buffer of this layout: with a place for each page, where pages are
/// interleaved over banks.
Layout as_placed(const device::Device& device, device::BufferId buffer, const Layout& layout) {
  const std::shared_ptr<const device::BufferFacts> facts = device.find(buffer);
  const Layout* const placed = facts ? facts->placement.layout() : nullptr;
  return placed != nullptr ? *placed : layout;
}

Status write_places(device::Device& device, device::BufferId buffer, const Layout& layout,
                    const Tile& tile) {
  TESSERA_TRY(const std::vector<std::int64_t> places, places_of(layout));
  const HeldBoxes held(layout);
  for (const std::int64_t number : places) {
    TESSERA_TRY(const std::vector<LocalBox> boxes, held.at(layout.mesh().delinear(number)));
    TESSERA_CHECK_OK(store(device, buffer, number, boxes, layout.atom().storage, tile));
  }
  return ok_status();
}

}  // namespace

Status write_tensor(device::Device& device, device::BufferId buffer, const Layout& layout,
                    const HostTensor& tensor) {
  if (tensor.type.shape.empty()) return ok_status();
  const Layout placed = as_placed(device, buffer, layout);
  WholeTile whole = whole_tile(tensor.type);
  const std::int64_t count = tensor.type.shape.elements();
  const std::vector<ops::PartialAxis> partial = ops::partial_axes(placed);
  if (!partial.empty()) {
    fill_compute(whole.tile.data, tensor.type.dtype, count, neutral_of(partial[0].reduction));
    TESSERA_CHECK_OK(write_places(device, buffer, placed, whole.tile));
  }
  TESSERA_CHECK_OK(to_compute(std::as_bytes(std::span(tensor.bytes)), tensor.type.dtype,
                              whole.tile.data, count));
  if (partial.empty()) return write_places(device, buffer, placed, whole.tile);
  TESSERA_TRY(const std::vector<Layout> shares, shares_of(placed));
  return write_places(device, buffer, shares.front(), whole.tile);
}

Result<HostTensor> read_tensor(const device::Device& device, device::BufferId buffer,
                               const Layout& layout) {
  HostTensor tensor{{layout.shape(), layout.dtype()}, {}};
  tensor.bytes.resize(static_cast<std::size_t>(tensor.type.bytes()));
  if (tensor.type.shape.empty()) return tensor;
  const Layout placed = as_placed(device, buffer, layout);
  const std::int64_t count = tensor.type.shape.elements();
  const std::vector<ops::PartialAxis> partial = ops::partial_axes(placed);
  TESSERA_TRY(const std::vector<Layout> shares, shares_of(placed));
  WholeTile sum = whole_tile(tensor.type);
  WholeTile share = whole_tile(tensor.type);
  for (std::size_t s = 0; s < shares.size(); ++s) {
    Tile& to = s == 0 ? sum.tile : share.tile;
    TESSERA_TRY(const Layout one, without_replicas(shares[s]));
    TESSERA_TRY(const std::vector<std::int64_t> places, places_of(one));
    const HeldBoxes held(one);
    for (const std::int64_t number : places) {
      TESSERA_TRY(const std::vector<LocalBox> boxes, held.at(one.mesh().delinear(number)));
      TESSERA_CHECK_OK(load(device, buffer, number, boxes, layout.atom().storage, to));
    }
    if (s > 0) {
      combine_compute(sum.tile.data, share.tile.data, layout.dtype(), count, partial[0].reduction);
    }
  }
  TESSERA_CHECK_OK(from_compute(sum.tile.data, tensor.type.dtype,
                                std::as_writable_bytes(std::span(tensor.bytes)), count));
  return tensor;
}

}  // namespace tessera::run
