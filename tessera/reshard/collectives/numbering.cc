// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/collectives/numbering.h"

#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/reshard/flows/walk.h"

namespace tessera::reshard {
namespace {

constexpr std::int64_t kMaxCellPlaces = std::int64_t{1} << 21;

/// A mesh whose places are `devices`, in that order.
NumberedMesh mesh_of(Shape mesh, Values devices, const PhysicalMesh& physical) {
  NumberedMesh result;
  result.mesh = std::move(mesh);
  result.inverse.assign(static_cast<std::size_t>(physical.mesh.elements()), -1);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    result.inverse[static_cast<std::size_t>(devices[i])] = static_cast<std::int64_t>(i);
  }
  result.devices = std::make_shared<const Values>(std::move(devices));
  return result;
}

/// All physical places that hold elements, ascending.
Values used_places(const std::vector<PartFacts>& parts, const PhysicalMesh& physical) {
  std::vector<bool> used(static_cast<std::size_t>(physical.mesh.elements()), false);
  const auto mark = [&](const SideFacts& side, std::int64_t first) {
    const auto number = [&](std::int64_t place) { return side.map.physical(place); };
    for (const Values& share : share_places(side, first, number)) {
      for (const std::int64_t place : share) used[static_cast<std::size_t>(place)] = true;
    }
  };
  for (const PartFacts& part : parts) {
    for_each_choice(part.flows, [&](const PairAt& pair) {
      mark(part.a, pair.source.place);
      mark(part.b, pair.destination.place);
      return true;
    });
  }
  Values places;
  for (std::size_t p = 0; p < used.size(); ++p) {
    if (used[p]) places.push_back(static_cast<std::int64_t>(p));
  }
  return places;
}

}  // namespace

SideNumbers NumberedMesh::of(const SideFacts& side) const {
  const bool own = owner && *owner == side.map;
  return {side, own || inverse.empty() ? nullptr : &inverse, own};
}

Status check_listing(const std::vector<PartFacts>& parts) {
  Checked places = 0;
  for (const PartFacts& part : parts) {
    places +=
        Checked(part.flows.choices()) * (Checked(part.a.place_count()) + part.b.place_count());
  }
  if (places.saturated() <= kMaxCellPlaces) return ok_status();
  return Error{ErrorCode::kTooLarge,
               cat("finding collectives lists more than ", kMaxCellPlaces, " places"), std::nullopt,
               "use placements of one piece without a table of devices"};
}

Result<std::optional<NumberedMesh>> numbered_mesh(const std::vector<PartFacts>& parts,
                                                  const PhysicalMesh& physical,
                                                  Numbering numbering) {
  std::optional<NumberedMesh> result;
  if (numbering == Numbering::kPhysical) return result = NumberedMesh{physical.mesh, {}, {}, {}};
  if (numbering == Numbering::kUsedPlaces) {
    TESSERA_CHECK_OK(check_listing(parts));
    Values places = used_places(parts, physical);
    TESSERA_TRY(Shape mesh, Shape::make({static_cast<std::int64_t>(places.size())}));
    return result = mesh_of(std::move(mesh), std::move(places), physical);
  }
  const SideFacts& owner = numbering == Numbering::kMeshOfB ? parts.front().b : parts.front().a;
  if (!owner.apart || owner.map.mesh().elements() > kMaxCellPlaces) return result;
  Values devices;
  for (std::int64_t place = 0; place < owner.map.mesh().elements(); ++place) {
    devices.push_back(owner.map.physical(place));
  }
  result = mesh_of(owner.map.mesh(), std::move(devices), physical);
  result->owner = owner.map;
  return result;
}

}  // namespace tessera::reshard
