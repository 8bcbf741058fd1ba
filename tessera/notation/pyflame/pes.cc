// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/pyflame/raise.h"

namespace tessera::notation {
namespace {

constexpr std::int64_t kMaxList = std::int64_t{1} << 20;

/// A folded device map as a form: physical places, and the layer as slot.
Form as_form(const DeviceMap& map, const Shape& mesh) {
  Form form;
  form.shape = mesh;
  form.mesh = map.physical();
  form.folds = map.folds();
  for (std::size_t axis = 0; axis < map.origin().size(); ++axis) {
    form.fills.push_back(Fill::fixed(static_cast<int>(axis), map.origin()[axis]));
  }
  return form;
}

/// The map that moves the whole mesh so that its first place is on `first`, on a wafer that ends
/// with the mesh.
Result<DeviceMap> moved_as_a_whole(const Shape& mesh, const Place& first) {
  std::vector<std::int64_t> wafer = first;
  std::vector<Fold> folds;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    // A mesh of one place may have any rank: nothing moves along a missing axis.
    const std::int64_t places = mesh.rank() == 2 ? mesh[axis] : 1;
    wafer[axis] = (Checked(first[axis]) + places).saturated();
    if (places == 1) continue;
    folds.push_back({{{static_cast<int>(axis), 1}},
                     0,
                     {Cut{1, places, Target::mesh(static_cast<int>(axis)), 1, Cause::kGrid}}});
  }
  TESSERA_TRY(Shape physical, Shape::make(std::move(wafer)));
  return DeviceMap::folded(std::move(physical), std::move(folds), first);
}

/// Whether a folded map is this move on every place.
Result<bool> is_move(const DeviceMap& map, const Shape& mesh, const Place& first) {
  for (std::size_t axis = 0; axis < mesh.rank() && mesh.rank() == 2; ++axis) {
    if (mesh[axis] > map.physical()[axis] - first[axis]) return false;  // runs off the wafer
  }
  TESSERA_TRY(const DeviceMap move, moved_as_a_whole(mesh, first));
  TESSERA_TRY(const Comparison comparison, same_function(as_form(map, mesh), as_form(move, mesh)));
  return comparison.equal;
}

bool is_move(const std::vector<Place>& places, const Shape& mesh, const Place& first) {
  const std::int64_t cols = mesh.rank() == 2 ? mesh[1] : 1;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto tile = static_cast<std::int64_t>(i);
    if (places[i][0] - first[0] != tile / cols || places[i][1] - first[1] != tile % cols) {
      return false;
    }
  }
  return true;
}

}  // namespace

Result<PyflamePes> pyflame_pes(const Layout& layout) {
  const DeviceMap& map = layout.spec().device_map;
  const Shape& mesh = layout.mesh();
  PyflamePes found;
  if (map.kind() == DeviceMap::Kind::kIdentity) return found;
  if (map.physical().rank() != 2) {
    return pyflame_cannot(why::kDeviceMap, "a device of rank {rank}",
                          {fact("rank", map.physical().rank())});
  }
  const PhysicalPlace first = map.map(mesh, Place(mesh.rank(), 0));
  const bool table = map.kind() == DeviceMap::Kind::kTable;
  TESSERA_TRY(const bool moved,
              table ? is_move(map.places(), mesh, first.place) : is_move(map, mesh, first.place));
  if (moved) {
    if (first.place != Place{0, 0}) found.origin = {first.place[0], first.place[1]};
    return found;
  }
  if (mesh.elements() > kMaxList) {
    return pyflame_cannot(why::kDeviceMap,
                          "a device map of {places} places: Custom lists at most {most}",
                          {fact("places", mesh.elements()), fact("most", kMaxList)});
  }
  const Form form = as_form(map, mesh);
  Place place;
  std::int64_t layer = 0;
  for (std::int64_t tile = 0; tile < mesh.elements(); ++tile) {
    if (table) {
      place = map.places()[static_cast<std::size_t>(tile)];
    } else {
      form.evaluate(mesh.delinear(tile), place, layer);
    }
    if (layer != 0) return pyflame_cannot(why::kDeviceMap, "places that share a PE");
    found.pes.push_back({place[0], place[1]});
  }
  return found;
}

}  // namespace tessera::notation
