// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/testing/check/mlir_parts.h"

namespace tessera::test {
namespace {

/// Whether today's rule gives another device shape, or none.
bool contradicts(const TodayRule& other, const TodayRule& said) {
  const Numbers lines = other.collapsed();
  const Numbers shard = said.shard();
  if (lines.size() != said.grid.size()) return true;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool is_tiled = !other.tile.empty() && i + 2 >= lines.size();
    const std::int64_t tile = is_tiled ? other.tile[i + 2 - lines.size()] : 1;
    if (lines[i] != other.grid[i] * shard[i] * tile) return true;
  }
  return false;
}

Attempt today_shape(Dice& dice, bool in_grid) {
  const TodayRule rule = any_today(dice);
  Numbers shape = rule.grid;
  for (const std::int64_t extent : rule.shard()) shape.push_back(extent);
  const std::size_t i = any_of(dice, rule.grid.size()) + (in_grid ? 0 : rule.grid.size());
  const std::size_t line = in_grid ? i : i - rule.grid.size();
  const std::int64_t was = shape[i];
  shape[i] = other_number(dice, was);
  if (shape[i] == 0 || rule.collapsed()[line] == 0) return std::nullopt;
  TodayParts parts = parts_of(rule);
  parts.shape = marked_times(shape, i);
  return planted(written(rule, parts), in_grid ? "" : std::to_string(was));
}

Attempt today_logical(Dice& dice) {
  const TodayRule rule = any_today(dice);
  TodayRule other = rule;
  const std::size_t i = any_of(dice, rule.shape.size());
  other.shape[i] = other_number(dice, rule.shape[i]);
  if (!contradicts(other, rule)) return std::nullopt;
  TodayParts parts = parts_of(rule);
  parts.logical = marked_times(other.shape, i);
  return planted(written(rule, parts));
}

Attempt today_alignment(Dice& dice) {
  const TodayRule rule = any_today(dice);
  TodayRule other = rule;
  const std::size_t i = any_of(dice, rule.alignments.size());
  other.alignments[i] = other_number(dice, rule.alignments[i]);
  if (other.alignments[i] == 0 || !contradicts(other, rule)) return std::nullopt;
  TodayParts parts = parts_of(rule);
  parts.alignments = marked_times(other.alignments, i);
  return planted(written(rule, parts));
}

Attempt today_alignments(Dice& dice) {
  const TodayRule rule = any_today(dice);
  Numbers alignments = rule.alignments;
  if (alignments.size() > 1 && dice.chance(50)) {
    alignments.pop_back();
  } else {
    alignments.push_back(1);
  }
  TodayParts parts = parts_of(rule);
  parts.alignments = mark(times(alignments));
  return planted(written(rule, parts));
}

Attempt today_tile(Dice& dice) {
  const TodayRule rule = any_today(dice);
  if (rule.tile.empty()) return std::nullopt;
  TodayRule other = rule;
  const std::size_t i = any_of(dice, 2);
  other.tile[i] = other_number(dice, rule.tile[i]);
  if (other.tile[i] == 0 || !contradicts(other, rule)) return std::nullopt;
  TodayParts parts = parts_of(rule);
  parts.tile = marked_times(other.tile, i);
  return planted(written(rule, parts));
}

/// One end of one interval changed: intervals overlap, run backwards, reach past the rank, or
/// collapse dims other than those that the tensor's shape has.
Attempt today_interval(Dice& dice) {
  const TodayRule rule = any_today(dice);
  if (rule.intervals.empty()) return std::nullopt;
  TodayRule other = rule;
  const auto rank = static_cast<std::int64_t>(rule.shape.size());
  auto& interval = other.intervals[any_of(dice, rule.intervals.size())];
  std::int64_t& end = dice.chance(50) ? interval.first : interval.second;
  const std::int64_t was = end;
  end = dice.between(-rank - 1, rank + 2);
  if (end == was) return std::nullopt;
  // The rest is read as tt-mlir does: an interval begins at a dim, may be empty, and no two share a
  // dim.
  std::vector<std::pair<std::int64_t, std::int64_t>> sorted;
  bool legal = true;
  for (auto [from, to] : other.intervals) {
    if (from < 0) from += rank;
    if (to < 0) to += rank;
    legal = legal && from >= 0 && from < rank && to >= from && to <= rank;
    if (from < to) sorted.emplace_back(from, to);
  }
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    legal = legal && sorted[i - 1].second <= sorted[i].first;
  }
  TodayRule normal = other;
  normal.intervals = sorted;
  if (legal && !contradicts(normal, rule)) return std::nullopt;
  TodayParts parts = parts_of(rule);
  parts.intervals = mark(other.intervals_text());
  return planted(written(rule, parts));
}

}  // namespace

std::vector<PlantedKind> today_kinds() {
  return {
      {"today grid", [](Dice& dice) { return today_shape(dice, true); }},
      {"today shard", [](Dice& dice) { return today_shape(dice, false); }},
      {"today logical shape", today_logical},
      {"today alignment", today_alignment},
      {"today alignments", today_alignments},
      {"today tile", today_tile},
      {"today interval", today_interval},
  };
}

}  // namespace tessera::test
