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

/// The most pieces that one tensor may have.
inline constexpr std::size_t kMaxPieces = 4096;

/// One part of a tensor: the elements of `box`, laid out by `layout`. The indices of `layout` are
/// relative to the box's corner.
struct LayoutPiece {
  Box box;
  Layout layout;
  friend bool operator==(const LayoutPiece&, const LayoutPiece&) = default;
};

/// A tensor whose parts have different layouts: explicit cut points, chunks of chunks, halos cut
/// off. A few boxes can express what one chain of cuts cannot.
///
/// All pieces have the same mesh, element type, atom and memory space. Their boxes are disjoint and
/// cover the shape. No two elements of different pieces share a slot of a place.
class Piecewise {
 public:
  /// For arbitrary pieces: searches for elements that share a slot. kTooLarge if that takes more
  /// than 2^20 comparisons.
  static Result<Piecewise> make(Shape shape, std::vector<LayoutPiece> pieces);
  /// For pieces whose slots cannot collide by construction, such as shards on different places.
  /// Only this is not checked.
  static Result<Piecewise> by_rule(Shape shape, std::vector<LayoutPiece> pieces);

  const Shape& shape() const { return shape_; }
  const Shape& mesh() const { return pieces_.front().layout.mesh(); }
  DType dtype() const { return pieces_.front().layout.dtype(); }
  const Atom& atom() const { return pieces_.front().layout.atom(); }
  const std::vector<LayoutPiece>& pieces() const { return pieces_; }
  /// Slots allocated on every place, enough for every piece.
  std::int64_t slots() const { return slots_; }
  std::int64_t shard_bytes() const { return shard_bytes_; }

  /// Law: as for Layout, over all pieces together.
  Result<Location> locate(const Index& index) const;
  /// A slot that no piece fills is padding, with the first cause that any piece reports. A gap of
  /// one piece may be used by another, so the cause is kGap only if all pieces report a gap.
  Result<Slot> element_at(const Place& place, std::int64_t slot) const;

  /// Equality of descriptions.
  friend bool operator==(const Piecewise&, const Piecewise&) = default;

 private:
  /// At most `comparisons` comparisons of elements; if empty, elements are not compared.
  static Result<Piecewise> make(Shape shape, std::vector<LayoutPiece> pieces,
                                std::optional<std::int64_t> comparisons);

  Shape shape_;
  std::vector<LayoutPiece> pieces_;
  std::int64_t slots_ = 0;
  std::int64_t shard_bytes_ = 0;
};

}  // namespace tessera
