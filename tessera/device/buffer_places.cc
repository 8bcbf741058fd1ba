// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/buffer_places.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/moves/endpoints.h"

namespace tessera::device {
namespace {

constexpr std::int64_t kMostLayered = std::int64_t{1} << 22;

Result<DeviceMap> map_of(const Placement& placement) {
  if (const Layout* layout = placement.layout()) return layout->spec().device_map;
  const Piecewise* pieces = placement.pieces();
  if (pieces == nullptr) return DeviceMap::identity();
  const DeviceMap& first = pieces->pieces().front().layout.spec().device_map;
  for (const LayoutPiece& piece : pieces->pieces()) {
    if (piece.layout.spec().device_map == first) continue;
    return Error{ErrorCode::kNotSupported, "pieces with device maps of their own share no memory",
                 std::nullopt, "use one device map for all pieces"};
  }
  return first;
}

bool has_layers(const DeviceMap& map) {
  if (map.kind() != DeviceMap::Kind::kFolded) return false;
  for (const Fold& fold : map.folds()) {
    for (const Cut& cut : fold.cuts) {
      if (cut.target.is_memory() && cut.count > 1) return true;
    }
  }
  return false;
}

}  // namespace

Result<reshard::PhysicalMesh> parts_of(const Machine& machine) {
  reshard::PhysicalMesh parts;
  TESSERA_TRY(parts.mesh, Shape::make({moves::EndpointNumbers(machine).count()}));
  parts.why_no_fabric = "parts of memories are only numbers";
  parts.dead = machine.dead_places();
  return parts;
}

Result<std::int64_t> bytes_of_parts(const moves::Stored& stored, const Machine& machine) {
  TESSERA_TRY(const std::size_t space, moves::memory_of(stored, machine));
  TESSERA_TRY(const Placement on_parts, moves::on_endpoints(stored, machine));
  TESSERA_TRY(const reshard::PhysicalMesh parts, parts_of(machine));
  TESSERA_TRY(const BufferPlaces places, BufferPlaces::make(on_parts, parts));
  const std::int64_t align = machine.memory[space].align_bytes;
  return (Checked(ceil_div(on_parts.shard_bytes(), align)) * align * places.layers())
      .value("the bytes of a buffer");
}

Result<BufferPlaces> BufferPlaces::make(const Placement& on_parts,
                                        const reshard::PhysicalMesh& parts) {
  TESSERA_TRY(const DeviceMap map, map_of(on_parts));
  TESSERA_TRY(reshard::PlaceMap places, reshard::PlaceMap::make(on_parts.mesh(), map, parts));
  BufferPlaces made(std::move(places));
  if (!has_layers(map)) return made;
  const Shape& mesh = on_parts.mesh();
  if (mesh.elements() > kMostLayered) {
    return Error{
        ErrorCode::kTooLarge,
        cat("a device map that stacks ", mesh.elements(), " places lists more than ", kMostLayered),
        std::nullopt, "use fewer places"};
  }
  made.layers_.reserve(static_cast<std::size_t>(mesh.elements()));
  const Form form = form_of(map, mesh);
  Place place(mesh.rank(), 0);
  Place physical;
  std::int64_t layer = 0;
  for (std::int64_t i = 0; i < mesh.elements(); ++i, mesh.next(place)) {
    form.evaluate(place, physical, layer);
    made.layers_.push_back(static_cast<std::int32_t>(layer));
    made.most_ = std::max(made.most_, layer + 1);
  }
  return made;
}

}  // namespace tessera::device
