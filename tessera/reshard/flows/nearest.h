// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/form.h"
#include "tessera/reshard/flows/place_map.h"

namespace tessera::reshard {

/// A place, or a part of a place number that adds to others: its number on the placement's own mesh
/// and on the physical mesh.
struct PlacePart {
  std::int64_t place = 0;
  std::int64_t physical = 0;
  friend bool operator==(const PlacePart&, const PlacePart&) = default;
  friend PlacePart operator+(PlacePart x, PlacePart y) {
    return {x.place + y.place, x.physical + y.physical};
  }
};

/// The coordinate of a place along one axis of its mesh, computed from its row-major number.
std::int64_t coordinate(const Shape& mesh, const std::vector<std::int64_t>& strides,
                        std::int64_t place, std::size_t axis);

/// How virtual axes map to the physical mesh when each runs along one physical axis: one step along
/// virtual axis v moves `step[v]` along physical axis `axis[v]`, and nothing ever wraps around.
struct Alignment {
  std::vector<std::size_t> axis;
  std::vector<std::int64_t> step;
};
/// The alignment of a map; empty when it has none (tables, 64 devices in a row on 8x8).
std::optional<Alignment> alignment_of(const PlaceMap& map, const Shape& physical);

/// Finds the place that keeps an element and is nearest to a place that needs it: the fewest steps;
/// on a tie, the smallest number on the physical mesh.
///
/// Replicas along the axes of an aligned map are found axis by axis: in constant time where they
/// are evenly spaced, by bisection otherwise. On any other map, all replicas are tried.
class NearestSource {
 public:
  /// Error kTooLarge for a map that is not aligned and has more than 2^22 replicas.
  static Result<NearestSource> make(const Form& form, const PlaceMap& map, const Shape& physical);

  /// True when each element has only one place.
  bool trivial() const { return axes_.empty() && offsets_.empty(); }
  /// Number of places tried per lookup; 1 when there is no search.
  std::int64_t tries() const;

  /// The place nearest to the physical place `to` among those that keep the element whose first
  /// place is `first`.
  PlacePart nearest(PlacePart first, std::int64_t to) const;

 private:
  /// The replicas along one axis of the physical mesh.
  struct Axis {
    std::int64_t stride = 1;  // of the physical mesh
    std::int64_t extent = 1;
    std::int64_t step = 0;               // between evenly spaced replicas; otherwise 0
    std::vector<std::int64_t> offsets;   // ascending, relative to the first place
    std::vector<std::int64_t> virtuals;  // the offset that each adds to the virtual number
  };
  std::vector<Axis> axes_;
  std::vector<std::int64_t> offsets_;  // on the virtual mesh, where all are tried
  const PlaceMap* map_ = nullptr;      // only then
  Shape physical_;
  std::vector<std::int64_t> strides_;
};

}  // namespace tessera::reshard
