// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/raising/one_rule.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/layout/placement.h"

namespace tessera::notation {
namespace {

constexpr std::int64_t kMostSteps = std::int64_t{1} << 16;

/// A coordinate on each mesh axis, then the slot.
using Move = std::vector<std::int64_t>;

Move move_to(const Placement& placement, const Index& index) {
  const auto [form, inner] = placement.form_at(index);
  Move move;
  std::int64_t slot = 0;
  form->evaluate(inner, move, slot);
  move.push_back(slot);
  return move;
}

/// One digit of a dim: its width in elements, and its move per step.
struct Digit {
  std::int64_t width = 1;
  Move move;
};

/// The digits of a dim, narrowest first: each one continues as long as its steps are equal.
std::vector<Digit> digits_along(const Placement& placement, std::size_t dim, const Move& origin) {
  const std::int64_t extent = placement.shape()[dim];
  const auto at = [&](std::int64_t x) {
    Index index(placement.shape().rank(), 0);
    index[dim] = x;
    Move move = move_to(placement, index);
    for (std::size_t i = 0; i < move.size(); ++i) move[i] -= origin[i];
    return move;
  };
  std::vector<Digit> digits;
  for (std::int64_t width = 1; width < extent;) {
    digits.push_back({width, at(width)});
    std::int64_t steps = 2;
    for (; steps * width < extent; ++steps) {
      const Move there = at(steps * width);
      bool alike = true;
      for (std::size_t i = 0; i < there.size(); ++i) {
        alike = alike && there[i] == steps * digits.back().move[i];
      }
      if (!alike) break;
    }
    width *= steps;
  }
  return digits;
}

/// The fold of a dim onto one mesh axis, or into memory; nullopt when a step is negative.
std::optional<Fold> fold_of(const std::vector<Digit>& digits, std::size_t dim, std::size_t part,
                            std::size_t axes, const Shape& shape) {
  Fold fold;
  fold.terms = {{static_cast<int>(dim), 1}};
  const Target target = part == axes ? Target::memory() : Target::mesh(static_cast<int>(part));
  for (std::size_t i = digits.size(); i-- > 0;) {
    const std::int64_t stride = digits[i].move[part];
    if (stride < 0) return std::nullopt;
    fold.cuts.push_back({digits[i].width, 1, stride == 0 ? Target::nothing() : target,
                         std::max<std::int64_t>(stride, 1), default_cause(true, target)});
  }
  const std::vector<std::int64_t> needed = fold.needed(shape);
  for (std::size_t k = 0; k < needed.size(); ++k) fold.cuts[k].count = needed[k];
  return fold;
}

/// `spec` has all but the folds, the constants and the slots.
std::optional<Layout> followed(const Placement& placement, LayoutSpec spec) {
  const Shape& shape = placement.shape();
  if (shape.empty()) return std::nullopt;
  const std::size_t axes = placement.mesh().rank();
  const Move origin = move_to(placement, Index(shape.rank(), 0));
  spec.form.shape = shape;
  spec.form.folds.clear();
  spec.form.offset = origin.back();
  spec.slots = placement.slots();
  std::erase_if(spec.form.fills, [](const Fill& fill) { return fill.kind == Fill::Kind::kFixed; });
  for (std::size_t axis = 0; axis < axes; ++axis) {
    spec.form.fills.push_back(Fill::fixed(static_cast<int>(axis), origin[axis]));
  }
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    if (shape[dim] > kMostSteps) return std::nullopt;
    const std::vector<Digit> digits = digits_along(placement, dim, origin);
    for (std::size_t part = 0; part <= axes && !digits.empty(); ++part) {
      const bool moves = std::any_of(digits.begin(), digits.end(),
                                     [&](const Digit& digit) { return digit.move[part] != 0; });
      if (!moves) continue;
      std::optional<Fold> fold = fold_of(digits, dim, part, axes, shape);
      if (!fold) return std::nullopt;
      spec.form.folds.push_back(*std::move(fold));
    }
  }
  Result<Layout> layout = Layout::make(std::move(spec));
  if (!layout || layout->slots() != placement.slots()) return std::nullopt;
  const Result<Comparison> same = same_placement(*layout, placement);
  return same && same->equal ? std::optional(*std::move(layout)) : std::nullopt;
}

}  // namespace

std::optional<Layout> one_rule(const Piecewise& pieces) {
  return followed(pieces, pieces.pieces().front().layout.spec());
}

std::optional<Layout> one_rule(const Layout& layout) { return followed(layout, layout.spec()); }

}  // namespace tessera::notation
