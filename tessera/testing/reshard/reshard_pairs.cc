// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/reshard/reshard_pairs.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/notation/notation.h"
#include "tessera/testing/reshard/reshard_forms.h"

namespace tessera::test {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

Shape random_shape(Dice& dice, std::int64_t most) {
  constexpr std::array<std::int64_t, 5> kRanks = {2, 2, 1, 3, 4};
  const std::int64_t rank = dice.chance(2) ? 0 : kRanks[at(dice.below(5))];
  std::vector<std::int64_t> extents;
  std::int64_t left = most;
  for (std::int64_t d = 0; d < rank; ++d) {
    std::int64_t extent = dice.between(1, std::min<std::int64_t>(left, rank < 3 ? 24 : 7));
    if (dice.chance(1)) extent = 0;
    extents.push_back(extent);
    left = std::max<std::int64_t>(left / std::max<std::int64_t>(extent, 1), 1);
  }
  std::vector<std::int64_t> shuffled;
  for (const std::size_t i : dice.order(extents.size())) shuffled.push_back(extents[i]);
  return *Shape::make(shuffled);
}

DType random_type(Dice& dice) {
  constexpr std::array<DType, 9> kTypes = {DType::kF32, DType::kF32, DType::kF32,
                                           DType::kF32, DType::kF64, DType::kBF16,
                                           DType::kI8,  DType::kI4,  DType::kBF16};
  return kTypes[at(dice.below(kTypes.size()))];
}

reshard::PhysicalMesh random_physical(Dice& dice, const ReshardLimits& limits) {
  const std::int64_t rows = dice.between(1, limits.max_rows);
  const std::int64_t cols = dice.between(1, limits.max_cols);
  const std::int64_t kind = dice.below(20);
  reshard::PhysicalMesh physical = physical_of(*Shape::make({rows, cols}));
  if (kind >= 17) physical = physical_of(*Shape::make({dice.between(1, 2 * limits.max_cols)}));
  if (kind == 16) {
    physical = reshard::PhysicalMesh{
        *Shape::make({dice.between(1, 3), dice.between(1, 3), dice.between(1, 3)}),
        std::nullopt,
        "there are three axes",
        {}};
  }
  if (kind == 15) {
    physical.fabric.reset();
    physical.why_no_fabric = "routes on a torus are not known";
  }
  if (physical.fabric && dice.chance(15)) {
    constexpr std::array<std::int64_t, 4> kBits = {16, 64, 8, 24};
    physical.fabric->wavelet_bits = kBits[at(dice.below(4))];
    physical.fabric->ramp_cycles = dice.below(6);
  }
  return physical;
}

std::int64_t copies_of(const std::vector<NaiveHome>& homes) {
  std::int64_t copies = 0;
  for (const NaiveHome& home : homes) {
    for (const auto& share : home.shares) copies += static_cast<std::int64_t>(share.size());
  }
  return copies;
}

/// Places that neither side names may be dead.
void bury(Dice& dice, ReshardPair& pair) {
  for (std::int64_t p = 0; p < pair.physical.mesh.elements(); ++p) {
    if (!dice.chance(20)) continue;
    pair.physical.dead.push_back(p);
    if (!naive_refusals(pair.from, pair.to, pair.physical).empty()) pair.physical.dead.pop_back();
  }
}

}  // namespace

reshard::PhysicalMesh physical_of(const Shape& mesh) {
  reshard::PhysicalMesh physical;
  physical.mesh = mesh;
  fabric::FabricMesh fabric;
  fabric.rows = static_cast<std::int32_t>(mesh.rank() == 2 ? mesh[0] : 1);
  fabric.cols = static_cast<std::int32_t>(mesh.rank() == 0 ? 1 : mesh[mesh.rank() - 1]);
  physical.fabric = fabric;
  return physical;
}

ReshardPair random_reshard(Dice& dice, const ReshardLimits& limits) {
  while (true) {
    const reshard::PhysicalMesh physical = random_physical(dice, limits);
    const Shape shape = random_shape(dice, limits.max_elements);
    const DType dtype = random_type(dice);
    WantedShares from_shares;
    WantedShares to_shares;
    if (const std::int64_t kind = dice.below(8); kind >= 4) {
      const std::int64_t count = dice.between(2, 3);
      const Reduction reduction = dice.chance(25) ? Reduction::kMax : Reduction::kSum;
      if (kind != 5) from_shares = {count, reduction};
      if (kind == 4 || kind == 5) to_shares = {count, reduction};
      if (kind == 4 && dice.chance(30)) to_shares.count = 5 - count;
    }
    std::optional<Placement> from = random_side(dice, shape, dtype, physical, from_shares);
    if (!from) continue;
    std::optional<Placement> to = dice.chance(15)
                                      ? related_side(dice, *from, physical)
                                      : random_side(dice, shape, dtype, physical, to_shares);
    if (!to) continue;
    ReshardPair pair{*std::move(from), *std::move(to), physical};
    if (!naive_refusals(pair.from, pair.to, physical).empty()) continue;
    const NaiveReshard moves = naive_reshard(pair.from, pair.to, physical);
    if (copies_of(moves.from) + copies_of(moves.to) > limits.max_copies) continue;
    if (dice.chance(5)) bury(dice, pair);
    return pair;
  }
}

ReshardPair random_unfit_reshard(Dice& dice, const ReshardLimits& limits) {
  ReshardPair pair = random_reshard(dice, limits);
  const std::int64_t kind = dice.below(7);
  const Shape& shape = pair.from.shape();
  if (kind == 1) {
    std::vector<std::int64_t> extents = pair.physical.mesh.extents();
    std::int64_t& extent = extents[at(dice.below(static_cast<std::int64_t>(extents.size())))];
    extent = std::max<std::int64_t>(extent - dice.between(1, 2), 1);
    pair.physical = physical_of(*Shape::make(extents));
    if (extents.size() > 2) pair.physical.fabric.reset();
  } else if (kind == 2) {
    const std::int64_t places = pair.physical.mesh.elements();
    pair.physical.dead = {dice.below(places)};
  } else if (kind == 3) {
    pair.to = *Layout::row_major(shape, DType::kI16);
  } else if (kind == 4) {
    std::vector<std::int64_t> extents = shape.extents();
    if (extents.empty() || dice.chance(30)) extents.push_back(1);
    ++extents[at(dice.below(static_cast<std::int64_t>(extents.size())))];
    pair.to = *Layout::row_major(*Shape::make(extents), pair.from.dtype());
  } else if (kind == 5 && shape.rank() > 0) {
    std::vector<std::int64_t> strides = shape.row_major_strides();
    strides[at(dice.below(static_cast<std::int64_t>(strides.size())))] = dice.below(3);
    const Result<Form> form = strided_form(shape, strides, 0);
    pair.to = *View::make(*form, pair.from.dtype(), Atom::scalar(pair.from.dtype()));
  } else if (kind == 6) {
    Form form = *strided_form(shape, shape.row_major_strides(), 0);
    form.mesh = *Shape::make({2, 2});
    form.fills = {Fill::partial(0, 2, Reduction::kSum), Fill::partial(1, 2, Reduction::kMax)};
    LayoutSpec spec;
    spec.form = std::move(form);
    spec.dtype = pair.from.dtype();
    spec.atom = Atom::scalar(spec.dtype);
    (dice.chance(50) ? pair.to : pair.from) = *Layout::make(std::move(spec));
  }
  return pair;
}

std::optional<Shape> naive_around(const Placement& a, const Placement& b) {
  std::vector<std::vector<std::int64_t>> meshes;
  for (const Placement* placement : {&a, &b}) {
    if (placement->places() == 1 && placement->layout() == nullptr) continue;
    std::vector<const DeviceMap*> maps = {nullptr};
    if (const Layout* layout = placement->layout()) maps = {&layout->spec().device_map};
    if (const Piecewise* pieces = placement->pieces()) {
      maps.clear();
      for (const LayoutPiece& piece : pieces->pieces()) {
        maps.push_back(&piece.layout.spec().device_map);
      }
    }
    for (const DeviceMap* map : maps) {
      std::vector<std::int64_t> reach;
      const Shape& mesh = placement->mesh();
      Place place(mesh.rank(), 0);
      do {
        const Place there = naive_coordinates(mesh, map, place).first;
        reach.resize(there.size(), 1);
        for (std::size_t i = 0; i < there.size(); ++i) reach[i] = std::max(reach[i], there[i] + 1);
      } while (mesh.next(place));
      if (placement->places() > 1 || !reach.empty()) meshes.push_back(std::move(reach));
    }
  }
  std::size_t rank = 0;
  for (const auto& mesh : meshes) rank = std::max(rank, mesh.size());
  std::vector<std::int64_t> around(rank, 1);
  std::int64_t numbers = 1;
  for (const auto& mesh : meshes) {
    if (mesh.size() == rank) {
      for (std::size_t i = 0; i < rank; ++i) around[i] = std::max(around[i], mesh[i]);
    } else if (mesh.size() == 1) {
      numbers = std::max(numbers, mesh[0]);
    } else {
      return std::nullopt;
    }
  }
  while (rank > 0 && (*Shape::make(around)).elements() < numbers) ++around.back();
  return *Shape::make(around);
}

std::string describe(const ReshardPair& pair) {
  std::string text = cat(print_native(pair.from), "\n  to ", print_native(pair.to), "\n  on ",
                         bracketed(pair.physical.mesh.extents()));
  if (const auto& fabric = pair.physical.fabric) {
    text += cat(", wavelets of ", fabric->wavelet_bits, " bits, ramps of ", fabric->ramp_cycles,
                " cycles");
  } else {
    text += ", no fabric";
  }
  if (!pair.physical.dead.empty()) text += cat(", dead: ", bracketed(pair.physical.dead));
  return text;
}

}  // namespace tessera::test
