// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/layout/form.h"
#include "tessera/layout/layout.h"

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

/// The number of allocated slots, over all places, that hold no element, by cause.
struct PaddingCount {
  std::int64_t total = 0;
  std::array<std::int64_t, kCauses> by_cause{};
  std::int64_t operator[](Cause cause) const { return by_cause[static_cast<std::size_t>(cause)]; }
  friend bool operator==(const PaddingCount&, const PaddingCount&) = default;
};

/// Law: equals counting element_at over every slot of every place. Closed form: the cost does not
/// grow with the tensor or the mesh, except for folds with an unplaced digit or entangled strides.
/// Those are enumerated, up to 2^22 slots; kTooLarge beyond.
Result<PaddingCount> padding(const Layout& layout);

/// The same for one place. All places of one class (`place_classes`) have the same padding.
Result<PaddingCount> padding_at(const Layout& layout, const Place& place);

/// Whether every allocated slot of every place holds an element.
Result<bool> is_exhaustive(const Layout& layout);

/// A loop over slots: `count` steps of `stride`.
struct Stride {
  std::int64_t count = 1;
  std::int64_t stride = 1;
  friend bool operator==(const Stride&, const Stride&) = default;
};

/// A box of padding: the same slots on each place of a set, all with one cause.
struct PaddingRegion {
  Cause cause = Cause::kGap;
  PlaceSet places;
  std::int64_t first_slot = 0;
  std::vector<Stride> slots;
  std::int64_t slots_per_place() const;
};

/// Calls `visit` with disjoint boxes whose union is exactly the padding, one at a time, without
/// storing them all. Stops early if `visit` returns false. The data of a fold of n cuts without
/// gaps is at most n boxes if widths divide each other (2^(n-1) if not), and padding is the
/// complement of their product. Gaps inside a fold are enumerated run by run.
/// Law: each padding slot of each place is in exactly one region, with the cause of element_at.
Status padding_regions(const Layout& layout,
                       const std::function<bool(const PaddingRegion&)>& visit);

/// Places whose memory holds data in exactly the same slots: interior, last row, last column,
/// corner, empty.
struct PlaceClass {
  std::vector<PlaceSet> sets;  ///< disjoint; rectangles if the class consists of rectangles
  std::int64_t places = 0;
  std::int64_t elements = 0;      ///< held on each place of the class
  std::int64_t needed_slots = 0;  ///< one past the last slot that holds data
};

/// Law: every place of the mesh is in exactly one set; two places are in one class ⇔ the same slots
/// hold data (and the rest is padding). Classes with data come first, the empty class last. The
/// cost grows with the number of classes, not of places. Entangled folds (unplaced digits, dims in
/// two folds) are visited element by element, up to 2^22 elements; kTooLarge beyond.
Result<std::vector<PlaceClass>> place_classes(const Layout& layout);

/// What one place holds.
struct Tile {
  std::int64_t elements = 0;
  std::int64_t needed_slots = 0;     ///< one past the last slot that holds data
  std::int64_t allocated_slots = 0;  ///< the same on every place
  std::vector<Box> boxes;            ///< disjoint, in no particular order; their union is the tile
};

/// Law: x is in a box of tile_of(q)  ⇔  q is one of the places of locate(x).
/// Error kTooLarge for a tile of more than 2^20 boxes.
Result<Tile> tile_of(const Layout& layout, const Place& place);

}  // namespace tessera
