// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/compare.h"
#include "tessera/layout/layout.h"
#include "tessera/layout/places.h"

namespace tessera {

/// One part of a tensor: the elements of `box`, laid out by `layout`, whose index is counted from
/// the box's corner.
struct LayoutPiece {
  Box box;
  Layout layout;
};

/// A tensor whose parts are laid out by rules of their own: cut points given one by one, chunks of
/// chunks, halos cut off. What one chain of cuts cannot say, a few boxes can.
///
/// Pieces have one mesh, element type, atom and memory space; their boxes are disjoint and cover
/// the shape; no two elements of different pieces share a slot of a place.
class Piecewise {
 public:
  static Result<Piecewise> make(Shape shape, std::vector<LayoutPiece> pieces);

  const Shape& shape() const { return shape_; }
  const Shape& mesh() const { return pieces_.front().layout.mesh(); }
  const std::vector<LayoutPiece>& pieces() const { return pieces_; }
  /// Slots allocated on every place: enough for every piece.
  std::int64_t slots() const { return slots_; }

  /// Law: as for Layout, over all pieces.
  Result<Location> locate(const Index& index) const;
  /// A slot that no piece fills is padding, for the first cause any piece gives.
  Result<Slot> element_at(const Place& place, std::int64_t slot) const;

 private:
  Shape shape_;
  std::vector<LayoutPiece> pieces_;
  std::int64_t slots_ = 0;
};

/// As for forms: compares the pieces of both on the boxes in which they meet.
Result<Comparison> same_function(const Piecewise& a, const Piecewise& b);

}  // namespace tessera
