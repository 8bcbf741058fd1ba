// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "tessera/testing/relayout/relayout_pairs.h"

namespace tessera::test {
namespace {

/// Dims in this order, slowest first, each cut at `tiles[dim]`: the tiles of all dims in that
/// order, then the positions inside a tile, in that order too. A tile of 1 cuts nothing.
Layout in_tiles(Dice& dice, const Shape& shape, DType dtype, const std::vector<std::size_t>& order,
                const std::vector<std::int64_t>& tiles) {
  LayoutSpec spec;
  spec.form.shape = shape;
  spec.dtype = dtype;
  spec.atom = Atom::scalar(dtype);
  spec.form.folds.resize(shape.rank());
  std::int64_t stride = 1;
  const auto add = [&](std::size_t dim, std::int64_t width, std::int64_t count) {
    Fold& fold = spec.form.folds[dim];
    fold.terms = {{static_cast<int>(dim), 1}};
    fold.cuts.insert(fold.cuts.begin(), Cut{width, count, Target::memory(), stride, Cause::kTile});
    stride *= std::max<std::int64_t>(count, 1);
    if (dice.chance(3)) stride += dice.between(1, 20);
  };
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::int64_t tile = tiles[order[i]];
    if (tile > 1) add(order[i], 1, tile);
  }
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::int64_t tile = tiles[order[i]];
    add(order[i], tile, (shape[order[i]] + tile - 1) / tile);
  }
  if (dice.chance(10)) spec.form.offset = dice.between(1, 64);
  const Result<Layout> layout = Layout::make(std::move(spec));
  return layout.ok() ? *layout : *Layout::row_major(shape, dtype);
}

/// Blocks of `block` assigned round-robin to `hands` places, or to as many parts of memory.
Layout dealt(const Shape& shape, DType dtype, std::int64_t block, std::int64_t hands, bool places) {
  LayoutSpec spec;
  spec.form.shape = shape;
  spec.dtype = dtype;
  spec.atom = Atom::scalar(dtype);
  std::int64_t stride = 1;
  for (std::size_t dim = shape.rank(); dim-- > 1;) {
    spec.form.folds.push_back(
        {{{static_cast<int>(dim), 1}}, 0, {{1, shape[dim], Target::memory(), stride}}});
    stride *= std::max<std::int64_t>(shape[dim], 1);
  }
  const std::int64_t rounds = (shape[0] + block * hands - 1) / (block * hands);
  const Cut turn{block * hands, rounds, Target::memory(), stride * block};
  const Cut hand = places ? Cut{block, hands, Target::mesh(0), 1}
                          : Cut{block, hands, Target::memory(), stride * block * rounds};
  spec.form.folds.push_back({{{0, 1}}, 0, {turn, hand, {1, block, Target::memory(), stride}}});
  if (places) spec.form.mesh = *Shape::make({hands});
  const Result<Layout> layout = Layout::make(std::move(spec));
  return layout.ok() ? *layout : *Layout::row_major(shape, dtype);
}

/// An extent up to `most` that is often a multiple of whole lines and tiles, or a neighbour of one.
std::int64_t kernel_extent(Dice& dice, std::int64_t most) {
  std::int64_t extent = dice.between(1, std::max<std::int64_t>(most, 1));
  if (dice.chance(40)) extent = extent / 16 * 16 + dice.between(-1, 1);
  return std::clamp<std::int64_t>(extent, 1, std::max<std::int64_t>(most, 1));
}

}  // namespace

std::pair<Placement, Placement> kernel_pair(Dice& dice, std::int64_t most, DType dtype) {
  std::vector<std::int64_t> extents;
  std::int64_t left = most;
  const auto add = [&](std::int64_t extent) {
    extents.push_back(std::clamp<std::int64_t>(extent, 1, std::max<std::int64_t>(left, 1)));
    left /= extents.back();
  };
  const std::int64_t kind = dice.below(8);
  const std::int64_t rank = kind == 1 ? dice.between(3, 6) : (kind == 4 || kind == 5 ? 4 : 2);
  if (kind == 4) {  // batch, channels, height, width
    add(dice.between(1, 3));
    add(kernel_extent(dice, 300));
  } else if (kind == 5) {
    add(dice.between(1, 3));
    add(dice.between(1, 8));
  }
  while (static_cast<std::int64_t>(extents.size()) < rank) {
    const std::int64_t dims_left = rank - static_cast<std::int64_t>(extents.size());
    std::int64_t fair = 1;
    const auto power = [&](std::int64_t base) {
      std::int64_t product = 1;
      for (std::int64_t d = 0; d < dims_left && product <= left; ++d) product *= base;
      return product;
    };
    while (power(fair * 2) <= left) fair *= 2;
    add(kernel_extent(dice, dims_left == 1 ? left : 2 * fair));
  }
  const Shape shape = *Shape::make(extents);
  const std::vector<std::int64_t> no_tiles(extents.size(), 1);
  const std::vector<std::size_t> in_order = Dice(0, 0).order(extents.size());
  const auto both = [&](Layout a, Layout b) -> std::pair<Placement, Placement> {
    if (dice.chance(50)) std::swap(a, b);
    return {std::move(a), std::move(b)};
  };
  const Layout rows = in_tiles(dice, shape, dtype, in_order, no_tiles);
  if (kind <= 1) {
    std::vector<std::size_t> order(in_order.rbegin(), in_order.rend());
    if (kind == 1 && dice.chance(60)) order = dice.order(extents.size());
    return both(rows, in_tiles(dice, shape, dtype, order, no_tiles));
  }
  constexpr std::int64_t kTiles[] = {32, 16, 8, 4, 64, 2, 7, 1};
  if (kind <= 3) {
    const std::vector<std::int64_t> tiles = {kTiles[dice.below(8)], kTiles[dice.below(8)]};
    const std::vector<std::size_t> across = {1, 0};
    const bool down = dice.chance(30);
    return both(rows, in_tiles(dice, shape, dtype, down ? across : in_order, tiles));
  }
  if (kind <= 5) {
    const std::vector<std::size_t> channels_last = {0, 2, 3, 1};
    const std::vector<std::int64_t> blocks = {1, kTiles[dice.below(8)], 1, 1};
    if (dice.chance(60)) return both(rows, in_tiles(dice, shape, dtype, channels_last, no_tiles));
    return both(rows, in_tiles(dice, shape, dtype, in_order, blocks));
  }
  if (kind == 6) {  // sticks: columns in groups, all rows of a group together
    const std::int64_t stick = kTiles[dice.below(8)];
    return both(rows,
                in_tiles(dice, shape, dtype, {1, 0}, {std::max<std::int64_t>(shape[0], 1), stick}));
  }
  return both(dealt(shape, dtype, dice.between(1, 40), dice.between(1, 8), dice.chance(50)),
              dealt(shape, dtype, dice.between(1, 100), dice.between(1, 8), dice.chance(50)));
}

}  // namespace tessera::test
