// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "tessera/testing/notation/rule_metal.h"

namespace tessera::test {
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
    if (names_a_dim_twice(rule.linear) && !placed(rule).injective) continue;
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
