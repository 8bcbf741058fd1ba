// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/layout/form.h"

namespace tessera {

/// Half-open box of logical indices, one range per dim.
struct Box {
  std::vector<std::int64_t> from;
  std::vector<std::int64_t> to;
  /// The box of all indices of a shape.
  static Box whole(const Shape& shape);
  std::int64_t elements() const;
  bool contains(const Index& index) const;
  friend bool operator==(const Box&, const Box&) = default;
};

/// The intersection of two boxes of equal rank; empty optional if they do not intersect.
std::optional<Box> meet(const Box& a, const Box& b);

/// Converts an index to one relative to a box's corner (`minus`), and back (`plus`).
Index minus(Index index, const Index& corner);
Index plus(Index index, const Index& corner);

/// A loop over places: `count` steps of `stride` along mesh axis `axis`.
struct PlaceLoop {
  int axis = 0;
  std::int64_t count = 1;
  std::int64_t stride = 1;
  friend bool operator==(const PlaceLoop&, const PlaceLoop&) = default;
};

/// A set of places: `first` + all combinations of the loops, all distinct. Loops of count 1 are
/// left out, so a set with at most one loop of stride 1 per axis is a rectangle.
struct PlaceSet {
  Place first;
  std::vector<PlaceLoop> loops;

  std::int64_t count() const;
  bool is_rectangle() const;
  bool contains(const Place& place) const;
  /// All places of the set.
  std::vector<Place> places() const;
  /// Drops loops of count 1 and joins loops that continue each other.
  void simplify();
};

/// The numbers first + Σ digit·stride inside [0, extent): the slots or the coordinates that the
/// digits of a layout reach.
struct Reach {
  struct Weight {
    std::int64_t count;
    std::int64_t stride;
  };
  std::vector<Weight> weights;  ///< by decreasing stride, none of count 1
  std::int64_t first = 0;
  std::int64_t extent = 0;

  bool reaches_nothing() const;
};
Reach memory_reach(const Form& form, std::int64_t slots);
Reach mesh_reach(const Form& form, int axis);

/// The run [first, first + length), repeated by loops.
struct Hole {
  std::int64_t first = 0;
  std::int64_t length = 0;
  std::vector<Reach::Weight> loops;
};

/// All numbers in [0, extent) that are not reached, as disjoint holes. If strides nest, there is at
/// most one hole per weight. Entangled strides are listed run by run; kTooLarge beyond 2^22.
Result<std::vector<Hole>> holes(const Reach& reach);

/// The places of the mesh that no digit, replica or fixed coordinate reaches, as disjoint sets.
Result<std::vector<PlaceSet>> unreached_places(const Form& form);

}  // namespace tessera
