// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/form.h"
#include "tessera/layout/layout.h"
#include "tessera/layout/regions.h"
#include "tessera/layout/view.h"

namespace tessera {

/// Whether two forms put every element in the same slot of the same set of places.
struct Comparison {
  bool equal = true;
  std::optional<Index> first_difference;  ///< the row-major smallest index that differs
};

/// Exact for every pair of forms. Padding, allocation, element type and memory space are ignored.
/// Replicas compare as sets. A partial sum never equals a copy.
/// Law: equal ⇔ no index differs; else first_difference differs and every smaller index agrees.
/// Errors: kShapeMismatch; kMeshMismatch if the ranks of the meshes differ, unless both meshes have
/// a single place.
Result<Comparison> same_function(const Form& a, const Form& b);

/// The same for canonical lines, without replicas: the row-major smallest index at which they
/// differ, or empty. Both must number their places in the same mesh.
Result<std::optional<Index>> first_difference(Lines a, Lines b);

/// The number of elements whose slot or places differ between `a` and `b`.
/// Law: 0 ⇔ same_function. Error kTooLarge if counting would take more than 2^22 steps.
Result<std::int64_t> moved_elements(const Form& a, const Form& b);

/// Whether every place that holds an element in `to` already holds it in `from`, so that no data
/// moves between places (slots may still change). A partial sum needs its reduction, unless both
/// forms are partial in the same way.
Result<bool> compatible_without_movement(const Form& from, const Form& to);

/// Law: same_function(a, b) ⇒ function_hash(a) == function_hash(b), even if the descriptions
/// differ.
Result<std::uint64_t> function_hash(const Form& form);

/// Whether two different indices share a slot of a place, and if so, which.
struct Injectivity {
  bool injective = true;
  std::optional<std::pair<Index, Index>> collision;  ///< first < second, row-major
};

/// Law: injective ⇔ no two indices share a (place, slot); else `collision` does. Error kTooLarge if
/// the strides are so entangled that 2^24 digits do not decide it.
Result<Injectivity> is_injective(const Form& form);

/// kNotInjective, naming two elements, if elements share a slot and so cannot all be written.
Status check_writable(const Form& form);

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

/// What a slot holds if elements may share it: their indices in row-major order, or the cause of
/// the padding.
using SlotContent = std::variant<std::vector<Index>, Padding>;

/// Where the elements of a tensor are, as the simplest of three rules that can express it:
///
///   Layout     one rule; every element has its own slot
///   View       one rule, but elements may share a slot (stride 0) and slots may be empty
///   Piecewise  boxes with one rule each (chunks of chunks, unordered device lists)
///
/// This class has the operations that all three support. For others, use `layout()`, `view()` or
/// `pieces()`.
class Placement {
 public:
  Placement(Layout layout) : rule_(std::move(layout)) {}     // NOLINT: a Layout is a Placement
  Placement(View view) : rule_(std::move(view)) {}           // NOLINT
  Placement(Piecewise pieces) : rule_(std::move(pieces)) {}  // NOLINT

  /// The rule of that kind, or null if it is of another kind.
  const Layout* layout() const { return std::get_if<Layout>(&rule_); }
  const View* view() const { return std::get_if<View>(&rule_); }
  const Piecewise* pieces() const { return std::get_if<Piecewise>(&rule_); }

  const Shape& shape() const;
  const Shape& mesh() const;
  DType dtype() const;
  const Atom& atom() const;
  /// Slots allocated on every place.
  std::int64_t slots() const;
  std::int64_t places() const { return mesh().elements(); }
  std::int64_t shard_bytes() const;
  std::int64_t allocated_bytes() const { return shard_bytes() * places(); }

  /// The form that places `index`, and the index in that form: the form of the layout or view, or
  /// of the piece that holds `index`. `index` must lie inside the shape.
  std::pair<const Form*, Index> form_at(const Index& index) const;

  Result<Location> locate(const Index& index) const;
  /// Law: x is in contents_at(q, s)  ⇔  locate(x) has the place q and the slot s.
  /// A slot of a view that no index reaches is a gap.
  Result<SlotContent> contents_at(const Place& place, std::int64_t slot) const;

  /// Equality of descriptions. For equality of functions see `same_placement`.
  friend bool operator==(const Placement&, const Placement&) = default;

 private:
  std::variant<Layout, View, Piecewise> rule_;
};

/// Like `same_function` for forms, for any two rules.
Result<Comparison> same_placement(const Placement& a, const Placement& b);
/// Like `moved_elements` for forms.
Result<std::int64_t> moved_elements_between(const Placement& a, const Placement& b);
/// Like `compatible_without_movement` for forms.
Result<bool> placed_compatibly(const Placement& from, const Placement& to);

/// The elements of `box`, and the form that places them.
struct FormPiece {
  Box box;
  const Form* form = nullptr;
  const DeviceMap* device_map = nullptr;  ///< null for views, which have none
};
/// The rule as a list of boxes; a single box for layouts and views.
std::vector<FormPiece> form_pieces(const Placement& placement);

/// Both rules on one box, the intersection of a piece of `a` and a piece of `b`.
struct Meeting {
  Box box;
  Form a;
  Form b;
  const DeviceMap* map_a = nullptr;  ///< null for views
  const DeviceMap* map_b = nullptr;
};
/// Calls `visit` with each meeting until it returns an error. The boxes are disjoint and cover the
/// shape. Two placements without pieces meet once, even if the tensor is empty. Error
/// kShapeMismatch.
Status for_each_meeting(const Placement& a, const Placement& b,
                        const std::function<Status(const Meeting&)>& visit);

/// The comparisons above, on the device: each place stands for the physical place, and the
/// layer, that the device map of its placement gives it. Two physical places are the same if their
/// coordinates are equal. A device of a single place is the first place of every other device.
///
/// Errors: kShapeMismatch; kMeshMismatch if the devices differ in rank and each has several places;
/// kTooLarge where a map that is not linear needs more than 2^22 steps, or more than the budget of
/// the question has.

/// Law: equal ⇔ same slot, and the same set of physical places, for every element.
Result<Comparison> same_on_device(const Placement& a, const Placement& b);
/// The number of elements whose slot or physical places differ.
Result<std::int64_t> moved_on_device(const Placement& a, const Placement& b);
/// Whether every physical place that holds an element in `to` already holds it in `from`.
Result<bool> compatible_on_device(const Placement& from, const Placement& to);

/// The same placement on a device whose places are numbered: the number of a place is the row-major
/// number of its physical place. The mesh stays; the device map leads to a device of rank 1. A view
/// has no device map, so its mesh becomes a mesh of rank 1.
/// Law: map'(q) = [row-major number of map(q)].
Result<Placement> with_numbered_places(const Placement& placement);

/// The same placement on a mesh of rank 1. If the device map is linear, the places of that mesh are
/// the numbers of the physical places, and there is no device map. Otherwise they are the numbers
/// of the places of the mesh, and the device map is a table of the numbers of their physical
/// places. kTooLarge for tables of more than 2^22 places; kNotSupported for a map that stacks
/// places.
Result<Placement> on_numbered_mesh(const Placement& placement);

/// The mesh of the device: that of the device map, or without one the mesh of the placement.
const Shape& device_of(const Placement& placement);

}  // namespace tessera
