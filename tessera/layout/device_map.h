// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/layout/form.h"

namespace tessera {

struct Form;

/// The physical location of a virtual place: a physical coordinate, and a layer if several virtual
/// places are stacked there (0 unless the map is many-to-one, such as pages over banks).
struct PhysicalPlace {
  Place place;
  std::int64_t layer = 0;
  friend bool operator==(const PhysicalPlace&, const PhysicalPlace&) = default;
};

/// Maps the virtual mesh of a layout to physical places. One-to-one: two virtual places never share
/// a (physical place, layer).
///   identity   place = virtual coordinate
///   folded     virtual coordinates are folded and cut like tensor dims: digits on a mesh axis give
///              the physical coordinate, digits in memory give the layer.
///                1x64 on 8x8:         {v1} by (8, 1) on axes 0 and 1
///                12 banks:            {v0} by (12 in memory, 1 on axis 0)
///                staircase (r, r+c):  {v0} on axis 0; {v0, v1} by (8 nowhere, 1 on axis 1)
///   table      one physical place for each virtual place, row-major
class DeviceMap {
 public:
  enum class Kind : std::uint8_t { kIdentity, kFolded, kTable };

  static DeviceMap identity() { return DeviceMap(); }
  /// `origin` is added to the folded coordinates; empty means all zeros.
  static DeviceMap folded(Shape physical, std::vector<Fold> folds, Place origin = {});
  static DeviceMap table(Shape physical, std::vector<Place> places);

  Kind kind() const { return kind_; }
  const Shape& physical() const { return physical_; }
  const std::vector<Fold>& folds() const { return folds_; }
  const Place& origin() const { return origin_; }
  const std::vector<Place>& places() const { return places_; }

  /// Checks that the map is well-formed for a virtual mesh, stays inside the physical mesh, and is
  /// one-to-one.
  Status check(const Shape& mesh) const;
  /// The physical place of a virtual place, which must lie inside `mesh`.
  PhysicalPlace map(const Shape& mesh, const Place& place) const;

  friend bool operator==(const DeviceMap&, const DeviceMap&) = default;

 private:
  Kind kind_ = Kind::kIdentity;
  Shape physical_;
  std::vector<Fold> folds_;
  Place origin_;
  std::vector<Place> places_;
};

/// A folded map as a form: its elements are the virtual places, its places are the physical places,
/// its slots are the layers.
Form form_of(const DeviceMap& map, const Shape& mesh);

}  // namespace tessera
