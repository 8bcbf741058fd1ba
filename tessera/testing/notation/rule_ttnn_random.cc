// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "tessera/testing/notation/rule_ttnn.h"

namespace tessera::test {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// An empty dim inside the collapsed rows would give the dims before it the stride 0, which no map
/// can express.
void fill_inner_dims(Numbers& shape) {
  for (std::size_t dim = 1; dim + 1 < shape.size(); ++dim) {
    shape[dim] = std::max<std::int64_t>(shape[dim], 1);
  }
}

/// Cores of a sharding on `n` places: row by row, a column, a shifted row, or two pieces listed in
/// another order.
std::vector<RuleCores> random_cores(Dice& dice, std::int64_t n) {
  switch (dice.below(5)) {
    case 0:
      return {{0, 0, 0, n - 1}};
    case 1: {
      const std::int64_t x = dice.below(4);
      const std::int64_t y = dice.below(4);
      return {{x, y, x + n - 1, y}};
    }
    case 2:
      if (n > 1) {
        const std::int64_t first = dice.between(1, n - 1);
        return {{2, 3, 2 + first - 1, 3}, {1, 1, 1, n - first}};
      }
      [[fallthrough]];
    default:
      return cores_row_by_row(n);
  }
}

TtnnRule random_of(Dice& dice, bool large) {
  static constexpr std::array<std::array<std::int64_t, 2>, 5> kTiles = {
      {{2, 2}, {4, 2}, {1, 4}, {3, 5}, {4, 4}}};
  const std::int64_t limit = large ? 10000 : 1200;
  while (true) {
    TtnnRule rule;
    rule.shape = large ? random_shape(dice, 4, 1500) : random_shape(dice, 5, 80);
    fill_inner_dims(rule.shape);
    rule.dtype = random_dtype(dice);
    rule.storage = rule.dtype;
    if (large) {
      rule.tile = {32, 32};
      rule.storage = random_tile_dtype(dice);
    } else if (dice.chance(60)) {
      const auto& tile = kTiles[at(dice.below(kTiles.size()))];
      rule.tile = {tile[0], tile[1]};
      if (dice.chance(40)) rule.storage = random_dtype(dice);
    }
    const std::int64_t n = dice.between(1, large ? 3 : 12);
    switch (dice.below(6)) {
      case 0:
        rule.space = "system_memory";
        rule.memory = "";
        break;
      case 1:
        break;
      case 2:
        rule.space = "l1";
        rule.grid = {dice.between(1, 8), dice.between(1, 8)};
        break;
      case 3:
        rule.space = dice.chance(70) ? "l1" : "dram";
        rule.memory = "height_sharded";
        rule.grid = {n, 1};
        rule.cores = random_cores(dice, n);
        break;
      case 4:
        rule.space = dice.chance(70) ? "l1" : "dram";
        rule.memory = "width_sharded";
        rule.grid = {1, n};
        rule.cores = random_cores(dice, n);
        break;
      default: {
        rule.space = "l1";
        rule.memory = "block_sharded";
        rule.grid = {dice.between(1, large ? 2 : 4), dice.between(1, large ? 2 : 4)};
        const std::int64_t x = dice.chance(60) ? 0 : dice.below(4);
        const std::int64_t y = dice.chance(60) ? 0 : dice.below(4);
        rule.cores = {{x, y, x + rule.grid[1] - 1, y + rule.grid[0] - 1}};
      }
    }
    if (total_slots(rule.lines()) <= limit) return rule;
  }
}

}  // namespace

TtnnRule random_ttnn(Dice& dice) { return random_of(dice, false); }
TtnnRule random_ttnn_32x32(Dice& dice) { return random_of(dice, true); }

TermsRule random_terms(Dice& dice) {
  static constexpr std::array<std::array<std::int64_t, 2>, 7> kTiles = {
      {{1, 1}, {1, 1}, {2, 2}, {4, 2}, {1, 4}, {3, 5}, {4, 4}}};
  while (true) {
    TermsRule rule;
    rule.shape = random_shape(dice, 5, 80);
    if (rule.shape.empty()) continue;
    for (std::int64_t& extent : rule.shape) extent = std::max<std::int64_t>(extent, 1);
    rule.dtype = random_dtype(dice);
    rule.stride = {1};
    const std::size_t rank = rule.shape.size();
    for (std::size_t dim = rank; dim-- > 0;) {
      std::int64_t next = rule.stride.front() * rule.shape[dim];
      if (dice.chance(20)) {
        const std::int64_t step = dim + 1 == rank ? 1 : rule.stride[rule.stride.size() - 2];
        next += step * dice.between(1, 3);
      }
      rule.stride.insert(rule.stride.begin(), next);
    }
    const Numbers whole = rule.physical();
    rule.shard = {dice.between(1, whole[0] + 1), dice.between(1, whole[1] + 1)};
    const auto& tile = kTiles[at(dice.below(kTiles.size()))];
    rule.tile = {tile[0], tile[1]};
    if (dice.chance(1)) rule.tile = {32, 32};
    if (total_slots(rule.lines()) <= (rule.tile[0] == 32 ? 8000 : 1200)) return rule;
  }
}

}  // namespace tessera::test
