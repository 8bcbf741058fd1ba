// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"

namespace tessera {

/// Another way to index the memory of a layout: a slice, a broadcast, a transpose, a reshape. A
/// view owns no memory, may alias (broadcast) and may leave holes (slices), so a slot holds a set
/// of its indices. Views compose.
///
/// Each operation states the index map m with  view.locate(y) = base.locate(m(y)). Errors:
/// kViewLeavesForm, naming the dim, if fold, cut and place cannot express the result; kBadView for
/// bad arguments; kBadShape or kOverflow for invalid extents.
class View {
 public:
  /// The whole layout: m(y) = y.
  static View of(const Layout& layout);
  /// A view from any well-formed form, into memory of `slots` slots per place (default: as many as
  /// the form reaches). Elements may share a slot. Errors as for a Layout, except kNotInjective.
  static Result<View> make(Form form, DType dtype, Atom atom,
                           std::optional<std::int64_t> slots = std::nullopt);

  /// m(y)[perm[i]] = y[i]: dim i of the result is dim perm[i] of this one.
  Result<View> transpose(const std::vector<int>& perm) const;
  /// m(y)[dim] = start + step·y[dim] for y[dim] < count. The step may be negative; zero repeats one
  /// element.
  Result<View> slice(int dim, std::int64_t start, std::int64_t count, std::int64_t step = 1) const;
  /// Inserts a dim of `extent` before position `dim`, which does not affect the location: m drops
  /// y[dim].
  Result<View> broadcast(int dim, std::int64_t extent) const;
  /// Replaces `dim` by dims of the given extents, whose product is its extent, row-major.
  Result<View> split(int dim, const std::vector<std::int64_t>& extents) const;
  /// Replaces dims [first, first + count) by one dim over them, row-major.
  Result<View> merge(int first, int count) const;
  /// Any reshape that keeps the row-major order, by splitting and merging where extents require it.
  Result<View> reshape(const std::vector<std::int64_t>& extents) const;

  const Form& form() const { return form_; }
  operator const Form&() const { return form_; }
  const Shape& shape() const { return form_.shape; }
  const Shape& mesh() const { return form_.mesh; }
  DType dtype() const { return dtype_; }
  const Atom& atom() const { return atom_; }
  /// Slots allocated on every place by the underlying layout.
  std::int64_t slots() const { return slots_; }
  std::int64_t shard_bytes() const { return shard_bytes_; }

  Result<Location> locate(const Index& index) const;
  /// All indices of the view stored in `slot` of `place`, in row-major order. Error kTooLarge for
  /// more than 2^16 of them.
  Result<std::vector<Index>> elements_at(const Place& place, std::int64_t slot) const;

  /// Equality of descriptions.
  friend bool operator==(const View&, const View&) = default;

 private:
  View(Form form, DType dtype, Atom atom, std::int64_t slots, std::int64_t shard_bytes)
      : form_(std::move(form)),
        dtype_(dtype),
        atom_(atom),
        slots_(slots),
        shard_bytes_(shard_bytes) {}
  Result<View> with(Form form) const;

  Form form_;
  DType dtype_;
  Atom atom_;
  std::int64_t slots_;
  std::int64_t shard_bytes_;
};

/// Tile number `tile` (one number per dim) if the shape is cut into tiles of `extents`; tiles at
/// the end are smaller.
Result<View> tile_view(const Layout& layout, const std::vector<std::int64_t>& extents,
                       const Index& tile);

}  // namespace tessera
