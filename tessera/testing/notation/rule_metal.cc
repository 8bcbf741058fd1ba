// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/notation/rule_metal.h"

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

RuledGrid placed(const MetalRule& rule) {
  RuledGrid out = placed(grid_of(rule));
  out.ruled.text = rule.text();
  return out;
}

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

RuledGrid placed(const TodayRule& rule) {
  RuledGrid out = placed(grid_of(rule));
  out.ruled.text = rule.text();
  return out;
}

}  // namespace tessera::test
