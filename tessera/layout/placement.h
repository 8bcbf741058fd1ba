// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/compare.h"
#include "tessera/layout/layout.h"
#include "tessera/layout/piecewise.h"
#include "tessera/layout/view.h"

namespace tessera {

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

}  // namespace tessera
