// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/layout/device_map.h"
#include "tessera/layout/locator.h"
#include "tessera/reshard/reshard.h"

namespace tessera::reshard {

/// Maps the places of a layout's (virtual) mesh to those of the physical mesh, both numbered
/// row-major.
///
/// A virtual place goes through the device map, which gives its coordinates on the physical mesh.
/// If the ranks differ: a single place is the first place of the physical mesh; places of rank 1
/// (device numbers) are row-major numbers on the physical mesh; and on a physical mesh of rank 1,
/// places are their own row-major numbers. Virtual places that the device map stacks are one
/// physical place.
///
/// Most maps are *separable*: the physical place is a sum of one function per virtual axis,
///     physical(v) = Σ along(axis)[v[axis]],
/// so nothing is listed place by place. A table of devices is not separable.
class PlaceMap {
 public:
  /// Errors: kOutOfRange for a place outside the physical mesh and for dead places (the error names
  /// the place, or the first dead place and their number); kMeshMismatch for ranks that do not
  /// match; kTooLarge for a map that is not separable and has more than 2^22 places.
  static Result<PlaceMap> make(const Shape& mesh, const DeviceMap& map,
                               const PhysicalMesh& physical);

  /// The physical number of a virtual place.
  std::int64_t physical(std::int64_t place) const;
  /// Calls visit(axis, coordinate) for the axes of a virtual place, from the last to the first.
  template <typename Visit>
  void for_each_coordinate(std::int64_t place, const Visit& visit) const {
    for (std::size_t axis = rule_->by_extent.size(); axis-- > 0;) {
      const std::int64_t rest = rule_->by_extent[axis].divide(place);
      visit(axis, place - rest * rule_->mesh[axis]);
      place = rest;
    }
  }
  bool separable() const { return rule_->table.empty(); }
  /// Only for separable maps: the amount that a coordinate along a virtual axis adds; axis 0
  /// includes the origin.
  const std::vector<std::int64_t>& along(std::size_t axis) const { return rule_->along[axis]; }
  const Shape& mesh() const { return rule_->mesh; }

  /// True for the same function, even if it was specified differently.
  friend bool operator==(const PlaceMap& a, const PlaceMap& b) {
    return a.rule_ == b.rule_ || *a.rule_ == *b.rule_;
  }

 private:
  struct Rule {
    Shape mesh;
    std::int64_t base = 0;                         // for a mesh without axes
    std::vector<std::vector<std::int64_t>> along;  // one list per virtual axis; empty with a table
    std::vector<std::int64_t> table;               // one entry per virtual place
    std::vector<FastDivide> by_extent;             // one per virtual axis
    friend bool operator==(const Rule& a, const Rule& b) {
      return a.mesh == b.mesh && a.base == b.base && a.along == b.along && a.table == b.table;
    }
  };
  /// `is_corner`: the places are those of the physical mesh with coordinates inside the mesh.
  Status refuse_dead(bool is_corner, const PhysicalMesh& physical) const;
  explicit PlaceMap(Rule rule);
  std::shared_ptr<const Rule> rule_;  // shared by the many parts of a piecewise placement
};

}  // namespace tessera::reshard
