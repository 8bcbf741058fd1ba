// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/generate.h"

#include <algorithm>
#include <numeric>

#include "tessera/testing/naive.h"

namespace tessera::test {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

Shape random_shape(Dice& dice, const Limits& limits) {
  const std::int64_t rank = dice.chance(97) ? dice.between(1, limits.max_rank) : 0;
  std::vector<std::int64_t> extents;
  std::int64_t elements = 1;
  for (std::int64_t d = 0; d < rank; ++d) {
    const std::int64_t room = std::min(limits.max_extent, limits.max_elements / elements);
    const std::int64_t extent =
        dice.chance(3) ? 0 : 1 + dice.below(std::max<std::int64_t>(room, 1));
    extents.push_back(extent);
    elements *= std::max<std::int64_t>(extent, 1);
  }
  return *Shape::make(extents);
}

/// A line over `dims`, from slowest to fastest: exact, gapped, or (if `wild`) with any
/// coefficients.
Fold random_line(Dice& dice, const Shape& shape, const std::vector<int>& dims, bool wild) {
  Fold fold;
  std::int64_t coef = dice.chance(15) ? dice.between(2, 3) : 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    const std::int64_t extent = shape[at(dims[i])];
    const bool flip = dice.chance(15);
    fold.terms.insert(fold.terms.begin(), Term{dims[i], flip ? -coef : coef});
    if (flip) fold.start += coef * std::max<std::int64_t>(extent - 1, 0);
    coef *= std::max<std::int64_t>(extent, 1);
    if (dice.chance(20)) coef += dice.between(1, 3);
    if (wild && dice.chance(40)) coef = dice.between(1, 6);
  }
  if (dice.chance(12)) fold.start += dice.between(1, 5);
  return fold;
}

/// Widths for a line of length `extent`: dividing, not dividing, or growing; the last is 1.
std::vector<std::int64_t> random_widths(Dice& dice, std::int64_t extent) {
  std::vector<std::int64_t> widths = {1};
  const std::int64_t more = dice.chance(50) ? dice.between(1, 3) : 0;
  const bool dividing = dice.chance(40);
  for (std::int64_t i = 0; i < more; ++i) {
    const std::int64_t width =
        dividing ? widths.front() * dice.between(2, 4) : dice.between(1, extent + 2);
    widths.insert(widths.begin(), width);
  }
  return widths;
}

struct Digit {
  std::int64_t count;
  std::int64_t* stride;
};

/// Gives the digits of one target strides so that they do not overlap: in a random order, each
/// larger than the total reach of those before it, sometimes with a gap. Occasionally strides are
/// arbitrary.
void spread(Dice& dice, std::vector<Digit> digits, int gap_percent, bool wild) {
  std::int64_t reach = 0;
  const bool arbitrary = wild ? dice.chance(60) : dice.chance(5);
  std::vector<std::size_t> order(digits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::reverse(order.begin(), order.end());
  if (dice.chance(40)) order = dice.order(digits.size());
  for (const std::size_t i : order) {
    *digits[i].stride = arbitrary ? dice.between(1, 6) : reach + 1;
    if (dice.chance(gap_percent)) *digits[i].stride += dice.between(1, 3);
    reach += std::max<std::int64_t>(digits[i].count - 1, 0) * *digits[i].stride;
  }
}

Target random_target(Dice& dice, std::int64_t mesh_rank, std::int64_t needed, bool wild) {
  if (mesh_rank > 0 && dice.chance(40))
    return Target::mesh(static_cast<int>(dice.below(mesh_rank)));
  if (dice.chance(needed <= 1 ? 25 : (wild ? 12 : 3))) return Target::nothing();
  return Target::memory();
}

void add_chain(Dice& dice, const Shape& shape, std::int64_t mesh_rank, bool wild, Fold& fold) {
  for (const std::int64_t width : random_widths(dice, naive_extent(fold, shape))) {
    Cut cut;
    cut.width = width;
    fold.cuts.push_back(cut);
  }
  const std::vector<std::int64_t> needed = naive_needed(fold, shape);
  for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
    Cut& cut = fold.cuts[k];
    cut.count = needed[k] + (dice.chance(15) ? dice.between(1, 2) : 0);
    cut.target = random_target(dice, mesh_rank, needed[k], wild);
    cut.cause = dice.chance(50) ? static_cast<Cause>(dice.below(kCauses))
                                : default_cause(!fold.terms.empty(), cut.target);
  }
}

std::vector<Fold> random_folds(Dice& dice, const Shape& shape, std::int64_t mesh_rank, bool wild) {
  std::vector<std::vector<int>> groups;
  for (const std::size_t dim :
       dice.chance(30) ? dice.order(shape.rank()) : Dice(0, 0).order(shape.rank())) {
    if (wild && dice.chance(10)) continue;
    if (groups.empty() || !dice.chance(35)) groups.emplace_back();
    groups.back().push_back(static_cast<int>(dim));
  }
  if (shape.rank() > 0 && dice.chance(wild ? 30 : 12)) {  // dims that other folds have, too
    std::vector<int> again;
    for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
      if (dice.chance(50)) again.push_back(static_cast<int>(dim));
    }
    groups.push_back(again);
  }
  if (dice.chance(12)) groups.emplace_back();  // synthetic
  std::vector<Fold> folds;
  for (const std::vector<int>& dims : groups) {
    folds.push_back(random_line(dice, shape, dims, wild));
    add_chain(dice, shape, mesh_rank, wild, folds.back());
    if (dims.empty() && dice.chance(70)) folds.back().cuts.back().count += dice.between(1, 3);
  }
  return folds;
}

void add_fills(Dice& dice, std::int64_t mesh_rank, Form& form) {
  for (int axis = 0; axis < mesh_rank; ++axis) {
    if (dice.chance(20)) form.fills.push_back(Fill::replicate(axis, dice.between(1, 3)));
    if (dice.chance(10)) {
      // Two statements: compilers differ in the order in which they evaluate arguments.
      const Reduction reduction = dice.chance(70) ? Reduction::kSum : Reduction::kMax;
      form.fills.push_back(Fill::partial(axis, dice.between(1, 3), reduction));
    }
    if (dice.chance(12)) form.fills.push_back(Fill::fixed(axis, dice.below(3)));
  }
}

/// Strides of all digits and fills, and a mesh that holds them.
void settle(Dice& dice, std::int64_t mesh_rank, bool wild, Form& form) {
  std::vector<Digit> memory;
  std::vector<std::vector<Digit>> axes(at(mesh_rank));
  for (Fold& fold : form.folds) {
    for (Cut& cut : fold.cuts) {
      if (cut.target.is_memory()) memory.push_back({cut.count, &cut.stride});
      if (cut.target.is_mesh()) axes[at(cut.target.axis())].push_back({cut.count, &cut.stride});
    }
  }
  for (Fill& fill : form.fills) {
    if (fill.kind != Fill::Kind::kFixed) axes[at(fill.axis)].push_back({fill.count, &fill.stride});
  }
  spread(dice, memory, 12, wild);
  std::vector<std::int64_t> extents;
  std::vector<Fill> unsaid;  // added last: digits point into form.fills
  for (std::int64_t axis = 0; axis < mesh_rank; ++axis) {
    spread(dice, axes[at(axis)], 5, wild);
    std::int64_t last = 0;
    for (const Digit& digit : axes[at(axis)]) {
      last += std::max<std::int64_t>(digit.count - 1, 0) * *digit.stride;
    }
    bool said = !axes[at(axis)].empty();
    for (const Fill& fill : form.fills) {
      said = said || fill.axis == axis;
      if (fill.axis == axis && fill.kind == Fill::Kind::kFixed) last += fill.value;
    }
    if (dice.chance(15)) last += dice.between(1, 2);
    if (!said && last > 0)
      unsaid.push_back(Fill::fixed(static_cast<int>(axis), dice.below(last + 1)));
    extents.push_back(last + 1);
  }
  form.fills.insert(form.fills.end(), unsaid.begin(), unsaid.end());
  form.mesh = *Shape::make(extents);
  if (dice.chance(10)) form.offset = dice.between(1, 5);
}

Form candidate(Dice& dice, const Limits& limits, bool wild, const Shape* shape) {
  Form form;
  form.shape = shape != nullptr ? *shape : random_shape(dice, limits);
  const std::int64_t mesh_rank = dice.below(limits.max_mesh_rank + 1);
  form.folds = random_folds(dice, form.shape, mesh_rank, wild);
  add_fills(dice, mesh_rank, form);
  settle(dice, mesh_rank, wild, form);
  return form;
}

bool within(const Form& form, const Limits& limits) {
  std::int64_t replicas = 1;
  for (const Fill& fill : form.fills) replicas *= fill.count;
  return replicas <= form.mesh.elements() && form.mesh.elements() <= limits.max_places &&
         form.mesh.elements() * (naive_reach(form) + 8) <= limits.max_slots;
}

/// The first candidate within the limits, of `shape` if given; the empty form when there is none.
Form sized_form(Dice& dice, const Limits& limits, bool wild, const Shape* shape = nullptr) {
  for (int attempt = 0; attempt < 50; ++attempt) {
    Form form = candidate(dice, limits, wild, shape);
    if (within(form, limits)) return form;
  }
  return Form{};
}

}  // namespace

std::int64_t Dice::below(std::int64_t n) {
  if (n <= 1 || left_ <= 0) return 0;
  --left_;
  return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(n));
}

std::vector<std::size_t> Dice::order(std::size_t n) {
  std::vector<std::size_t> list(n);
  std::iota(list.begin(), list.end(), std::size_t{0});
  for (std::size_t i = n; i > 1; --i) {
    std::swap(list[i - 1], list[i - 1 - at(below(static_cast<std::int64_t>(i)))]);
  }
  return list;
}

LayoutSpec random_spec(Dice& dice, const Limits& limits) {
  LayoutSpec spec;
  spec.form = sized_form(dice, limits, false);
  constexpr DType kTypes[] = {DType::kF32, DType::kI8, DType::kI4, DType::kBF16};
  spec.dtype = kTypes[dice.below(4)];
  spec.atom = Atom::scalar(spec.dtype);
  if (dice.chance(15)) spec.slots = naive_reach(spec.form) + dice.between(0, 7);
  return spec;
}

std::optional<Layout> random_layout(Dice& dice, const Limits& limits, int attempts) {
  for (int attempt = 0; attempt < attempts; ++attempt) {
    Result<Layout> layout = Layout::make(random_spec(dice, limits));
    if (layout.ok()) return *std::move(layout);
  }
  return std::nullopt;
}

std::optional<Layout> random_layout_of(Dice& dice, const Shape& shape, DType dtype,
                                       const Limits& limits, int attempts) {
  for (int attempt = 0; attempt < attempts; ++attempt) {
    LayoutSpec spec;
    spec.form = sized_form(dice, limits, false, &shape);
    spec.dtype = dtype;
    spec.atom = Atom::scalar(dtype);
    if (dice.chance(15)) spec.slots = naive_reach(spec.form) + dice.between(0, 7);
    if (spec.form.shape != shape) continue;
    Result<Layout> layout = Layout::make(std::move(spec));
    if (layout.ok()) return *std::move(layout);
  }
  return std::nullopt;
}

Form random_form(Dice& dice, const Limits& limits) {
  return sized_form(dice, limits, dice.chance(70));
}

}  // namespace tessera::test
