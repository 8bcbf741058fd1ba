// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include "tessera/testing/naive.h"
#include "tessera/testing/reshard/reshard_forms.h"
#include "tessera/testing/views.h"

namespace tessera::test {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// One side of a pair under construction.
struct Side {
  Dice& dice;
  const Shape& shape;
  DType dtype;
  const reshard::PhysicalMesh& physical;
  WantedShares shares;

  LayoutSpec spec(Form form, DeviceMap map = {}) const {
    LayoutSpec result;
    result.form = std::move(form);
    result.dtype = dtype;
    result.atom = Atom::scalar(dtype);
    result.device_map = std::move(map);
    return result;
  }

  std::optional<Placement> whole() {
    const Arrangement arrangement = random_arrangement(dice, physical.mesh, false);
    Form form = random_mesh_form(dice, shape, arrangement.mesh, shares);
    Result<Layout> layout = Layout::make(spec(std::move(form), arrangement.map));
    if (!layout.ok()) return std::nullopt;
    return Placement(*std::move(layout));
  }

  /// Places by any strides, and copies that overlap: only a view may do this.
  std::optional<Placement> overlapping() {
    const Arrangement arrangement = random_arrangement(dice, physical.mesh, true);
    Form form = random_mesh_form(dice, shape, arrangement.mesh, shares);
    for (Fold& fold : form.folds) {
      for (Cut& cut : fold.cuts) {
        if (cut.target.is_mesh() && dice.chance(50)) cut.stride = dice.between(1, cut.stride);
      }
    }
    if (form.mesh.rank() > 0 && dice.chance(50)) {
      const int axis = static_cast<int>(dice.below(static_cast<std::int64_t>(form.mesh.rank())));
      form.fills.push_back(Fill::replicate(axis, dice.between(2, 3), 1));
      std::erase_if(form.fills, [&](const Fill& fill) {
        return fill.kind == Fill::Kind::kFixed && fill.axis == axis;
      });
    }
    Result<View> view = View::make(std::move(form), dtype, Atom::scalar(dtype));
    if (!view.ok()) return std::nullopt;
    return Placement(*std::move(view));
  }

  /// A slice, transpose or repetition of a layout of another shape.
  std::optional<Placement> viewed() {
    const std::int64_t kind = dice.below(3);
    const std::size_t rank = shape.rank();
    if (rank == 0) return std::nullopt;
    std::vector<std::int64_t> extents = shape.extents();
    const auto dim = at(dice.below(static_cast<std::int64_t>(rank)));
    const std::int64_t step = dice.between(1, 2);
    const std::int64_t start = dice.below(3);
    std::vector<std::size_t> order = dice.order(rank);
    if (kind == 0) extents[dim] = start + step * extents[dim] + dice.below(2);
    if (kind == 1) {
      for (std::size_t i = 0; i < rank; ++i) extents[order[i]] = shape[i];
    }
    if (kind == 2) extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(dim));
    const Shape base_shape = *Shape::make(extents);
    const Arrangement arrangement = random_arrangement(dice, physical.mesh, true);
    const Result<Layout> base =
        Layout::make(spec(random_mesh_form(dice, base_shape, arrangement.mesh, shares)));
    if (!base.ok()) return std::nullopt;
    std::optional<Result<View>> view;
    if (kind == 0) {
      const bool backwards = dice.chance(30) && shape[dim] > 0;
      view = View::of(*base).slice(static_cast<int>(dim),
                                   backwards ? start + step * (shape[dim] - 1) : start, shape[dim],
                                   backwards ? -step : step);
    } else if (kind == 1) {
      view = View::of(*base).transpose(std::vector<int>(order.begin(), order.end()));
    } else {
      view = View::of(*base).broadcast(static_cast<int>(dim), shape[dim]);
    }
    if (!view->ok()) return std::nullopt;
    return Placement(**std::move(view));
  }

  /// Two or three boxes along one dim, each with its own rule and slots.
  std::optional<Placement> in_pieces() {
    if (shape.rank() == 0) return std::nullopt;
    const auto dim = at(dice.below(static_cast<std::int64_t>(shape.rank())));
    const std::int64_t boxes = dice.between(2, 3);
    const Arrangement arrangement = random_arrangement(dice, physical.mesh, false);
    std::vector<LayoutPiece> pieces;
    std::int64_t from = 0;
    std::int64_t slots = 0;
    for (std::int64_t b = 0; b < boxes; ++b) {
      const std::int64_t to = b + 1 == boxes ? shape[dim] : dice.between(from, shape[dim]);
      Box box{std::vector<std::int64_t>(shape.rank(), 0), shape.extents()};
      box.from[dim] = from;
      box.to[dim] = to;
      std::vector<std::int64_t> extents = shape.extents();
      extents[dim] = to - from;
      from = to;
      WantedShares own = shares;
      if (dice.chance(10)) own.count = 1;
      Form form = random_mesh_form(dice, *Shape::make(extents), arrangement.mesh, own);
      form.offset += slots;
      slots = std::max(slots, naive_reach(form));
      Result<Layout> layout = Layout::make(spec(std::move(form), arrangement.map));
      if (!layout.ok()) return std::nullopt;
      pieces.push_back({std::move(box), *std::move(layout)});
    }
    Result<Piecewise> whole_tensor = Piecewise::by_rule(shape, std::move(pieces));
    if (!whole_tensor.ok()) return std::nullopt;
    return Placement(*std::move(whole_tensor));
  }

  /// Any combination of fold, cut and place that lies on the physical mesh.
  std::optional<Placement> wild() {
    const Limits limits{.max_mesh_rank = 2, .max_places = physical.mesh.elements()};
    const std::optional<Layout> layout = random_layout_of(dice, shape, dtype, limits, 3);
    if (!layout) return std::nullopt;
    if (dice.chance(70)) return Placement(*layout);
    const View view = random_view(dice, *layout, 2).view;
    if (view.shape() != shape) return std::nullopt;
    return Placement(view);
  }

  std::optional<Placement> any() {
    const std::int64_t kind = dice.below(20);
    if (kind == 19) return in_pieces();
    if (kind >= 17) return overlapping();
    if (kind >= 15) return viewed();
    if (kind == 14) return wild();
    return whole();
  }
};

}  // namespace

std::optional<Placement> random_side(Dice& dice, const Shape& shape, DType dtype,
                                     const reshard::PhysicalMesh& physical,
                                     const WantedShares& shares) {
  return Side{dice, shape, dtype, physical, shares}.any();
}

std::optional<Placement> related_side(Dice& dice, const Placement& other,
                                      const reshard::PhysicalMesh& physical) {
  if (other.layout() == nullptr) return other;
  LayoutSpec changed = other.layout()->spec();
  Form& form = changed.form;
  const std::int64_t kind = dice.below(4);
  if (kind == 0 && form.mesh.rank() == 2) {
    form.mesh = *Shape::make({form.mesh[1], form.mesh[0]});
    for (Fold& fold : form.folds) {
      for (Cut& cut : fold.cuts) {
        if (cut.target.is_mesh()) cut.target = Target::mesh(1 - cut.target.axis());
      }
    }
    for (Fill& fill : form.fills) fill.axis = 1 - fill.axis;
    changed.device_map = DeviceMap::identity();
  }
  if (kind == 1) {
    changed.device_map = DeviceMap::identity();
    std::vector<Place> places;
    for (const std::size_t p : dice.order(at(physical.mesh.elements()))) {
      if (places.size() == at(form.mesh.elements())) break;
      places.push_back(physical.mesh.delinear(static_cast<std::int64_t>(p)));
    }
    if (dice.chance(60)) changed.device_map = DeviceMap::table(physical.mesh, places);
  }
  for (Fill& fill : form.fills) {
    if (kind != 2) continue;
    fill.kind = static_cast<Fill::Kind>(dice.below(3));
    if (fill.count == 1) fill.count = dice.between(1, form.mesh[at(fill.axis)]);
  }
  if (kind == 3) {
    for (Fold& fold : form.folds) {
      for (Cut& cut : fold.cuts) {
        if (cut.target.is_memory()) cut.stride *= 2;
      }
    }
    changed.slots.reset();
  }
  Result<Layout> layout = Layout::make(std::move(changed));
  if (!layout.ok()) return std::nullopt;
  return Placement(*std::move(layout));
}

}  // namespace tessera::test
