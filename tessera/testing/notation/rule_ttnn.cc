// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/notation/rule_ttnn.h"

#include <algorithm>
#include <array>

#include "tessera/base/text.h"

namespace tessera::test {
namespace {

std::int64_t tile_side(const Numbers& tile, std::size_t line) {
  return tile.empty() ? 1 : tile[line];
}

Numbers padded_sizes(const TtnnRule& rule) {
  Numbers sizes = rule.shape;
  const std::size_t rank = sizes.size();
  if (rank >= 1) sizes[rank - 1] = round_up(sizes[rank - 1], tile_side(rule.tile, 1));
  if (rank >= 2) sizes[rank - 2] = round_up(sizes[rank - 2], tile_side(rule.tile, 0));
  return sizes;
}

}  // namespace

std::vector<RuleResult> TtnnRule::linear() const {
  const Numbers sizes = padded_sizes(*this);
  RuleResult rows;
  RuleResult cols;
  std::int64_t stride = 1;
  for (std::size_t dim = sizes.size(); dim-- > 0;) {
    if (dim + 1 == sizes.size()) {
      cols.parts.push_back({dim, 1});
    } else {
      rows.parts.insert(rows.parts.begin(), {dim, stride});
      stride *= sizes[dim];
    }
  }
  return {rows, cols};
}

Numbers TtnnRule::physical() const {
  // A dim that is missing has extent 1, which is padded like any other.
  const Numbers sizes = padded_sizes(*this);
  const std::size_t rank = sizes.size();
  std::int64_t rows = rank < 2 ? tile_side(tile, 0) : 1;
  for (std::size_t dim = 0; dim + 1 < rank; ++dim) rows *= sizes[dim];
  return {rows, rank == 0 ? tile_side(tile, 1) : sizes[rank - 1]};
}

Numbers TtnnRule::memref() const {
  const Numbers whole = physical();
  Numbers tiles = {whole[0] / tile_side(tile, 0), whole[1] / tile_side(tile, 1)};
  if (interleaved()) {
    if (space != "l1") return tiles;
    return {1, ceil_divide(tiles[0] * tiles[1], grid[0] * grid[1])};
  }
  Numbers out;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t shard = ceil_divide(whole[i], grid[i]);
    out.push_back(ceil_divide(shard, tile_side(tile, i)));
  }
  return out;
}

std::vector<RuleLine> TtnnRule::lines() const {
  const Numbers whole = physical();
  const Numbers atoms = memref();
  std::vector<RuleLine> out;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t side = tile_side(tile, i);
    if (interleaved()) {
      out.push_back({1, whole[i], side, whole[i] / side});
    } else {
      out.push_back({grid[i], atoms[i] * side, side, atoms[i]});
    }
  }
  return out;
}

std::string TtnnRule::text(const Numbers& memref) const {
  std::string said = memory.empty() ? "" : cat(", <", memory, ">");
  if (!cores.empty()) {
    std::string ranges;
    for (const RuleCores& range : cores) {
      ranges += cat(ranges.empty() ? "" : ", ", "#ttnn.core_range<(", range.x0, ",", range.y0,
                    "), (", range.x1, ",", range.y1, ")>");
    }
    said += cat(", core_ranges = <[", ranges, "]>");
  }
  return tensor_text(shape, dtype,
                     cat("#ttnn.ttnn_layout<", map_text(shape.size(), linear()), ", <", times(grid),
                         ">, memref<", times(memref), "x", element_text("ttcore", tile, storage),
                         ", #ttnn.buffer_type<", space, ">>", said, ">"));
}

RuleGrid grid_of(const TtnnRule& rule) {
  const std::vector<RuleResult> linear = rule.linear();
  const Numbers whole = rule.physical();
  const Numbers extents = {extent_of(linear[0], rule.shape), extent_of(linear[1], rule.shape)};
  RuleGrid grid;
  grid.shape = rule.shape;
  grid.lines = rule.lines();
  grid.at = [=](const Numbers& index) {
    Numbers p;
    for (const RuleResult& result : linear) p.push_back(result.at(index));
    return p;
  };
  // Past the padded tensor there is only what the grid rounds up; before that, the edge of the
  // tile.
  grid.failed = [=](std::size_t i, std::int64_t, std::int64_t p) -> std::string_view {
    if (p >= whole[i]) return "grid";
    if (p >= extents[i]) return "tile";
    return "";
  };
  return grid;
}

Ruled ruled(const TtnnRule& rule) {
  Ruled out = ruled(grid_of(rule), rule.text());
  out.one_place = rule.interleaved();
  return out;
}

std::vector<Numbers> cores_of(const TtnnRule& rule) {
  std::vector<Numbers> out;
  for (const RuleCores& range : rule.cores) {
    for (std::int64_t y = range.y0; y <= range.y1; ++y) {
      for (std::int64_t x = range.x0; x <= range.x1; ++x) out.push_back({y, x});
    }
  }
  return out;
}

std::vector<RuleCores> cores_row_by_row(std::int64_t n) {
  std::vector<RuleCores> out;
  const std::int64_t full = n / 8;
  const std::int64_t rest = n % 8;
  if (full > 0) out.push_back({0, 0, 7, full - 1});
  if (rest > 0) out.push_back({0, full, rest - 1, full});
  return out;
}

Numbers TermsRule::physical() const {
  const std::int64_t cols = stride[stride.size() - 2];
  return {stride.front() / cols, cols};
}

Numbers TermsRule::grid() const {
  const Numbers whole = physical();
  return {ceil_divide(whole[0], shard[0]), ceil_divide(whole[1], shard[1])};
}

std::vector<RuleLine> TermsRule::lines() const {
  const Numbers places = grid();
  std::vector<RuleLine> out;
  for (std::size_t i = 0; i < 2; ++i) {
    out.push_back({places[i], shard[i], tile[i], ceil_divide(shard[i], tile[i])});
  }
  return out;
}

std::string TermsRule::text() const {
  return tensor_text(shape, dtype,
                     cat("ttnn<stride=", bracketed(stride), ", shard_shape=", bracketed(shard),
                         ", tile_shape=", bracketed(tile), ">"));
}

RuleGrid grid_of(const TermsRule& rule) {
  const Numbers whole = rule.physical();
  RuleGrid grid;
  grid.shape = rule.shape;
  grid.lines = rule.lines();
  grid.at = [whole, stride = rule.stride](const Numbers& index) {
    Numbers p = {0, index.back()};
    for (std::size_t dim = 0; dim + 1 < index.size(); ++dim) {
      p[0] += index[dim] * stride[dim + 1] / whole[1];
    }
    return p;
  };
  grid.failed = [whole, shard = rule.shard](std::size_t i, std::int64_t inside,
                                            std::int64_t p) -> std::string_view {
    if (inside >= shard[i]) return "tile";
    if (p >= whole[i]) return "grid";
    return "";  // slots that the strides skip are a gap
  };
  return grid;
}

Ruled ruled(const TermsRule& rule) { return ruled(grid_of(rule), rule.text()); }

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
