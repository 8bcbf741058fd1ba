// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/box.h"
#include "tessera/layout/layout.h"

namespace tessera {

/// As many pieces as one tensor may have.
inline constexpr std::size_t kMaxPieces = 4096;

/// One part of a tensor: the elements of `box`, laid out by `layout`, whose index is counted from
/// the box's corner.
struct LayoutPiece {
  Box box;
  Layout layout;
  friend bool operator==(const LayoutPiece&, const LayoutPiece&) = default;
};

/// A tensor whose parts are laid out by rules of their own: cut points given one by one, chunks of
/// chunks, halos cut off. What one chain of cuts cannot say, a few boxes can.
///
/// Pieces have one mesh, element type, atom and memory space; their boxes are disjoint and cover
/// the shape; no two elements of different pieces share a slot of a place.
class Piecewise {
 public:
  /// Pieces of which nothing is known: looks for elements that share a slot, and answers kTooLarge
  /// when that takes more than 2^20 comparisons.
  static Result<Piecewise> make(Shape shape, std::vector<LayoutPiece> pieces);
  /// Pieces that a rule keeps apart, such as shards of different places: that alone is not checked.
  static Result<Piecewise> by_rule(Shape shape, std::vector<LayoutPiece> pieces);

  const Shape& shape() const { return shape_; }
  const Shape& mesh() const { return pieces_.front().layout.mesh(); }
  DType dtype() const { return pieces_.front().layout.dtype(); }
  const Atom& atom() const { return pieces_.front().layout.atom(); }
  const std::vector<LayoutPiece>& pieces() const { return pieces_; }
  /// Slots allocated on every place: enough for every piece.
  std::int64_t slots() const { return slots_; }
  std::int64_t shard_bytes() const { return shard_bytes_; }

  /// Law: as for Layout, over all pieces.
  Result<Location> locate(const Index& index) const;
  /// A slot that no piece fills is padding, for the first cause any piece gives. What is a hole to
  /// one piece may be there for another, so it is a gap only when it is one to all of them.
  Result<Slot> element_at(const Place& place, std::int64_t slot) const;

  /// Equal as descriptions.
  friend bool operator==(const Piecewise&, const Piecewise&) = default;

 private:
  /// `comparisons` of elements are allowed; without it none are made.
  static Result<Piecewise> make(Shape shape, std::vector<LayoutPiece> pieces,
                                std::optional<std::int64_t> comparisons);

  Shape shape_;
  std::vector<LayoutPiece> pieces_;
  std::int64_t slots_ = 0;
  std::int64_t shard_bytes_ = 0;
};

}  // namespace tessera
