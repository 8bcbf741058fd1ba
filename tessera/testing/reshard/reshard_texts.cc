// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/notation/notation.h"
#include "tessera/testing/notation/random_texts.h"
#include "tessera/testing/notation/rule_metal.h"
#include "tessera/testing/notation/rule_pyflame.h"
#include "tessera/testing/reshard/reshard_pairs.h"

namespace tessera::test {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

std::string gspmd_text(Dice& dice, const Numbers& shape) {
  Numbers tiles;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    tiles.push_back(dice.chance(50) ? 1 : dice.between(1, 4));
  }
  std::string copies;
  if (dice.chance(30)) {
    tiles.push_back(dice.between(1, 3));
    copies = dice.chance(60) ? " last_tile_dim_replicate" : " last_tile_dims={unreduced}";
  }
  const std::int64_t devices = product(tiles);
  std::string list = cat("<=[", devices, "]");
  if (dice.chance(30)) {
    const std::int64_t rows = random_divisor(dice, devices);
    list = cat("<=[", rows, ",", devices / rows, "]T(1,0)");
  }
  return cat("gspmd{devices=[", join(tiles, ","), "]", list, copies, "}");
}

std::string dtensor_text(Dice& dice, const Numbers& shape) {
  Numbers mesh;
  std::vector<std::string> placements;
  for (std::int64_t axes = dice.between(1, 2); axes > 0; --axes) {
    mesh.push_back(dice.between(1, 4));
    const std::int64_t kind = dice.below(6);
    const std::int64_t dim = dice.below(static_cast<std::int64_t>(shape.size()));
    if (shape.empty() || kind == 0) {
      placements.emplace_back("Replicate()");
    } else if (kind == 1) {
      placements.emplace_back("Partial(sum)");
    } else {
      placements.push_back(cat("Shard(", dim, ")"));
    }
  }
  return cat("dtensor<mesh=[", join(mesh, ","), "], [", join(placements, ", "), "]>");
}

std::string metal_text(Dice& dice, const Numbers& shape, const std::string& dtype,
                       const std::string& storage) {
  MetalRule rule;
  rule.shape = shape;
  rule.dtype = dtype;
  rule.storage = storage;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    rule.linear.push_back({{{dim, 1}}});
    rule.grid.push_back(dim < 2 ? dice.between(1, 4) : 1);
  }
  if (storage != dtype) rule.tile = {32, 32};
  return rule.text();
}

/// A text for this shape in one of the notations that have places.
std::string text_for(Dice& dice, const Numbers& shape, const std::string& dtype,
                     const std::string& storage) {
  if (storage != dtype) return metal_text(dice, shape, dtype, storage);
  switch (dice.below(8)) {
    case 0:
      return metal_text(dice, shape, dtype, storage);
    case 1:
    case 2:
      return tensor_text(shape, dtype, gspmd_text(dice, shape));
    case 3:
    case 4:
      return tensor_text(shape, dtype, dtensor_text(dice, shape));
    default:
      return tensor_text(shape, dtype, random_pyflame(dice, shape).text());
  }
}

}  // namespace

ReshardPair random_reshard_texts(Dice& dice) {
  static constexpr std::array<std::string_view, 6> kTypes = {"f32",  "f32", "f64",
                                                             "bf16", "i8",  "i4"};
  static constexpr std::array<std::string_view, 3> kBlocks = {"bfp_bf8", "bfp_bf4", "bfp_bf2"};
  while (true) {
    const bool blocks = dice.chance(5);
    const std::string dtype = blocks ? "f32" : std::string(kTypes[at(dice.below(6))]);
    const std::string storage = blocks ? std::string(kBlocks[at(dice.below(3))]) : dtype;
    Numbers shape = random_shape(dice, 3, 100);
    if (shape.empty() && dice.chance(80)) continue;
    if (blocks) shape = {dice.between(1, 12), dice.between(1, 12)};
    const Result<Tensor> from = parse_tensor(text_for(dice, shape, dtype, storage));
    const Result<Tensor> to = parse_tensor(text_for(dice, shape, dtype, storage));
    if (!from.ok() || !to.ok()) continue;
    const std::optional<Shape> mesh = naive_around(from->placement, to->placement);
    if (!mesh || mesh->rank() > 2 || mesh->elements() > 80) continue;
    std::vector<std::int64_t> extents = mesh->extents();
    for (std::int64_t& extent : extents) extent += dice.chance(20) ? dice.between(1, 2) : 0;
    ReshardPair pair{from->placement, to->placement, physical_of(*Shape::make(extents))};
    if (naive_refusals(pair.from, pair.to, pair.physical).empty()) return pair;
  }
}

}  // namespace tessera::test
