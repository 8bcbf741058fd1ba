// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/result.h"
#include "tessera/reshard/flows/flows.h"
#include "tessera/reshard/flows/nearest.h"
#include "tessera/reshard/part.h"
#include "tessera/reshard/reshard.h"

/// Facts that kind.cc needs about one part of a reshard: where each side keeps elements, and
/// whether both sides keep them on the same places. Most answers take one pass over the segments.
/// If the maps are not sums along the axes of the physical mesh, all choices of groups are walked,
/// up to a limit.
namespace tessera::reshard {

using Values = std::vector<std::int64_t>;

/// The maximum number of steps of a walk.
inline constexpr std::int64_t kMaxKindSteps = std::int64_t{1} << 23;
Error too_many_steps(std::string_view what);

/// One side of a part.
struct SideFacts {
  const Form& form;
  const PlaceMap& map;
  PlacePart Flows::* base;
  PlacePart SegmentGroup::* part;
  bool apart;                  // different virtual places are different physical places
  std::vector<Values> copies;  // along each virtual axis, relative to the first place
  std::vector<Index> shares;   // of each share, by its number

  std::int64_t first(const Flows& flows) const { return (flows.*base).place; }
  std::int64_t copy_count() const;
  /// Number of places that hold a share of one element, over all shares.
  std::int64_t place_count() const;
  bool repeats_like(const SideFacts& other) const {
    return copies == other.copies && shares == other.shares;
  }
};

/// One part, with the facts that all queries need.
struct PartFacts {
  const ReshardPart& part;
  Flows flows;  // first places only
  SideFacts a;
  SideFacts b;
};

Result<PartFacts> facts_of(const ReshardPart& part, const PhysicalMesh& physical);

/// Where coordinates are read: on the physical mesh through a map, or on the virtual mesh directly.
struct Coordinates {
  const Shape& mesh;
  const PlaceMap* map = nullptr;
  std::optional<Alignment> alignment = std::nullopt;
  Values strides = {};

  static Coordinates on_physical(const SideFacts& side, const PhysicalMesh& physical) {
    return {physical.mesh, &side.map, alignment_of(side.map, physical.mesh),
            physical.mesh.row_major_strides()};
  }
  static Coordinates on_mesh(const SideFacts& side) {
    const Shape& mesh = side.form.mesh;
    Alignment itself;
    for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
      itself.axis.push_back(axis);
      itself.step.push_back(1);
    }
    return {mesh, nullptr, std::move(itself), mesh.row_major_strides()};
  }

  std::int64_t number(std::int64_t place) const {
    return map != nullptr ? map->physical(place) : place;
  }
  std::int64_t at(std::int64_t place, std::size_t axis) const {
    return coordinate(mesh, strides, number(place), axis);
  }
  /// A number for each place that is equal for equal coordinates. If `exchanged`, rows and columns
  /// are exchanged.
  std::int64_t key(std::int64_t place, bool exchanged) const {
    if (mesh.rank() != 2) return number(place);
    const std::int64_t row = at(place, exchanged ? 1 : 0);
    return (row << 32) + at(place, exchanged ? 0 : 1);
  }

  /// Copies along one axis: the first number, and an ascending list relative to it. Only where
  /// there is an alignment; the same holds for `shares`.
  std::pair<std::int64_t, Values> copies(const SideFacts& side, std::size_t axis) const;
  Values shares(const SideFacts& side, std::size_t axis) const;
};

/// One side of the elements, and where its coordinates are read.
struct Seen {
  const SideFacts& side;
  const Coordinates& at;
};

/// For each share of an element whose first place is `first`: the keys of its places, ascending.
using PlaceKey = std::function<std::int64_t(std::int64_t place)>;
std::vector<Values> share_places(const SideFacts& side, std::int64_t first, const PlaceKey& key);

/// True when all elements have the same share_places in x and y. Walks every choice of groups.
Result<bool> same_sets(const Flows& flows, const SideFacts& x, const PlaceKey& key_x,
                       const SideFacts& y, const PlaceKey& key_y);

/// True when each share of each element is on the same places in x and y, or, if `exchanged`, on
/// the places with row and column exchanged.
Result<bool> same_places(const Flows& flows, Seen x, Seen y, bool exchanged);

}  // namespace tessera::reshard
