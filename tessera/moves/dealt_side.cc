// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/dealt_side.h"

#include <algorithm>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/moves/endpoints.h"
#include "tessera/moves/placed.h"

namespace tessera::moves {
namespace {

/// The endpoints of the places 0, length, 2 · length, ..
std::vector<std::int64_t> outer_endpoints(const Placed& placed) {
  const Shape& mesh = placed.form.mesh;
  const std::int64_t places = std::max<std::int64_t>(1, mesh.elements());
  std::vector<std::int64_t> outer;
  outer.reserve(static_cast<std::size_t>(places / placed.length));
  // The axes that count: the others together are `length` places long.
  std::size_t axes = mesh.rank();
  std::int64_t inside = 1;
  while (axes > 0 && inside < placed.length) inside *= mesh[--axes];
  const std::vector<Fold>& folds = placed.map.folds();
  const bool apart = placed.map.kind() == DeviceMap::Kind::kFolded && inside == placed.length &&
                     std::all_of(folds.begin(), folds.end(),
                                 [](const Fold& fold) { return fold.terms.size() <= 1; });
  if (!apart) {
    for (std::int64_t place = 0; place < places; place += placed.length) {
      outer.push_back(placed.map.map(mesh, mesh.delinear(place)).place[0]);
    }
    return outer;
  }
  // No fold joins axes, so each coordinate adds its own amount.
  const Form form = form_of(placed.map, mesh);
  Place place(mesh.rank(), 0);
  Place physical;
  std::int64_t layer = 0;
  const auto endpoint = [&] {
    form.evaluate(place, physical, layer);
    return physical[0];
  };
  const std::int64_t first = endpoint();
  outer.push_back(first);
  for (std::size_t axis = 0; axis < axes; ++axis) {
    std::vector<std::int64_t> further;
    further.reserve(outer.size() * static_cast<std::size_t>(mesh[axis]));
    std::vector<std::int64_t> added;
    for (place[axis] = 0; place[axis] < mesh[axis]; ++place[axis]) {
      added.push_back(endpoint() - first);
    }
    place[axis] = 0;
    for (const std::int64_t from : outer) {
      for (const std::int64_t more : added) further.push_back(from + more);
    }
    outer = std::move(further);
  }
  return outer;
}

/// Places are endpoints too; those that are dead hold nothing.
Status refuse_dead(const std::vector<std::int64_t>& endpoints, const Machine& machine) {
  if (machine.dead.empty()) return ok_status();
  const std::vector<std::int64_t> dead = machine.dead_places();
  for (const std::int64_t endpoint : endpoints) {
    if (!std::binary_search(dead.begin(), dead.end(), endpoint)) continue;
    return Error{ErrorCode::kOutOfRange,
                 cat("place ", bracketed(machine.shape().delinear(endpoint)),
                     " of the layout is dead on the target"),
                 std::nullopt, "choose an origin or a list of places that avoids it"};
  }
  return ok_status();
}

}  // namespace

Result<DealtSide> dealt_side(const Stored& stored, const Machine& machine) {
  TESSERA_TRY(const std::size_t memory, memory_of(stored, machine));
  const Layout* const layout = stored.placement.layout();
  if (layout == nullptr) {
    return Error{ErrorCode::kNotSupported, "a tensor of several layouts has no short form"};
  }
  const EndpointNumbers endpoints(machine);
  TESSERA_TRY(const Shape numbers, Shape::make({endpoints.count()}));
  TESSERA_TRY(Placed placed,
              placed_in(*layout, memory, stored.spread, machine, endpoints, numbers));
  const Shape& mesh = placed.form.mesh;
  std::vector<std::int64_t> outer = outer_endpoints(placed);
  for (std::size_t i = 0; i < outer.size(); ++i) {
    if (outer[i] >= 0 && outer[i] < endpoints.count()) continue;
    const std::int64_t place = static_cast<std::int64_t>(i) * placed.length;
    return Error{ErrorCode::kOutOfRange,
                 cat("place ", bracketed(mesh.delinear(place)), " is outside ", machine.name),
                 std::nullopt, "use fewer places, or a larger target"};
  }
  TESSERA_CHECK_OK(refuse_dead(outer, machine));
  return DealtSide{std::move(placed.form), placed.length, placed.period, std::move(outer)};
}

}  // namespace tessera::moves
