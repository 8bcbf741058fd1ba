// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/layout/device_map.h"
#include "tessera/reshard/ground.h"

namespace tessera {

/// From the places of a layout's (virtual) mesh to those of the ground, both numbered row-major.
///
/// A virtual place goes through the device map, and its coordinates are then those on the ground.
/// Where ranks differ: a single place is the ground's first, and places of rank 1 (device numbers)
/// are the ground's row-major numbers. Virtual places that the device map stacks are one physical
/// place.
///
/// Most maps are *separable*: the physical place is a sum of one function a virtual axis,
///     physical(v) = Σ along(axis)[v[axis]],
/// so that nothing is ever listed place by place. A table of devices is not.
class PlaceMap {
 public:
  /// Errors: kOutOfRange for a place outside the ground and for a dead one (both named, with their
  /// number of such places); kMeshMismatch for ranks that cannot be brought together; kTooLarge for
  /// a map that is not separable with more than 2^22 places.
  static Result<PlaceMap> make(const Shape& mesh, const DeviceMap& map, const Ground& ground);

  /// The physical number of a virtual one.
  std::int64_t physical(std::int64_t place) const;
  bool separable() const { return table_.empty(); }
  /// For separable maps, of which it is the whole truth; axis 0 carries the origin.
  const std::vector<std::int64_t>& along(std::size_t axis) const { return along_[axis]; }
  const Shape& mesh() const { return mesh_; }

  /// The same function, which two maps of different descriptions may be.
  friend bool operator==(const PlaceMap&, const PlaceMap&) = default;

 private:
  Shape mesh_;
  std::int64_t base_ = 0;                         // of a mesh without axes
  std::vector<std::vector<std::int64_t>> along_;  // one list a virtual axis
  std::vector<std::int64_t> table_;               // one entry a virtual place
};

}  // namespace tessera
