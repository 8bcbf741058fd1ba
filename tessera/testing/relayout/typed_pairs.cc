// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <vector>

#include "tessera/testing/relayout/cast_laws.h"
#include "tessera/testing/relayout/relayout_pairs.h"
#include "tessera/testing/views.h"

namespace tessera::test {
namespace {

constexpr std::int64_t kTile = 1024;
constexpr std::int64_t kSide = 32;

std::int64_t divided(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

Atom atom_of(DType storage) {
  return is_block_float(storage) ? Atom::tile(kSide, kSide, storage) : Atom::scalar(storage);
}

Shape whole_tiles(Dice& dice) {
  std::vector<std::int64_t> extents = {kSide * dice.between(1, 3), kSide * dice.between(1, 2)};
  if (dice.chance(20)) extents.insert(extents.begin(), 2);
  return *Shape::make(extents);
}

/// Extents that are often whole tiles or their neighbours; occasionally a few whole tiles,
/// regardless of the number of elements.
Shape tiled_shape(Dice& dice, std::int64_t most) {
  if (dice.chance(15)) return whole_tiles(dice);
  const std::int64_t rank = dice.chance(70) ? 2 : dice.between(0, 4);
  std::vector<std::int64_t> extents(static_cast<std::size_t>(rank));
  std::int64_t left = most;
  for (std::size_t d = extents.size(); d-- > 0;) {
    std::int64_t extent = dice.between(1, d + 2 < extents.size() ? 3 : 100);
    if (dice.chance(45)) extent = divided(extent, kSide) * kSide;
    extents[d] = std::clamp<std::int64_t>(extent, 1, std::max<std::int64_t>(left, 1));
    if (dice.chance(1)) extents[d] = 0;
    left /= std::max<std::int64_t>(extents[d], 1);
  }
  return *Shape::make(extents);
}

/// One side: a layout, or any other placement of random_source for types with an address.
Placement random_side(Dice& dice, const Shape& shape, DType storage, bool is_source) {
  if (is_block_float(storage) ? dice.chance(70) : dice.chance(25)) {
    return tiled_layout(dice, shape, storage);
  }
  if (is_block_float(storage)) return kept_as(blocked_layout(dice, shape, DType::kF32), storage);
  return is_source ? random_source(dice, shape, storage) : random_destination(dice, shape, storage);
}

constexpr Limits kSmall = {.max_rank = 4,
                           .max_extent = 16,
                           .max_elements = 150,
                           .max_mesh_rank = 2,
                           .max_places = 6,
                           .max_slots = 1500};

}  // namespace

DType random_storage(Dice& dice) {
  constexpr DType kOften[] = {DType::kF32, DType::kBF16, DType::kBfpBf8, DType::kBfpBf4,
                              DType::kI8,  DType::kI4,   DType::kI2,     DType::kF64};
  if (dice.chance(50)) return kOften[dice.below(8)];
  const auto& all = all_dtypes();
  return all[static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(all.size())))];
}

Layout tiled_layout(Dice& dice, const Shape& shape, DType storage) {
  LayoutSpec spec;
  spec.form.shape = shape;
  spec.dtype = DType::kF32;
  spec.atom = atom_of(storage);
  spec.form.folds.resize(shape.rank());
  std::vector<std::int64_t> mesh;
  const std::size_t inside = std::min<std::size_t>(shape.rank(), 2);
  // The last two dims in the order in which they are walked, the faster first; or the other way
  // round.
  std::vector<std::size_t> walked;
  for (std::size_t i = 0; i < inside; ++i) walked.push_back(shape.rank() - 1 - i);
  if (dice.chance(15)) std::reverse(walked.begin(), walked.end());
  std::int64_t stride = 1;
  for (const std::size_t dim : walked) {
    Fold& fold = spec.form.folds[dim];
    fold.terms = {{static_cast<int>(dim), 1}};
    fold.cuts = {{1, kSide, Target::memory(), stride, Cause::kTile}};
    stride *= kSide;
  }
  if (dice.chance(15)) std::reverse(walked.begin(), walked.end());
  stride = kTile;
  for (const std::size_t dim : walked) {
    Fold& fold = spec.form.folds[dim];
    std::int64_t tiles = divided(shape[dim], kSide);
    if (dice.chance(25) && tiles > 0) {
      const std::int64_t on_each = dice.between(1, tiles);
      const std::int64_t places = divided(tiles, on_each);
      const Target axis = Target::mesh(static_cast<int>(mesh.size()));
      fold.cuts.insert(fold.cuts.begin(), {kSide * on_each, places, axis, 1, Cause::kGrid});
      mesh.push_back(places);
      tiles = on_each;
    }
    const auto at = fold.cuts.end() - 1;
    fold.cuts.insert(at, {kSide, tiles, Target::memory(), stride, Cause::kTile});
    stride *= std::max<std::int64_t>(tiles, 1);
  }
  for (std::size_t dim = shape.rank() - inside; dim-- > 0;) {
    Fold& fold = spec.form.folds[dim];
    fold.terms = {{static_cast<int>(dim), 1}};
    fold.cuts = {{1, shape[dim], Target::memory(), stride}};
    stride *= std::max<std::int64_t>(shape[dim], 1);
  }
  if (dice.chance(15)) {
    spec.form.fills = {Fill::replicate(static_cast<int>(mesh.size()), 2)};
    mesh.push_back(2);
  }
  spec.form.mesh = *Shape::make(mesh);
  spec.slots = divided(spec.form.reach(), kTile) * kTile + (dice.chance(10) ? kTile : 0);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kValues[] = {0, 1, -1.5, 0.3, 1e6, -kInfinity};
  if (dice.chance(40)) spec.padding = PaddingValue::of(kValues[dice.below(6)]);
  return *Layout::make(std::move(spec));
}

std::optional<std::pair<Placement, Placement>> typed_pair(Dice& dice, std::int64_t most) {
  const DType from = random_storage(dice);
  const DType to = dice.chance(10) ? from : random_storage(dice);
  if (dice.chance(70)) {
    const Shape shape = dice.chance(60) ? tiled_shape(dice, most) : relayout_shape(dice, most);
    return std::pair{random_side(dice, shape, from, true), random_side(dice, shape, to, false)};
  }
  const std::optional<Layout> wild = random_layout(dice, kSmall);
  if (!wild) return std::nullopt;
  const bool view_of_source = dice.chance(70);
  Placement one = kept_as(*wild, view_of_source ? from : to);
  if (dice.chance(60)) one = random_view(dice, *one.layout(), 3).view;
  if (one.shape().elements() > most) return std::nullopt;
  const std::optional<Layout> other = dice.chance(50)
                                          ? random_layout_of(dice, one.shape(), DType::kF32, kSmall)
                                          : blocked_layout(dice, one.shape(), DType::kF32);
  if (!other) return std::nullopt;
  Placement two = kept_as(*other, view_of_source ? to : from);
  if (!view_of_source) std::swap(one, two);
  return std::pair{std::move(one), std::move(two)};
}

std::pair<Placement, Placement> whole_tiles_pair(Dice& dice) {
  constexpr DType kBlocks[] = {DType::kBfpBf8, DType::kBfpBf4, DType::kBfpBf2,
                               DType::kBfpF8,  DType::kBfpF4,  DType::kBfpF2};
  const Shape shape = whole_tiles(dice);
  DType from = random_storage(dice);
  while (dtype_bits(from).value_or(0) < 8) from = random_storage(dice);
  return {random_side(dice, shape, from, true), tiled_layout(dice, shape, kBlocks[dice.below(6)])};
}

}  // namespace tessera::test
