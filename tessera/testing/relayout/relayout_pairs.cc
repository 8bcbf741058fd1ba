// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/relayout/relayout_pairs.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

namespace tessera::test {
namespace {

/// One digit of a dim: which cut of which fold, and its weight among the others.
struct Digit {
  Cut* cut = nullptr;
  std::size_t dim = 0;
  std::size_t level = 0;  ///< 0 is the outermost of its dim
  std::size_t levels = 1;
};

std::int64_t random_width(Dice& dice, std::int64_t extent) {
  constexpr std::int64_t kTiles[] = {32, 16, 8, 64, 4, 2, 128, 3, 5, 7, 24, 100};
  const std::int64_t width =
      dice.chance(70) ? kTiles[dice.below(12)] : dice.between(1, std::max<std::int64_t>(extent, 1));
  return width;
}

/// Widths of a chain for one dim, decreasing, the last 1: whole, tiled, tiled twice.
std::vector<std::int64_t> random_chain(Dice& dice, std::int64_t extent) {
  std::vector<std::int64_t> widths = {1};
  const std::int64_t more = dice.below(10) < 4 ? 0 : dice.between(1, 2);
  for (std::int64_t i = 0; i < more; ++i) {
    const std::int64_t inner = widths.front();
    const bool divides = dice.chance(75);
    const std::int64_t width =
        divides ? inner * random_width(dice, extent / inner + 1) : random_width(dice, extent);
    if (width <= inner || width > 2 * extent + 64) continue;
    widths.insert(widths.begin(), width);
  }
  return widths;
}

/// Fastest digit first.
std::vector<Digit> random_order(Dice& dice, std::vector<Digit> digits, std::size_t rank) {
  const std::vector<std::size_t> dims = dice.chance(60) ? dice.order(rank) : Dice(0, 0).order(rank);
  const std::int64_t kind = dice.below(4);
  const auto key = [&](const Digit& digit) -> std::pair<std::size_t, std::size_t> {
    const std::size_t depth = digit.levels - 1 - digit.level;  // 0 is the innermost of its dim
    const std::size_t dim = rank - 1 - dims[digit.dim];
    if (kind == 0) return {dim, depth};                     // dims permuted, digits in order
    if (kind == 1) return {depth, dim};                     // tiles of tiles
    if (kind == 2) return {dim, digit.levels - 1 - depth};  // interleaved: digits reversed
    return {depth == 0 && dim != 0 ? 1 : (depth == 0 ? 0 : 2), dim};  // sticks
  };
  std::sort(digits.begin(), digits.end(),
            [&](const Digit& a, const Digit& b) { return key(a) < key(b); });
  if (dice.chance(20)) {
    std::vector<Digit> shuffled;
    for (const std::size_t i : dice.order(digits.size())) shuffled.push_back(digits[i]);
    return shuffled;
  }
  return digits;
}

/// Strides for digits in memory, fastest first; sometimes with a gap after one of them.
void stack(Dice& dice, const std::vector<Digit>& digits) {
  std::int64_t stride = 1;
  for (const Digit& digit : digits) {
    if (!digit.cut->target.is_memory()) continue;
    digit.cut->stride = stride;
    stride *= std::max<std::int64_t>(digit.cut->count, 1);
    if (dice.chance(4)) stride += dice.between(1, 9);
  }
}

/// Distributes an outer digit or two over mesh axes.
void deal(Dice& dice, std::vector<Digit>& digits, Form& form) {
  std::vector<std::int64_t> mesh;
  const std::int64_t axes = dice.chance(30) ? dice.between(1, 2) : 0;
  for (std::int64_t a = 0; a < axes; ++a) {
    Digit& digit =
        digits[static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(digits.size())))];
    if (!digit.cut->target.is_memory() || digit.levels == 1 || digit.cut->count > 40) continue;
    digit.cut->target = Target::mesh(static_cast<int>(mesh.size()));
    digit.cut->cause = Cause::kGrid;
    digit.cut->stride = 1;
    mesh.push_back(std::max<std::int64_t>(digit.cut->count, 1) + (dice.chance(10) ? 1 : 0));
  }
  if (dice.chance(10)) {
    const std::int64_t replicas = dice.between(2, 3);
    form.fills.push_back(Fill::replicate(static_cast<int>(mesh.size()), replicas));
    mesh.push_back(replicas);
  } else if (dice.chance(5)) {
    form.fills.push_back(Fill::fixed(static_cast<int>(mesh.size()), 1));
    mesh.push_back(2);
  }
  form.mesh = *Shape::make(mesh);
}

LayoutSpec blocked_spec(Dice& dice, const Shape& shape, DType dtype) {
  LayoutSpec spec;
  spec.form.shape = shape;
  spec.dtype = dtype;
  spec.atom = Atom::scalar(dtype);
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    Fold fold;
    const bool flip = dice.chance(8);
    fold.terms = {{static_cast<int>(dim), flip ? -1 : 1}};
    if (flip) fold.start = std::max<std::int64_t>(shape[dim] - 1, 0);
    for (const std::int64_t width : random_chain(dice, shape[dim])) {
      Cut cut;
      cut.width = width;
      cut.cause = Cause::kTile;
      fold.cuts.push_back(cut);
    }
    spec.form.folds.push_back(std::move(fold));
  }
  std::vector<Digit> digits;
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    Fold& fold = spec.form.folds[dim];
    const std::vector<std::int64_t> needed = fold.needed(shape);
    for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
      // The full range of the width above is allocated: whole tiles.
      const std::int64_t whole =
          k > 0 && fold.cuts[k - 1].width % fold.cuts[k].width == 0 && dice.chance(90)
              ? fold.cuts[k - 1].width / fold.cuts[k].width
              : needed[k];
      fold.cuts[k].count = std::max(whole, needed[k]);
      digits.push_back({&fold.cuts[k], dim, k, fold.cuts.size()});
    }
  }
  if (!digits.empty()) deal(dice, digits, spec.form);
  stack(dice, random_order(dice, digits, shape.rank()));
  if (dice.chance(10)) spec.form.offset = dice.between(1, 40);
  if (dice.chance(15)) spec.slots = spec.form.reach() + dice.between(0, 70);
  constexpr double kValues[] = {0, 1, -1, 3};
  if (dice.chance(40)) spec.padding = PaddingValue::of(kValues[dice.below(4)]);
  return spec;
}

Layout plain(const Shape& shape, DType dtype) { return *Layout::row_major(shape, dtype); }

/// A part of a larger tensor: every dim from `start` by `step`, possibly backwards.
std::optional<View> random_slice(Dice& dice, const Shape& shape, DType dtype, bool may_repeat) {
  std::vector<std::int64_t> larger = shape.extents();
  struct Cutout {
    std::int64_t start, step;
  };
  std::vector<Cutout> cutouts;
  for (std::int64_t& size : larger) {
    const std::int64_t extent = size;
    std::int64_t step = dice.chance(25) ? dice.between(2, 3) : 1;
    if (may_repeat && dice.chance(15)) step = 0;
    const std::int64_t reach = std::max<std::int64_t>((extent - 1) * step, 0);
    const std::int64_t before = dice.chance(30) ? dice.between(1, 3) : 0;
    const bool backwards = step != 0 && dice.chance(20);
    size = before + reach + 1 + (dice.chance(30) ? dice.between(1, 3) : 0);
    cutouts.push_back({backwards ? before + reach : before, backwards ? -step : step});
  }
  const Result<Shape> base_shape = Shape::make(larger);
  if (!base_shape.ok()) return std::nullopt;
  View view = View::of(dice.chance(60) ? plain(*base_shape, dtype)
                                       : blocked_layout(dice, *base_shape, dtype));
  for (std::size_t dim = 0; dim < cutouts.size(); ++dim) {
    Result<View> next =
        view.slice(static_cast<int>(dim), cutouts[dim].start, shape[dim], cutouts[dim].step);
    if (!next.ok()) return std::nullopt;
    view = *std::move(next);
  }
  return view;
}

/// Two or three boxes along one dim, one after the other in memory or each on a separate place.
std::optional<Placement> random_pieces(Dice& dice, const Shape& shape, DType dtype) {
  if (shape.rank() == 0) return std::nullopt;
  const auto dim = static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(shape.rank())));
  const std::int64_t boxes = std::min<std::int64_t>(dice.between(2, 3), shape[dim]);
  if (boxes < 2) return std::nullopt;
  const bool apart = dice.chance(50);
  std::vector<LayoutPiece> pieces;
  std::int64_t from = 0;
  std::int64_t slots = 0;
  const PaddingValue padding = dice.chance(40) ? PaddingValue::of(1) : PaddingValue::undef();
  for (std::int64_t b = 0; b < boxes; ++b) {
    const std::int64_t left = boxes - 1 - b;
    const std::int64_t to = left == 0 ? shape[dim] : dice.between(from + 1, shape[dim] - left);
    Box box = Box::whole(shape);
    box.from[dim] = from;
    box.to[dim] = to;
    from = to;
    std::vector<std::int64_t> extents = shape.extents();
    extents[dim] = to - box.from[dim];
    LayoutSpec spec = blocked_spec(dice, *Shape::make(extents), dtype);
    for (Fold& fold : spec.form.folds) {
      for (const Cut& cut : fold.cuts) {
        if (cut.target.is_mesh()) return std::nullopt;
      }
    }
    spec.slots.reset();
    spec.padding = padding;
    spec.form.fills.clear();
    spec.form.mesh = *Shape::make({apart ? boxes : 1});
    spec.form.fills = {Fill::fixed(0, apart ? b : 0)};
    if (!apart) spec.form.offset += slots;
    slots = std::max(slots, spec.form.reach());
    Result<Layout> layout = Layout::make(std::move(spec));
    if (!layout.ok()) return std::nullopt;
    pieces.push_back({std::move(box), *std::move(layout)});
  }
  Result<Piecewise> whole = Piecewise::by_rule(shape, std::move(pieces));
  if (!whole.ok()) return std::nullopt;
  return Placement(*std::move(whole));
}

Placement random_placement(Dice& dice, const Shape& shape, DType dtype, bool may_repeat) {
  if (dice.chance(15)) {
    if (std::optional<View> view = random_slice(dice, shape, dtype, may_repeat)) return *view;
  }
  if (dice.chance(6)) {
    if (std::optional<Placement> pieces = random_pieces(dice, shape, dtype)) return *pieces;
  }
  return blocked_layout(dice, shape, dtype);
}

}  // namespace

Shape relayout_shape(Dice& dice, std::int64_t most) {
  if (dice.chance(1)) return *Shape::make({});
  const std::int64_t rank = dice.chance(60) ? 2 : dice.between(1, 6);
  std::vector<std::int64_t> extents;
  std::int64_t left = most;
  for (std::int64_t d = 0; d < rank; ++d) {
    // Each remaining dim gets some room: about the d-th root of what is left.
    std::int64_t fair = 1;
    while (true) {
      std::int64_t power = 1;
      for (std::int64_t k = d; k < rank && power <= left; ++k) power *= fair + 1;
      if (power > left) break;
      ++fair;
    }
    std::int64_t extent = dice.between(1, std::max<std::int64_t>(1, 2 * fair));
    if (dice.chance(30)) extent = std::max<std::int64_t>(extent / 16 * 16, 1);
    if (dice.chance(10)) extent = dice.between(1, 4);
    extent = std::min(extent, left);
    if (dice.chance(1)) extent = 0;
    extents.push_back(extent);
    left = std::max<std::int64_t>(left / std::max<std::int64_t>(extent, 1), 1);
  }
  std::vector<std::int64_t> shuffled;
  for (const std::size_t i : dice.order(extents.size())) shuffled.push_back(extents[i]);
  return *Shape::make(shuffled);
}

Layout blocked_layout(Dice& dice, const Shape& shape, DType dtype) {
  for (int attempt = 0; attempt < 20; ++attempt) {
    Result<Layout> layout = Layout::make(blocked_spec(dice, shape, dtype));
    if (!layout.ok()) continue;
    if (layout->places() * layout->slots() <= 6 * shape.elements() + 300) return *std::move(layout);
  }
  return plain(shape, dtype);
}

Placement random_source(Dice& dice, const Shape& shape, DType dtype) {
  return random_placement(dice, shape, dtype, true);
}

Placement random_destination(Dice& dice, const Shape& shape, DType dtype) {
  return random_placement(dice, shape, dtype, false);
}

DType relayout_dtype(Dice& dice) {
  constexpr DType kTypes[] = {DType::kF32, DType::kBF16, DType::kI8,  DType::kF64, DType::kF16,
                              DType::kU8,  DType::kI32,  DType::kI64, DType::kI4,  DType::kI2};
  return kTypes[dice.below(10)];
}

}  // namespace tessera::test
