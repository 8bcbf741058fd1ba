// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include "tessera/testing/reshard/reshard_forms.h"

namespace tessera::test {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

std::int64_t ceil_of(std::int64_t n, std::int64_t d) { return n / d + (n % d > 0 ? 1 : 0); }

Cut on_axis(std::size_t axis, std::int64_t width, std::int64_t count, std::int64_t stride) {
  return Cut{width, count, Target::mesh(static_cast<int>(axis)), stride, Cause::kGrid};
}

/// A virtual axis mapped to one physical axis: at an origin, every other place, backwards.
Fold straight(Dice& dice, int virtual_axis, std::size_t axis, std::int64_t count, std::int64_t room,
              std::int64_t& origin) {
  const std::int64_t most = count > 1 ? (room - 1) / (count - 1) : 1;
  const std::int64_t stride = dice.chance(30) ? dice.between(1, most) : 1;
  const bool mirrored = dice.chance(25);
  origin = dice.below(room - (count - 1) * stride);
  return Fold{{Term{virtual_axis, mirrored ? -1 : 1}},
              mirrored ? count - 1 : 0,
              {on_axis(axis, 1, count, stride)}};
}

Arrangement by_table(Dice& dice, const Shape& physical) {
  std::int64_t left = physical.elements();
  std::vector<std::int64_t> extents;
  for (std::int64_t axes = dice.between(1, 3); axes > 0; --axes) {
    extents.push_back(dice.between(1, axes == 1 ? left : std::min<std::int64_t>(left, 4)));
    left /= extents.back();
  }
  Shape mesh = *Shape::make(extents);
  const std::vector<std::size_t> order = dice.order(at(physical.elements()));
  std::vector<Place> places;
  for (std::size_t v = 0; v < at(mesh.elements()); ++v) {
    places.push_back(physical.delinear(static_cast<std::int64_t>(order[v])));
  }
  return {std::move(mesh), DeviceMap::table(physical, std::move(places))};
}

/// Pages over banks: the places of one line (or of one line of each column) take turns.
Arrangement stacked(Dice& dice, const Shape& physical) {
  const std::int64_t banks = dice.between(1, physical[0]);
  const std::int64_t pages = dice.between(1, 3 * banks);
  Cut layer{banks, ceil_of(pages, banks), Target::memory(), 1, Cause::kAlignment};
  std::vector<Fold> folds = {
      Fold{{Term{0, 1}}, 0, {layer, on_axis(0, 1, std::min(banks, pages), 1)}}};
  if (physical.rank() == 1) return {*Shape::make({pages}), DeviceMap::folded(physical, folds)};
  const std::int64_t cols = dice.between(1, physical[1]);
  folds.push_back(Fold{{Term{1, 1}}, 0, {on_axis(1, 1, cols, 1)}});
  return {*Shape::make({pages, cols}), DeviceMap::folded(physical, folds)};
}

/// n places in a row (or in a column, or by number, or row by row of two axes) over both axes of a
/// sub-mesh. The map's own mesh is the physical mesh, or just large enough.
Arrangement virtual_grid(Dice& dice, const Shape& physical) {
  const std::int64_t rows = dice.between(1, physical[0]);
  const std::int64_t cols = dice.between(1, physical[1]);
  std::int64_t n = dice.chance(70) ? rows * cols : dice.between(1, rows * cols);
  const std::int64_t kind = dice.below(4);
  const std::int64_t width = dice.between(1, n);
  if (kind == 3) n -= n % width;
  Fold fold{{Term{kind == 0 ? 1 : 0, 1}}, 0, {}};
  if (dice.chance(70)) {
    fold.cuts = {on_axis(0, cols, ceil_of(n, cols), 1), on_axis(1, 1, std::min(n, cols), 1)};
  } else {
    fold.cuts = {on_axis(1, rows, ceil_of(n, rows), 1), on_axis(0, 1, std::min(n, rows), 1)};
  }
  std::vector<std::int64_t> mesh = {n};
  if (kind == 0) mesh = {1, n};
  if (kind == 1) mesh = {n, 1};
  if (kind == 3) {
    mesh = {n / width, width};
    fold.terms = {Term{0, width}, Term{1, 1}};
  }
  const Place origin = {dice.below(physical[0] - rows + 1), dice.below(physical[1] - cols + 1)};
  const Shape within =
      dice.chance(50) ? physical : *Shape::make({origin[0] + rows, origin[1] + cols});
  return {*Shape::make(mesh), DeviceMap::folded(within, {fold}, origin)};
}

}  // namespace

Arrangement random_arrangement(Dice& dice, const Shape& physical, bool plain) {
  const std::int64_t kind = dice.below(16);
  if (kind == 15) return {dice.chance(50) ? Shape() : *Shape::make({1, 1}), {}};
  if (physical.rank() == 1 && kind >= 11) {  // rows and columns, by their numbers
    const std::int64_t rows = dice.between(1, physical[0]);
    return {*Shape::make({rows, dice.between(1, physical[0] / rows)}), {}};
  }
  if (kind >= 13) {
    const std::int64_t all = physical.elements();
    return {*Shape::make({dice.chance(60) ? all : dice.between(1, all)}), {}};
  }
  std::vector<std::int64_t> extents = physical.extents();
  for (std::int64_t& extent : extents) {
    if (dice.chance(40)) extent = dice.between(1, extent);
  }
  if (plain || kind < 5) return {*Shape::make(extents), {}};
  if (kind < 7) return by_table(dice, physical);
  if (physical.rank() > 2) return {*Shape::make(extents), {}};
  if (kind == 7) return stacked(dice, physical);
  if (physical.rank() == 2 && kind < 10) return virtual_grid(dice, physical);
  Place origin(physical.rank(), 0);
  std::vector<Fold> folds;
  if (physical.rank() == 2 && kind == 12 &&
      dice.chance(50)) {  // a staircase: (r, (r + c) mod cols)
    const std::int64_t line = extents[0] + extents[1] - 1;
    const Cut wrap{physical[1], ceil_of(line, physical[1]), Target::nothing(), 1, Cause::kGrid};
    folds = {
        Fold{{Term{0, 1}}, 0, {on_axis(0, 1, extents[0], 1)}},
        Fold{{Term{0, 1}, Term{1, 1}}, 0, {wrap, on_axis(1, 1, std::min(physical[1], line), 1)}}};
    return {*Shape::make(extents), DeviceMap::folded(physical, folds)};
  }
  const bool exchanged = physical.rank() == 2 && kind >= 11;
  std::vector<std::int64_t> mesh = extents;
  if (exchanged) std::swap(mesh[0], mesh[1]);
  for (std::size_t axis = 0; axis < physical.rank(); ++axis) {
    const int from = static_cast<int>(exchanged ? 1 - axis : axis);
    folds.push_back(straight(dice, from, axis, extents[axis], physical[axis], origin[axis]));
  }
  return {*Shape::make(mesh), DeviceMap::folded(physical, folds, origin)};
}

}  // namespace tessera::test
