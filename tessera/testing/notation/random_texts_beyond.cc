// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <numeric>

#include "tessera/base/text.h"
#include "tessera/testing/notation/random_texts.h"

namespace tessera::test {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Slowest first: row-major most of the time.
std::vector<std::size_t> random_order(Dice& dice, std::size_t rank) {
  std::vector<std::size_t> order = dice.order(rank);
  if (dice.chance(50)) std::sort(order.begin(), order.end());
  return order;
}

/// n as a product of one to three numbers, the first of them the fastest.
Numbers random_factors(Dice& dice, std::int64_t n) {
  Numbers factors;
  while (factors.size() < 2 && dice.chance(40)) {
    factors.push_back(random_divisor(dice, n));
    n /= std::max<std::int64_t>(factors.back(), 1);
  }
  factors.push_back(n);
  return factors;
}

Numbers numbers(const std::vector<std::size_t>& order) { return {order.begin(), order.end()}; }

std::string tuple(const std::vector<std::string>& items) { return cat("(", join(items, ","), ")"); }

}  // namespace

std::string random_strided_text(Dice& dice, bool plain) {
  const Numbers shape = any_shape(dice, plain, plain ? 1 : 0, 4);
  Numbers strides(shape.size(), 1);
  std::int64_t step = 1;
  std::int64_t offset = 0;
  const std::vector<std::size_t> order = random_order(dice, shape.size());
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::size_t dim = order[i];
    if (!plain && dice.chance(20)) step += dice.between(1, 4);
    strides[dim] = step;
    step *= std::max<std::int64_t>(shape[dim], 1);
    if (plain) continue;
    if (dice.chance(12)) strides[dim] = 0;
    if (dice.chance(10)) strides[dim] = dice.between(1, 5);
    if (dice.chance(10)) {
      strides[dim] = -strides[dim];
      offset += -strides[dim] * std::max<std::int64_t>(shape[dim] - 1, 0);
    }
  }
  if (!plain && dice.chance(15)) offset += dice.between(1, 6);
  const std::string said = offset == 0 ? "" : cat(", offset: ", offset);
  return tensor_text(shape, plain_dtype(dice), cat("strided<", bracketed(strides), said, ">"));
}

std::string random_xla_text(Dice& dice, bool plain) {
  const Numbers shape = any_shape(dice, plain, plain ? 1 : 0, 4);
  const std::vector<std::size_t> order = random_order(dice, shape.size());
  const std::vector<std::size_t> fastest_first(order.rbegin(), order.rend());
  std::string properties;
  std::int64_t covered = static_cast<std::int64_t>(shape.size());
  if (dice.chance(60)) {
    std::string tiles;
    for (std::int64_t level = 0; level < 3; ++level) {
      if (level > 0 && !dice.chance(40)) break;
      Numbers tile;
      const std::int64_t rank = dice.between(1, std::min<std::int64_t>(covered, 3) + !plain);
      for (std::int64_t i = 0; i < rank; ++i) {
        const std::int64_t behind = rank - 1 - i;
        const bool real = level == 0 && behind < static_cast<std::int64_t>(shape.size());
        const std::int64_t extent = real ? shape[fastest_first[at(behind)]] : 8;
        tile.push_back(plain ? random_divisor(dice, extent) : dice.between(1, 5));
      }
      covered += rank;
      tiles += tuple({join(tile, ",")});
    }
    if (!tiles.empty()) properties += cat("T", tiles);
  }
  std::string dtype = plain_dtype(dice);
  if (!plain) {
    if (dice.chance(10)) properties += cat("L(", dice.between(2, 16), ")");
    if (dice.chance(10)) {
      dtype = dice.chance(50) ? "i4" : "i2";
      if (dice.chance(50)) properties += dtype == "i4" ? "E(4)" : "E(2)";
    }
    if (dice.chance(10)) properties += cat("S(", dice.between(1, 5), ")");
  }
  if (!properties.empty()) properties = ":" + properties;
  return tensor_text(shape, dtype, cat("xla{", join(numbers(fastest_first), ","), properties, "}"));
}

std::string random_onednn_text(Dice& dice, bool plain) {
  const Numbers shape = any_shape(dice, plain, 1, 4);
  std::vector<bool> blocked(shape.size(), false);
  std::string blocks;
  for (std::int64_t n = dice.below(4); n > 0; --n) {
    const std::size_t dim = at(dice.below(static_cast<std::int64_t>(shape.size())));
    const std::int64_t size =
        plain ? random_divisor(dice, blocked[dim] ? 2 : shape[dim]) : dice.between(2, 5);
    if (size == 1) continue;
    blocked[dim] = true;
    blocks += cat(size, static_cast<char>('a' + dim));
  }
  std::string letters;
  for (const std::size_t dim : random_order(dice, shape.size())) {
    letters.push_back(static_cast<char>((blocked[dim] ? 'A' : 'a') + static_cast<char>(dim)));
  }
  return tensor_text(shape, plain_dtype(dice), cat("onednn.", letters, blocks));
}

std::string random_cute_text(Dice& dice, bool plain) {
  const Numbers shape = any_shape(dice, plain, 1, 4);
  struct Digit {
    std::size_t dim;
    std::size_t place;
  };
  std::vector<Numbers> extents;
  std::vector<Numbers> strides;
  std::vector<Digit> digits;  // slowest first
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    extents.push_back(random_factors(dice, shape[dim]));
    strides.emplace_back(extents[dim].size(), 1);
    for (std::size_t i = extents[dim].size(); i-- > 0;) digits.push_back({dim, i});
  }
  const std::vector<std::size_t> order = random_order(dice, digits.size());
  std::int64_t step = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto [dim, place] = digits[order[i]];
    if (!plain && dice.chance(15)) step += dice.between(1, 3);
    strides[dim][place] = step;
    step *= std::max<std::int64_t>(extents[dim][place], 1);
    if (!plain && dice.chance(10)) strides[dim][place] = dice.chance(60) ? 0 : dice.between(1, 4);
  }
  std::vector<std::string> modes;
  std::vector<std::string> steps;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    const bool nested = extents[dim].size() > 1;
    modes.push_back(nested ? tuple({join(extents[dim], ",")}) : cat(extents[dim][0]));
    steps.push_back(nested ? tuple({join(strides[dim], ",")}) : cat(strides[dim][0]));
  }
  return tensor_text(shape, plain_dtype(dice), cat("cute<", tuple(modes), ":", tuple(steps), ">"));
}

std::string random_gspmd_text(Dice& dice, bool plain) {
  const Numbers shape = any_shape(dice, plain, plain ? 1 : 0, 3);
  const std::string dtype = plain_dtype(dice);
  if (dice.chance(15)) {
    const std::int64_t devices = plain && dice.chance(50) ? 1 : dice.between(1, 6);
    const std::array<std::string, 3> kinds = {
        "replicated", cat("maximal device=", dice.below(devices)), "unreduced"};
    const std::string& kind = kinds[at(plain ? 0 : dice.below(3))];
    return tensor_text(shape, dtype, cat("gspmd{", kind, " num_partitions=", devices, "}"));
  }
  Numbers tiles;
  for (const std::int64_t extent : shape) {
    tiles.push_back(dice.chance(40) ? 1
                    : plain         ? random_divisor(dice, extent)
                                    : dice.between(1, 4));
  }
  std::string copies;
  if (!plain && dice.chance(40)) {
    tiles.push_back(dice.between(1, 3));
    copies = dice.chance(70) ? " last_tile_dim_replicate" : " last_tile_dims={unreduced}";
  }
  const std::int64_t devices = product(tiles);
  std::string list = cat("<=[", devices, "]");
  if (dice.chance(plain ? 10 : 40)) {
    const std::int64_t rows = random_divisor(dice, devices);
    if (dice.chance(60)) {
      list = cat("<=[", rows, ",", devices / rows, "]T(1,0)");
    } else {
      list = join(numbers(dice.order(at(devices))), ",");
    }
  }
  return tensor_text(shape, dtype,
                     cat("gspmd{devices=[", join(tiles, ","), "]", list, copies, "}"));
}

std::string random_dtensor_text(Dice& dice, bool plain) {
  static constexpr std::array<std::string_view, 4> kReductions = {"sum", "max", "min", "product"};
  const Numbers shape = any_shape(dice, plain, plain ? 1 : 0, 3);
  const auto rank = static_cast<std::int64_t>(shape.size());
  Numbers left = shape;
  Numbers mesh;
  std::vector<std::string> placements;
  const std::int64_t axes = plain ? dice.between(1, 2) : dice.between(1, 3);
  for (std::int64_t axis = 0; axis < axes; ++axis) {
    const std::int64_t dim = dice.below(rank);
    if (plain) {
      mesh.push_back(random_divisor(dice, left[at(dim)]));
      left[at(dim)] /= std::max<std::int64_t>(mesh.back(), 1);
      placements.push_back(mesh.back() == 1 ? "Replicate()" : cat("Shard(", dim, ")"));
      continue;
    }
    mesh.push_back(dice.between(1, 4));
    const std::int64_t kind = rank == 0 ? dice.below(2) : dice.below(6);
    if (kind == 0) {
      placements.emplace_back("Replicate()");
    } else if (kind == 1) {
      placements.push_back(cat("Partial(", kReductions[at(dice.below(4))], ")"));
    } else if (kind == 2) {
      placements.push_back(cat("_StridedShard(", dim, ", split_factor=", dice.between(1, 3), ")"));
    } else {
      placements.push_back(cat("Shard(", dim, ")"));
    }
  }
  return tensor_text(shape, plain_dtype(dice),
                     cat("dtensor<mesh=[", join(mesh, ","), "], [", join(placements, ", "), "]>"));
}

}  // namespace tessera::test
