// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/reshard/reshard_forms.h"

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

/// A form under construction: how much of each axis is in use, in units of its innermost digit.
struct Builder {
  Dice& dice;
  Form form;
  std::vector<std::int64_t> taken;  ///< one past the last coordinate that digits reach

  std::int64_t room(std::size_t axis) const { return form.mesh[axis] / taken[axis]; }

  /// The stride of a new digit of `count` values beyond those already on the axis.
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

/// The chain of one line. Digits on axes get their strides here, those in memory later.
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
    } else if (kind == 5) {  // cyclic, block by block
      const std::int64_t block = dice.between(1, std::max<std::int64_t>(line / places, 1));
      levels = {{block * places, -1}, {block, static_cast<int>(axis)}, {1, -1}};
    } else if (builder.form.mesh.rank() > 1) {  // over two axes
      std::size_t other = builder.any_axis();
      if (other == axis) other = (axis + 1) % builder.form.mesh.rank();
      const std::int64_t inner = ceil_of(line, places * builder.room(other));
      const std::int64_t outer = ceil_of(ceil_of(line, inner), places) * inner;
      levels = {{outer, static_cast<int>(axis)}, {inner, static_cast<int>(other)}, {1, -1}};
      if (kind == 7 && inner > 1) {  // whole rows, then cyclic over columns
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

/// All dims, row-major, as one line that is distributed over the places by their numbers: digits of
/// neighbouring axes form one combined digit.
void cut_flat(Builder& builder) {
  const Shape& shape = builder.form.shape;
  Fold line;
  const std::vector<std::int64_t> coefs = shape.row_major_strides();
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    line.terms.push_back(Term{static_cast<int>(dim), std::max<std::int64_t>(coefs[dim], 1)});
  }
  const Shape& mesh = builder.form.mesh;
  if (builder.dice.chance(20)) line.start = builder.dice.between(1, 3);
  const std::int64_t extent = std::max<std::int64_t>(naive_extent(line, shape), 1);
  std::int64_t width = ceil_of(extent, mesh.elements());
  line.cuts = {Cut{1}};
  for (std::size_t axis = mesh.rank(); axis-- > 0;) {
    line.cuts.insert(line.cuts.begin(), on_axis(axis, width, 1, 1));
    width *= mesh[axis];
  }
  const std::vector<std::int64_t> needed = naive_needed(line, shape);
  for (std::size_t k = 0; k < line.cuts.size(); ++k) {
    Cut& cut = line.cuts[k];
    cut.count = needed[k];
    if (cut.target.is_mesh()) builder.take(at(cut.target.axis()), cut.count);
  }
  builder.form.folds = {std::move(line)};
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
  const bool free = std::all_of(builder.taken.begin(), builder.taken.end(),
                                [](auto taken) { return taken == 1; });
  if (free && shape.rank() > 0 && dice.chance(10)) {
    cut_flat(builder);
  } else {
    for (Fold& fold : builder.form.folds) cut_line(builder, fold);
  }
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
