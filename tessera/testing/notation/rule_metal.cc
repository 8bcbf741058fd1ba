// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/notation/rule_metal.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "tessera/base/text.h"

namespace tessera::test {
namespace {

/// The tile's extent along a line: only the last two lines are tiled.
std::int64_t tile_of(const Numbers& tile, std::size_t line, std::size_t lines) {
  if (tile.empty() || line + 2 < lines) return 1;
  return tile[line + 2 - lines];
}

}  // namespace

Numbers MetalRule::extents() const {
  Numbers out;
  for (const RuleResult& result : linear) out.push_back(extent_of(result, shape));
  return out;
}

Numbers MetalRule::shards() const {
  Numbers out = extents();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = ceil_divide(out[i], grid[i]);
  return out;
}

Numbers MetalRule::memref() const {
  Numbers out = shards();
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = ceil_divide(out[i], tile_of(tile, i, out.size()));
  }
  return out;
}

std::string MetalRule::text(const Numbers& memref) const {
  const std::string where = device ? cat(", device = <", times(device->physical), ", ",
                                         map_text(grid.size(), device->map), ">")
                                   : std::string();
  return tensor_text(
      shape, dtype,
      cat("#", dialect, ".metal_layout<", map_text(shape.size(), linear), ", ", oob, ", <",
          times(grid), ">, memref<", times(memref), "x", element_text(dialect, tile, storage),
          ", #", dialect, ".memory_space<", space, ">>", where, ">"));
}

std::vector<RuleLine> MetalRule::lines() const {
  const Numbers cuts = shards();
  const Numbers atoms = memref();
  std::vector<RuleLine> out;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    out.push_back({grid[i], cuts[i], tile_of(tile, i, grid.size()), atoms[i]});
  }
  return out;
}

bool MetalRule::rises() const {
  for (const std::int64_t extent : shape) {
    if (extent == 0) return true;
  }
  for (const RuleResult& result : linear) {
    const std::int64_t extent = extent_of(result, shape);
    if (last_plus_one(result, shape) != extent) return false;
    // A remainder with skipped values would make the length of the line ambiguous.
    RuleResult sum = result;
    sum.modulus = 0;
    const bool wraps = result.modulus > 0 && extent_of(sum, shape) * sum.divisor > result.modulus;
    if (wraps && (result.modulus - 1) / result.divisor + 1 != extent) return false;
  }
  return true;
}

RuleGrid grid_of(const MetalRule& rule) {
  const Numbers extents = rule.extents();
  const Numbers shards = rule.shards();
  RuleGrid grid;
  grid.shape = rule.shape;
  grid.lines = rule.lines();
  grid.at = [linear = rule.linear](const Numbers& index) {
    Numbers p;
    for (const RuleResult& result : linear) p.push_back(result.at(index));
    return p;
  };
  // The grid divides first, then each shard is tiled: the tile's test is the inner one.
  grid.failed = [=](std::size_t i, std::int64_t inside, std::int64_t p) -> std::string_view {
    if (inside >= shards[i]) return "tile";
    if (p >= extents[i]) return "grid";
    return "";
  };
  return grid;
}

Ruled ruled(const MetalRule& rule) { return ruled(grid_of(rule), rule.text()); }

std::vector<Numbers> physical_places(const MetalRule& rule) {
  std::vector<Numbers> out;
  for (const Numbers& place : all_tuples(rule.grid)) {
    Numbers physical;
    if (!rule.device) physical = place;
    if (rule.device) {
      for (const RuleResult& result : rule.device->map) physical.push_back(result.at(place));
    }
    out.push_back(physical);
  }
  return out;
}

std::vector<std::vector<std::size_t>> TodayRule::groups() const {
  const auto rank = static_cast<std::int64_t>(shape.size());
  std::vector<std::vector<std::size_t>> out;
  std::int64_t next = 0;
  const auto alone = [&](std::int64_t to) {
    for (; next < to; ++next) out.push_back({static_cast<std::size_t>(next)});
  };
  if (rank == 1 && !tile.empty()) out.emplace_back();
  for (auto [from, to] : intervals) {
    if (from < 0) from += rank;
    if (to < 0) to += rank;
    alone(from);
    std::vector<std::size_t> group;
    for (; next < to; ++next) group.push_back(static_cast<std::size_t>(next));
    out.push_back(group);
  }
  alone(rank);
  return out;
}

RuleResult TodayRule::result(const std::vector<std::size_t>& group) const {
  RuleResult out;
  std::int64_t c = 1;
  for (std::size_t k = group.size(); k-- > 0;) {
    const std::size_t dim = group[k];
    out.parts.insert(out.parts.begin(), {dim, c});
    c = round_up(shape[dim] * c, alignments[dim]);
  }
  return out;
}

Numbers TodayRule::collapsed() const {
  Numbers out;
  for (const std::vector<std::size_t>& group : groups()) {
    std::int64_t c = group.empty() ? 32 : 1;
    for (std::size_t k = group.size(); k-- > 0;) {
      c = round_up(shape[group[k]] * c, alignments[group[k]]);
    }
    out.push_back(c);
  }
  return out;
}

Numbers TodayRule::shard() const {
  Numbers out = collapsed();
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = out[i] / grid[i] / tile_of(tile, i, out.size());
  }
  return out;
}

std::string TodayRule::intervals_text() const {
  std::string pairs;
  for (const auto& [from, to] : intervals) {
    pairs += cat(pairs.empty() ? "[" : ", [", from, ", ", to, "]");
  }
  return cat("dense<", pairs.empty() ? pairs : cat("[", pairs, "]"), "> : tensor<",
             intervals.size(), "x2xi64>");
}

std::string TodayRule::text(const Numbers& shard) const {
  Numbers device = grid;
  device.insert(device.end(), shard.begin(), shard.end());
  return tensor_text(device, element_text("ttcore", tile, storage),
                     cat("#", dialect, ".metal_layout<logical_shape = ", times(shape),
                         ", dim_alignments = ", times(alignments), ", collapsed_intervals = ",
                         intervals_text(), oob.empty() ? "" : cat(", ", oob), ", ", space,
                         memory_layout.empty() ? "" : cat(", ", memory_layout), ">"));
}

RuleGrid grid_of(const TodayRule& rule) {
  const std::vector<std::vector<std::size_t>> groups = rule.groups();
  const Numbers collapsed = rule.collapsed();
  const Numbers shard = rule.shard();
  RuleGrid grid;
  grid.shape = rule.shape;
  std::vector<RuleResult> results;
  Numbers extents;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    results.push_back(rule.result(groups[i]));
    extents.push_back(extent_of(results[i], rule.shape));
    grid.lines.push_back({rule.grid[i], collapsed[i] / rule.grid[i],
                          tile_of(rule.tile, i, groups.size()), shard[i]});
  }
  grid.at = [=](const Numbers& index) {
    Numbers p;
    for (const RuleResult& result : results) p.push_back(result.at(index));
    return p;
  };
  // Grid and tiles divide the aligned extents exactly, so nothing else is rounded up.
  grid.failed = [=](std::size_t i, std::int64_t, std::int64_t p) -> std::string_view {
    return p >= extents[i] ? "alignment" : "";
  };
  return grid;
}

Ruled ruled(const TodayRule& rule) { return ruled(grid_of(rule), rule.text()); }

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

bool uses(const RuleResult& result, std::size_t dim) {
  return std::any_of(result.parts.begin(), result.parts.end(),
                     [&](const RuleResult::Part& part) { return part.dim == dim; });
}

void sort_parts(RuleResult& result) {
  std::sort(result.parts.begin(), result.parts.end(),
            [](const auto& a, const auto& b) { return a.dim < b.dim; });
}

/// Dims in some order, cut into `results` runs, each collapsed with its own strides or larger ones.
std::vector<RuleResult> random_map(Dice& dice, const Numbers& shape, std::int64_t results) {
  std::vector<std::size_t> order(shape.size());
  for (std::size_t dim = 0; dim < order.size(); ++dim) order[dim] = dim;
  if (dice.chance(25)) order = dice.order(shape.size());
  std::vector<std::size_t> home(shape.size());  // which result the k-th dim of the order goes to
  for (std::size_t& result : home) result = at(dice.below(results));
  std::sort(home.begin(), home.end());
  std::vector<RuleResult> map(at(results));
  Numbers stride(at(results), 1);
  for (std::size_t k = order.size(); k-- > 0;) {
    std::int64_t& running = stride[home[k]];
    map[home[k]].parts.push_back({order[k], running});
    running *= std::max<std::int64_t>(shape[order[k]], 1);
    if (dice.chance(15)) running += dice.between(1, 4);
  }
  for (RuleResult& result : map) {
    if (dice.chance(8)) result.constant = dice.between(1, 3);
    if (dice.chance(12) && !shape.empty()) {
      const std::size_t dim = at(dice.below(static_cast<std::int64_t>(shape.size())));
      if (!uses(result, dim)) result.parts.push_back({dim, dice.between(1, 3)});
    }
    sort_parts(result);
  }
  return map;
}

bool names_a_dim_twice(const std::vector<RuleResult>& map) {
  std::set<std::size_t> named;
  std::size_t parts = 0;
  for (const RuleResult& result : map) {
    for (const RuleResult::Part& part : result.parts) named.insert(part.dim);
    parts += result.parts.size();
  }
  return parts != named.size();
}

/// Two results that are quotient and remainder of one expression.
void split_one(Dice& dice, std::vector<RuleResult>& map) {
  const auto constant = std::find_if(map.begin(), map.end(),
                                     [](const RuleResult& result) { return result.parts.empty(); });
  const auto driven = std::find_if(map.begin(), map.end(),
                                   [](const RuleResult& result) { return !result.parts.empty(); });
  if (constant == map.end() || driven == map.end()) return;
  const std::int64_t k = dice.between(2, 5);
  std::int64_t common = std::gcd(k, driven->constant);
  for (const RuleResult::Part& part : driven->parts) common = std::gcd(common, part.coef);
  if (common > 1) return;  // would be written with smaller numbers
  *constant = *driven;
  constant->modulus = k;
  driven->divisor = k;
}

Numbers random_grid(Dice& dice, std::size_t rank, std::int64_t most) {
  Numbers grid;
  for (std::size_t i = 0; i < rank; ++i) {
    grid.push_back(dice.chance(10) ? dice.between(1, 9) : dice.between(1, most));
  }
  return grid;
}

constexpr std::array<std::string_view, 4> kSpaces = {"l1", "dram", "system", "mmio"};

void decorate(Dice& dice, MetalRule& rule) {
  static constexpr std::array<std::string_view, 5> kPaddings = {"undef", "zero", "one", "inf",
                                                                "neginf"};
  rule.oob = kPaddings[at(dice.chance(60) ? 0 : dice.below(kPaddings.size()))];
  rule.space = kSpaces[at(dice.below(kSpaces.size()))];
  rule.dialect = dice.chance(70) ? "tt" : "ttcore";
  if (dice.chance(15)) rule.device = random_device(dice, rule.grid);
}

MetalRule random_of_tiles(Dice& dice, bool large) {
  static constexpr std::array<std::array<std::int64_t, 2>, 7> kTiles = {
      {{2, 2}, {4, 2}, {1, 4}, {3, 1}, {3, 5}, {4, 4}, {2, 7}}};
  const std::int64_t limit = large ? 10000 : 1200;
  while (true) {
    MetalRule rule;
    rule.shape = large ? random_shape(dice, 3, 2000) : random_shape(dice, 6, 90);
    const std::int64_t results = large ? dice.between(2, 3) : dice.between(1, 4);
    rule.linear = random_map(dice, rule.shape, results);
    if (!large && dice.chance(10)) split_one(dice, rule.linear);
    rule.grid = random_grid(dice, rule.linear.size(), large ? 2 : 4);
    rule.dtype = random_dtype(dice);
    rule.storage = rule.dtype;
    if (large) {
      rule.tile = {32, 32};
      rule.storage = random_tile_dtype(dice);
    } else if (results >= 2 && dice.chance(55)) {
      const auto& tile = kTiles[at(dice.below(kTiles.size()))];
      rule.tile = {tile[0], tile[1]};
      rule.storage = random_dtype(dice);
    } else if (dice.chance(20)) {
      rule.storage = random_dtype(dice);
    }
    if (!rule.rises() || total_slots(rule.lines()) > limit) continue;
    if (names_a_dim_twice(rule.linear) && !contents(ruled(rule))) continue;
    decorate(dice, rule);
    return rule;
  }
}

/// Ascending intervals, some dims left out, some ends counted from the back.
std::vector<std::pair<std::int64_t, std::int64_t>> random_intervals(Dice& dice, std::int64_t rank) {
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  for (std::int64_t from = 0; from < rank;) {
    const std::int64_t to = dice.between(from + 1, std::min(rank, from + 3));
    if (dice.chance(65)) {
      const bool end_back = to < rank && dice.chance(40);
      out.emplace_back(dice.chance(20) ? from - rank : from, end_back ? to - rank : to);
    }
    from = to;
  }
  return out;
}

TodayRule random_today_of(Dice& dice, bool large) {
  static constexpr std::array<std::array<std::int64_t, 2>, 5> kTiles = {
      {{2, 2}, {4, 2}, {1, 4}, {3, 5}, {2, 3}}};
  const std::int64_t limit = large ? 10000 : 1200;
  while (true) {
    TodayRule rule;
    rule.shape = large ? random_shape(dice, 4, 1500) : random_shape(dice, 5, 60);
    if (rule.shape.empty()) continue;
    const auto rank = static_cast<std::int64_t>(rule.shape.size());
    for (std::size_t dim = 0; dim < rule.shape.size(); ++dim) {
      rule.alignments.push_back(dice.chance(50) ? 1 : dice.between(1, 8));
    }
    rule.intervals = random_intervals(dice, rank);
    if (large) rule.tile = {32, 32};
    const std::size_t plain = rule.groups().size();
    if (!large && plain >= 2 && dice.chance(50)) {
      const auto& tile = kTiles[at(dice.below(kTiles.size()))];
      rule.tile = {tile[0], tile[1]};
    }
    const std::vector<std::vector<std::size_t>> groups = rule.groups();
    if (large && groups.size() < 2) continue;
    rule.grid = random_grid(dice, groups.size(), large ? 2 : 3);
    if (groups.front().empty()) rule.grid.front() = 1;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (groups[i].empty()) continue;
      const std::int64_t tile =
          rule.tile.empty() || i + 2 < groups.size() ? 1 : rule.tile[i + 2 - groups.size()];
      // The outermost alignment makes the line a multiple of its divisors.
      std::int64_t& outer = rule.alignments[groups[i].front()];
      outer = tile * rule.grid[i] * (dice.chance(70) ? 1 : dice.between(1, 3));
    }
    std::vector<RuleLine> lines;
    const Numbers shard = rule.shard();
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const bool tiled = !rule.tile.empty() && i + 2 >= groups.size();
      lines.push_back({rule.grid[i], 0, tiled ? rule.tile[i + 2 - groups.size()] : 1, shard[i]});
    }
    if (total_slots(lines) > limit) continue;
    rule.storage = large ? random_tile_dtype(dice) : random_dtype(dice);
    if (dice.chance(20)) rule.oob = dice.chance(50) ? "undef" : "zero";
    rule.space = kSpaces[at(dice.below(kSpaces.size()))];
    rule.memory_layout = dice.chance(80) ? "sharded" : "interleaved";
    return rule;
  }
}

}  // namespace

MetalRule::Device random_device(Dice& dice, const Numbers& grid) {
  const auto whole = [](std::size_t dim) { return RuleResult{{{dim, 1}}}; };
  if (grid.size() == 2 && dice.chance(60)) {
    const std::int64_t rows = grid[0] + dice.below(3);
    const std::int64_t cols = std::max<std::int64_t>(grid[1] + dice.below(3), 2);
    switch (dice.below(3)) {
      case 0:
        return {{rows, cols}, {whole(0), whole(1)}};
      case 1:
        return {{cols, rows}, {whole(1), whole(0)}};
      default:
        return {{rows, cols}, {whole(0), RuleResult{{{0, 1}, {1, 1}}, 0, cols, 1}}};
    }
  }
  // All places in a row, then folded: 1x64 on 8x8.
  RuleResult line;
  std::int64_t places = 1;
  for (std::size_t i = grid.size(); i-- > 0;) {
    if (grid[i] > 1 || dice.chance(30)) line.parts.insert(line.parts.begin(), {i, places});
    places *= grid[i];
  }
  const std::int64_t width = dice.between(2, 8);
  RuleResult row = line;
  RuleResult col = line;
  if (!line.parts.empty()) {
    row.divisor = width;
    col.modulus = width;
  }
  return {{ceil_divide(places, width) + dice.below(2), width}, {row, col}};
}

MetalRule random_metal(Dice& dice) { return random_of_tiles(dice, false); }
MetalRule random_metal_32x32(Dice& dice) { return random_of_tiles(dice, true); }
TodayRule random_today(Dice& dice) { return random_today_of(dice, false); }
TodayRule random_today_32x32(Dice& dice) { return random_today_of(dice, true); }

}  // namespace tessera::test
