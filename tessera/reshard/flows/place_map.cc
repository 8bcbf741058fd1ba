// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/flows/place_map.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/form.h"
#include "tessera/layout/regions.h"

namespace tessera::reshard {
namespace {

constexpr std::int64_t kMaxTable = std::int64_t{1} << 22;

/// How coordinates of a mesh become numbers on the physical mesh: one stride per coordinate, and
/// the limit of each.
struct Numbering {
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> extents;
};

Result<Numbering> numbering(const Shape& mesh, const Shape& physical) {
  if (mesh.rank() == physical.rank())
    return Numbering{physical.row_major_strides(), physical.extents()};
  if (mesh.elements() == 1) {
    return Numbering{std::vector<std::int64_t>(mesh.rank(), 0), mesh.extents()};
  }
  if (mesh.rank() == 1) return Numbering{{1}, {physical.elements()}};
  if (physical.rank() == 1) {
    if (mesh.elements() > physical.elements()) {
      return Error{ErrorCode::kOutOfRange,
                   cat("a mesh of ", mesh.elements(), " places (", mesh.to_string(),
                       ") does not fit the ", physical.elements(), " of the target"),
                   std::nullopt, "use fewer places, or a target that has more"};
    }
    return Numbering{mesh.row_major_strides(), mesh.extents()};
  }
  return Error{
      ErrorCode::kMeshMismatch,
      cat("a mesh of rank ", mesh.rank(), " (", mesh.to_string(),
          ") cannot be mapped to one of rank ", physical.rank(), " (", physical.to_string(), ")"),
      std::nullopt, "use a mesh of the target's rank, or device numbers"};
}

Error outside(std::int64_t coordinate, std::size_t axis, std::int64_t extent,
              const Shape& physical) {
  if (physical.rank() > 1 && extent == physical.elements()) {  // a device number
    return Error{ErrorCode::kOutOfRange,
                 cat("place number ", coordinate, " is outside the ", physical.to_string(),
                     " places of the target: they are numbered 0 to ", extent - 1),
                 std::nullopt, "use fewer places, or a larger target"};
  }
  return Error{ErrorCode::kOutOfRange,
               cat("place coordinate ", coordinate, " on axis ", axis, " is outside the ",
                   physical.to_string(), " places of the target: that axis has ", extent),
               std::nullopt, "use fewer places, another origin, or a larger target"};
}

/// The row-major number on the physical mesh of a place of the mesh that `numbers` counts.
std::int64_t number_of(const Place& place, const Numbering& numbers) {
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < numbers.strides.size(); ++k) sum += place[k] * numbers.strides[k];
  return sum;
}

/// A physical mesh of rank 0 has one place, which every physical mesh has.
Status check_inside(const Place& place, const Numbering& numbers, const Shape& physical) {
  for (std::size_t k = 0; k < numbers.extents.size(); ++k) {
    if (place[k] >= numbers.extents[k]) return outside(place[k], k, numbers.extents[k], physical);
  }
  return ok_status();
}

Error too_many(std::int64_t places) {
  return Error{
      ErrorCode::kTooLarge,
      cat("a mesh or device map of ", places, " places in a list is more than ", kMaxTable),
      std::nullopt, "use fewer places"};
}

using AxisLists = std::vector<std::vector<std::int64_t>>;

/// The identity: a coordinate adds its value times the stride of its axis.
Result<AxisLists> identity_lists(const Shape& mesh, const Numbering& numbers,
                                 const Shape& physical) {
  AxisLists lists(mesh.rank());
  for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
    if (mesh[axis] > numbers.extents[axis]) {
      return outside(mesh[axis] - 1, axis, numbers.extents[axis], physical);
    }
    if (mesh[axis] > kMaxTable) return too_many(mesh[axis]);
    const std::int64_t stride = numbers.strides[axis];
    lists[axis].reserve(static_cast<std::size_t>(mesh[axis]));
    for (std::int64_t v = 0; v < mesh[axis]; ++v) lists[axis].push_back(v * stride);
  }
  return lists;
}

/// A folded map whose lines each use one virtual axis: a coordinate adds the distance by which it
/// moves the place of zeros. Empty if such moves together leave the map's mesh: the numbers of
/// places still add up then, but carry from one coordinate to the next.
Result<std::optional<AxisLists>> folded_lists(const Lines& lines, const Numbering& numbers,
                                              const Shape& physical) {
  const Shape& mesh = lines.shape;
  Index index(mesh.rank(), 0);
  const Place base = lines.mesh.delinear(lines.position(index).place);
  Place smallest = base;
  Place largest = base;
  AxisLists lists(mesh.rank());
  for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
    Place least(base.size(), 0);
    Place most(base.size(), 0);
    for (std::int64_t v = 0; v < mesh[axis]; ++v) {
      index[axis] = v;
      const Place moved = minus(lines.mesh.delinear(lines.position(index).place), base);
      for (std::size_t k = 0; k < most.size(); ++k) {
        least[k] = std::min(least[k], moved[k]);
        most[k] = std::max(most[k], moved[k]);
      }
      lists[axis].push_back(number_of(moved, numbers) + (axis == 0 ? number_of(base, numbers) : 0));
    }
    index[axis] = 0;
    smallest = plus(smallest, least);
    largest = plus(largest, most);
  }
  for (std::size_t k = 0; k < largest.size(); ++k) {
    if (smallest[k] < 0 || largest[k] >= lines.mesh[k]) return std::optional<AxisLists>();
  }
  TESSERA_CHECK_OK(check_inside(largest, numbers, physical));
  return std::optional(std::move(lists));
}

/// A table as one list per virtual axis, if it is a sum of them: not only the numbers, which may
/// carry from one axis of the physical mesh to the next, but also the coordinates on each axis.
std::optional<AxisLists> lists_of(const std::vector<std::int64_t>& table, const Shape& mesh,
                                  const Shape& physical) {
  const std::vector<std::int64_t> strides = mesh.row_major_strides();
  const std::vector<std::int64_t> physical_strides = physical.row_major_strides();
  for (std::size_t k = 0; k < physical.rank(); ++k) {
    const auto coordinate = [&](std::int64_t v) {
      return table[static_cast<std::size_t>(v)] / physical_strides[k] % physical[k];
    };
    const std::int64_t first = coordinate(0);
    AxisLists moves(mesh.rank());
    for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
      for (std::int64_t v = 0; v < mesh[axis]; ++v) {
        moves[axis].push_back(coordinate(v * strides[axis]) - first);
      }
    }
    Index index(mesh.rank(), 0);
    for (std::int64_t place = 0; place < mesh.elements(); ++place, mesh.next(index)) {
      std::int64_t sum = first;
      for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
        sum += moves[axis][static_cast<std::size_t>(index[axis])];
      }
      if (sum != coordinate(place)) return std::nullopt;
    }
  }
  AxisLists lists(mesh.rank());
  for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
    const std::int64_t first = axis == 0 ? 0 : table.front();
    for (std::int64_t v = 0; v < mesh[axis]; ++v) {
      lists[axis].push_back(table[static_cast<std::size_t>(v * strides[axis])] - first);
    }
  }
  return lists;
}

Error dead(std::int64_t first, std::int64_t count, const Shape& physical) {
  const std::string place = bracketed(physical.delinear(first));
  return Error{ErrorCode::kOutOfRange,
               count == 1
                   ? cat("place ", place, " of the layout is dead on the target")
                   : cat(count, " places of the layout are dead on the target, the first ", place),
               std::nullopt, "choose an origin or a list of places that avoids them"};
}

}  // namespace

Result<PlaceMap> PlaceMap::make(const Shape& mesh, const DeviceMap& map,
                                const PhysicalMesh& physical) {
  const bool mapped = map.kind() != DeviceMap::Kind::kIdentity;
  const Shape& own = mapped ? map.physical() : mesh;
  TESSERA_TRY(const Numbering numbers, numbering(own, physical.mesh));
  Rule rule;
  rule.mesh = mesh;
  rule.along.resize(mesh.rank());
  if (mesh.empty()) return PlaceMap(std::move(rule));
  if (!mapped) {
    TESSERA_TRY(rule.along, identity_lists(mesh, numbers, physical.mesh));
  } else if (mesh.elements() > kMaxTable) {
    return too_many(mesh.elements());
  } else if (map.kind() == DeviceMap::Kind::kTable) {
    for (const Place& place : map.places()) {
      TESSERA_CHECK_OK(check_inside(place, numbers, physical.mesh));
      rule.table.push_back(number_of(place, numbers));
    }
  } else {
    TESSERA_TRY(const Lines lines, canonical(form_of(map, mesh)));
    // Numbers that add up along several axes may still carry from one physical axis to the next.
    const bool coordinates_add =
        own.rank() == physical.mesh.rank() || physical.mesh.rank() == 1 || mesh.rank() == 1;
    std::optional<AxisLists> lists;
    if (mesh.rank() == 0) {
      const Place place = lines.mesh.delinear(lines.base.place);
      TESSERA_CHECK_OK(check_inside(place, numbers, physical.mesh));
      rule.base = number_of(place, numbers);
    } else if (lines.separable() && coordinates_add) {
      TESSERA_TRY(lists, folded_lists(lines, numbers, physical.mesh));
    }
    if (lists) {
      rule.along = *std::move(lists);
    } else if (mesh.rank() > 0) {
      Index index(mesh.rank(), 0);
      do {
        const Place place = lines.mesh.delinear(lines.position(index).place);
        TESSERA_CHECK_OK(check_inside(place, numbers, physical.mesh));
        rule.table.push_back(number_of(place, numbers));
      } while (mesh.next(index));
    }
  }
  if (!rule.table.empty()) {
    if (mesh.rank() == 0) {
      rule.base = rule.table.front();
      rule.table.clear();
    } else if (std::optional<AxisLists> lists = lists_of(rule.table, mesh, physical.mesh)) {
      rule.along = *std::move(lists);
      rule.table.clear();
    }
  }
  PlaceMap made(std::move(rule));
  TESSERA_CHECK_OK(made.refuse_dead(!mapped && mesh.rank() == physical.mesh.rank(), physical));
  return made;
}

Status PlaceMap::refuse_dead(bool is_corner, const PhysicalMesh& physical) const {
  if (physical.dead.empty()) return ok_status();
  std::int64_t count = 0;
  std::int64_t first = 0;
  const auto meet = [&](std::int64_t place) {
    first = count == 0 ? place : std::min(first, place);
    ++count;
  };
  if (is_corner) {
    for (const std::int64_t place : physical.dead) {
      if (mesh().contains(physical.mesh.delinear(place))) meet(place);
    }
  } else {
    const std::int64_t places = mesh().elements();
    if (places > kMaxTable) return too_many(places);
    for (std::int64_t v = 0; v < places; ++v) {
      const std::int64_t place = this->physical(v);
      if (std::binary_search(physical.dead.begin(), physical.dead.end(), place)) meet(place);
    }
  }
  if (count > 0) return dead(first, count, physical.mesh);
  return ok_status();
}

PlaceMap::PlaceMap(Rule rule) {
  for (const std::int64_t extent : rule.mesh.extents()) {
    rule.by_extent.emplace_back(std::max<std::int64_t>(1, extent));
  }
  rule_ = std::make_shared<const Rule>(std::move(rule));
}

std::int64_t PlaceMap::physical(std::int64_t place) const {
  const Rule& rule = *rule_;
  if (!rule.table.empty()) return rule.table[static_cast<std::size_t>(place)];
  std::int64_t sum = rule.base;
  for_each_coordinate(place, [&](std::size_t axis, std::int64_t coordinate) {
    sum += rule.along[axis][static_cast<std::size_t>(coordinate)];
  });
  return sum;
}

}  // namespace tessera::reshard
