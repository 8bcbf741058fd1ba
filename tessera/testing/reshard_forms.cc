// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/reshard_forms.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "tessera/testing/naive.h"

namespace tessera::test {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

std::int64_t ceil_of(std::int64_t n, std::int64_t d) { return n / d + (n % d > 0 ? 1 : 0); }

Cut on_axis(std::size_t axis, std::int64_t width, std::int64_t count, std::int64_t stride) {
  return Cut{width, count, Target::mesh(static_cast<int>(axis)), stride, Cause::kGrid};
}

/// A virtual axis straight onto a physical one: at an origin, every other place, backwards.
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

Arrangement by_table(Dice& dice, const Shape& ground) {
  std::int64_t left = ground.elements();
  std::vector<std::int64_t> extents;
  for (std::int64_t axes = dice.between(1, 3); axes > 0; --axes) {
    extents.push_back(dice.between(1, axes == 1 ? left : std::min<std::int64_t>(left, 4)));
    left /= extents.back();
  }
  Shape mesh = *Shape::make(extents);
  const std::vector<std::size_t> order = dice.order(at(ground.elements()));
  std::vector<Place> places;
  for (std::size_t v = 0; v < at(mesh.elements()); ++v) {
    places.push_back(ground.delinear(static_cast<std::int64_t>(order[v])));
  }
  return {std::move(mesh), DeviceMap::table(ground, std::move(places))};
}

/// Pages over banks: the places of one line (or of one line of each column) take turns.
Arrangement stacked(Dice& dice, const Shape& ground) {
  const std::int64_t banks = dice.between(1, ground[0]);
  const std::int64_t pages = dice.between(1, 3 * banks);
  Cut layer{banks, ceil_of(pages, banks), Target::memory(), 1, Cause::kAlignment};
  std::vector<Fold> folds = {
      Fold{{Term{0, 1}}, 0, {layer, on_axis(0, 1, std::min(banks, pages), 1)}}};
  if (ground.rank() == 1) return {*Shape::make({pages}), DeviceMap::folded(ground, folds)};
  const std::int64_t cols = dice.between(1, ground[1]);
  folds.push_back(Fold{{Term{1, 1}}, 0, {on_axis(1, 1, cols, 1)}});
  return {*Shape::make({pages, cols}), DeviceMap::folded(ground, folds)};
}

/// n places in a row (or in a column, or by number) over both axes of a sub-mesh.
Arrangement virtual_grid(Dice& dice, const Shape& ground) {
  const std::int64_t rows = dice.between(1, ground[0]);
  const std::int64_t cols = dice.between(1, ground[1]);
  const std::int64_t n = dice.chance(70) ? rows * cols : dice.between(1, rows * cols);
  const std::int64_t kind = dice.below(3);
  Fold fold{{Term{kind == 0 ? 1 : 0, 1}}, 0, {}};
  if (dice.chance(70)) {
    fold.cuts = {on_axis(0, cols, ceil_of(n, cols), 1), on_axis(1, 1, std::min(n, cols), 1)};
  } else {
    fold.cuts = {on_axis(1, rows, ceil_of(n, rows), 1), on_axis(0, 1, std::min(n, rows), 1)};
  }
  std::vector<std::int64_t> mesh = {n};
  if (kind == 0) mesh = {1, n};
  if (kind == 1) mesh = {n, 1};
  const Place origin = {dice.below(ground[0] - rows + 1), dice.below(ground[1] - cols + 1)};
  return {*Shape::make(mesh), DeviceMap::folded(ground, {fold}, origin)};
}

/// A form under construction: how much of each axis is taken, in units of its innermost digit.
struct Builder {
  Dice& dice;
  Form form;
  std::vector<std::int64_t> taken;  ///< one past the last coordinate that digits reach

  std::int64_t room(std::size_t axis) const { return form.mesh[axis] / taken[axis]; }

  /// The stride of a digit of `count` values beyond what there is on the axis.
  std::int64_t take(std::size_t axis, std::int64_t count) {
    std::int64_t stride = taken[axis];
    const std::int64_t spare = form.mesh[axis] - taken[axis] - (count - 1) * stride;
    if (count > 1 && dice.chance(10)) stride += dice.below(spare / (count - 1) + 1);
    taken[axis] += std::max<std::int64_t>(count - 1, 0) * stride;
    return stride;
  }

  std::size_t any_axis() { return at(dice.below(static_cast<std::int64_t>(form.mesh.rank()))); }

  void fill(Fill::Kind kind, std::size_t axis, std::int64_t count, Reduction reduction) {
    Fill fill;
    fill.axis = static_cast<int>(axis);
    fill.kind = kind;
    fill.reduction = reduction;
    fill.count = count;
    fill.stride = take(axis, count);
    form.fills.push_back(fill);
  }
};

/// The chain of one line. Digits on axes have their strides, those in memory get theirs later.
void cut_line(Builder& builder, Fold& fold) {
  Dice& dice = builder.dice;
  const std::int64_t extent = naive_extent(fold, builder.form.shape);
  const std::int64_t line = std::max<std::int64_t>(extent, 1);
  struct Level {
    std::int64_t width;
    int axis;  ///< -1: memory
  };
  std::vector<Level> levels = {{1, -1}};
  const std::int64_t kind = builder.form.mesh.rank() == 0 ? 0 : dice.below(8);
  if (kind >= 1) {
    const std::size_t axis = builder.any_axis();
    const std::int64_t places =
        dice.chance(75) ? builder.room(axis) : dice.between(1, builder.room(axis));
    if (kind <= 4) {  // blocks
      const std::int64_t width = ceil_of(line, places);
      levels.insert(levels.begin(), {width, static_cast<int>(axis)});
      if (kind == 4) levels.insert(levels.begin() + 1, {dice.between(1, width), -1});
    } else if (kind == 5) {  // dealt out, block by block
      const std::int64_t block = dice.between(1, std::max<std::int64_t>(line / places, 1));
      levels = {{block * places, -1}, {block, static_cast<int>(axis)}, {1, -1}};
    } else if (builder.form.mesh.rank() > 1) {  // over two axes
      std::size_t other = builder.any_axis();
      if (other == axis) other = (axis + 1) % builder.form.mesh.rank();
      const std::int64_t inner = ceil_of(line, places * builder.room(other));
      const std::int64_t outer = ceil_of(ceil_of(line, inner), places) * inner;
      levels = {{outer, static_cast<int>(axis)}, {inner, static_cast<int>(other)}, {1, -1}};
      if (kind == 7 && inner > 1) {  // whole rows, then dealt out over columns
        levels = {{outer, static_cast<int>(axis)}, {1, static_cast<int>(other)}};
        if (ceil_of(outer, 1) > builder.room(other)) {
          levels = {{outer, static_cast<int>(axis)},
                    {builder.room(other), -1},
                    {1, static_cast<int>(other)}};
        }
      }
    }
  } else if (dice.chance(40)) {
    levels.insert(levels.begin(), {dice.between(1, line), -1});
  }
  for (const Level& level : levels) fold.cuts.push_back(Cut{level.width});
  const std::vector<std::int64_t> needed = naive_needed(fold, builder.form.shape);
  for (std::size_t k = 0; k < levels.size(); ++k) {
    Cut& cut = fold.cuts[k];
    cut.count = needed[k];
    if (levels[k].axis < 0) {
      if (dice.chance(10)) cut.count += dice.between(1, 2);
      continue;
    }
    const auto axis = at(levels[k].axis);
    if (needed[k] > builder.room(axis)) continue;  // stays in memory
    cut.target = Target::mesh(levels[k].axis);
    cut.cause = Cause::kGrid;
    cut.stride = builder.take(axis, needed[k]);
  }
}

void stack_memory(Builder& builder) {
  std::vector<Cut*> cuts;
  for (Fold& fold : builder.form.folds) {
    for (Cut& cut : fold.cuts) {
      if (cut.target.is_memory()) cuts.push_back(&cut);
    }
  }
  std::int64_t stride = 1;
  std::vector<std::size_t> order = Dice(0, 0).order(cuts.size());
  if (builder.dice.chance(40)) order = builder.dice.order(cuts.size());
  std::reverse(order.begin(), order.end());
  for (const std::size_t i : order) {
    cuts[i]->stride = stride;
    stride *= std::max<std::int64_t>(cuts[i]->count, 1);
    if (builder.dice.chance(5)) stride += builder.dice.between(1, 3);
  }
  if (builder.dice.chance(8)) builder.form.offset = builder.dice.between(1, 4);
}

}  // namespace

Arrangement random_arrangement(Dice& dice, const Shape& ground, bool plain) {
  const std::int64_t kind = dice.below(16);
  if (kind == 15) return {dice.chance(50) ? Shape() : *Shape::make({1, 1}), {}};
  if (ground.rank() == 1 && kind >= 11) {  // rows and columns, by their numbers
    const std::int64_t rows = dice.between(1, ground[0]);
    return {*Shape::make({rows, dice.between(1, ground[0] / rows)}), {}};
  }
  if (kind >= 13) {
    const std::int64_t all = ground.elements();
    return {*Shape::make({dice.chance(60) ? all : dice.between(1, all)}), {}};
  }
  std::vector<std::int64_t> extents = ground.extents();
  for (std::int64_t& extent : extents) {
    if (dice.chance(40)) extent = dice.between(1, extent);
  }
  if (plain || kind < 5) return {*Shape::make(extents), {}};
  if (kind < 7) return by_table(dice, ground);
  if (ground.rank() > 2) return {*Shape::make(extents), {}};
  if (kind == 7) return stacked(dice, ground);
  if (ground.rank() == 2 && kind < 10) return virtual_grid(dice, ground);
  Place origin(ground.rank(), 0);
  std::vector<Fold> folds;
  if (ground.rank() == 2 && kind == 12 && dice.chance(50)) {  // a staircase: (r, (r + c) mod cols)
    const std::int64_t line = extents[0] + extents[1] - 1;
    const Cut wrap{ground[1], ceil_of(line, ground[1]), Target::nothing(), 1, Cause::kGrid};
    folds = {
        Fold{{Term{0, 1}}, 0, {on_axis(0, 1, extents[0], 1)}},
        Fold{{Term{0, 1}, Term{1, 1}}, 0, {wrap, on_axis(1, 1, std::min(ground[1], line), 1)}}};
    return {*Shape::make(extents), DeviceMap::folded(ground, folds)};
  }
  const bool exchanged = ground.rank() == 2 && kind >= 11;
  std::vector<std::int64_t> mesh = extents;
  if (exchanged) std::swap(mesh[0], mesh[1]);
  for (std::size_t axis = 0; axis < ground.rank(); ++axis) {
    const int from = static_cast<int>(exchanged ? 1 - axis : axis);
    folds.push_back(straight(dice, from, axis, extents[axis], ground[axis], origin[axis]));
  }
  return {*Shape::make(mesh), DeviceMap::folded(ground, folds, origin)};
}

Form random_mesh_form(Dice& dice, const Shape& shape, const Shape& mesh,
                      const WantedShares& shares) {
  Builder builder{dice, {}, std::vector<std::int64_t>(mesh.rank(), 1)};
  builder.form.shape = shape;
  builder.form.mesh = mesh;
  bool shared = shares.count == 1;
  const auto share = [&] {
    for (std::size_t axis = 0; axis < mesh.rank() && !shared; ++axis) {
      if (builder.room(axis) < shares.count) continue;
      builder.fill(Fill::Kind::kPartial, axis, shares.count, shares.reduction);
      shared = true;
    }
  };
  if (dice.chance(70)) share();
  if (mesh.rank() > 0 && dice.chance(12)) {  // copies side by side: digits step over them
    const std::size_t axis = builder.any_axis();
    builder.fill(Fill::Kind::kReplicate, axis, dice.between(1, builder.room(axis)), {});
  }
  for (const std::size_t d :
       dice.chance(40) ? dice.order(shape.rank()) : Dice(0, 0).order(shape.rank())) {
    Fold fold;
    const int dim = static_cast<int>(d);
    const bool flip = dice.chance(10);
    fold.terms = {Term{dim, flip ? -1 : 1}};
    if (flip) fold.start = std::max<std::int64_t>(shape[d] - 1, 0);
    if (dice.chance(8)) fold.start += dice.between(1, 3);
    builder.form.folds.push_back(std::move(fold));
  }
  if (builder.form.folds.size() > 1 && dice.chance(15)) {  // one line over two dims
    Fold last = builder.form.folds.back();
    builder.form.folds.pop_back();
    Fold& line = builder.form.folds.back();
    const std::int64_t step = std::max<std::int64_t>(naive_extent(last, shape), 1);
    line.start = line.start * step + last.start;
    for (Term& term : line.terms) term.coef *= step;
    line.terms.insert(line.terms.end(), last.terms.begin(), last.terms.end());
  }
  for (Fold& fold : builder.form.folds) cut_line(builder, fold);
  share();
  for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
    const std::int64_t room = builder.room(axis);
    const std::int64_t kind = dice.below(4);
    if (kind >= 2 && room > 1) {
      const std::int64_t count = dice.chance(60) ? room : dice.between(1, room);
      builder.fill(Fill::Kind::kReplicate, axis, count, {});
    } else {
      const std::int64_t value = dice.below(mesh[axis] - builder.taken[axis] + 1);
      builder.form.fills.push_back(Fill::fixed(static_cast<int>(axis), kind == 1 ? value : 0));
    }
  }
  stack_memory(builder);
  return std::move(builder.form);
}

}  // namespace tessera::test
