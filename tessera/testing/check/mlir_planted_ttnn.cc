// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/testing/check/mlir_parts.h"

namespace tessera::test {
namespace {

std::int64_t count_of(const std::vector<RuleCores>& cores) {
  std::int64_t n = 0;
  for (const RuleCores& range : cores) {
    n += std::max<std::int64_t>(range.x1 - range.x0 + 1, 0) *
         std::max<std::int64_t>(range.y1 - range.y0 + 1, 0);
  }
  return n;
}

Attempt ttnn_memref(Dice& dice) {
  const TtnnRule rule = any_ttnn(dice);
  Parts parts = parts_of(rule);
  Numbers memref = rule.memref();
  const std::size_t i = any_of(dice, memref.size());
  const std::string right = std::to_string(memref[i]);
  memref[i] = other_number(dice, memref[i]);
  parts.memref = marked_times(memref, i);
  return planted(written(rule, parts), right);
}

Attempt ttnn_map_rank(Dice& dice) {
  const TtnnRule rule = any_ttnn(dice);
  TtnnRule other = rule;
  const bool more = rule.shape.empty() || dice.chance(50);
  if (more) {
    other.shape.insert(other.shape.begin(), 1);
  } else {
    other.shape.erase(other.shape.begin());
  }
  Parts parts = parts_of(rule);
  parts.map = mark(parts_of(other).map);
  return planted(written(rule, parts));
}

Attempt ttnn_map_coefficient(Dice& dice) {
  const TtnnRule rule = any_ttnn(dice);
  if (rule.shape.size() < 3) return std::nullopt;
  const std::size_t dim = any_of(dice, rule.shape.size() - 2);
  if (rule.shape[dim] < 2 || product(rule.shape) == 0) return std::nullopt;
  std::vector<RuleResult> map = rule.linear();
  std::int64_t& coefficient = map[0].parts.at(dim).coef;
  const std::int64_t was = coefficient;
  coefficient = other_number(dice, was);
  // Rows may be further apart when that takes no more tiles; if nearer, they share padded rows.
  if (coefficient == 0) return std::nullopt;
  TtnnRule other = rule;
  other.shape = {extent_of(map[0], rule.shape), rule.shape.back()};
  if (coefficient > was && other.memref() == rule.memref()) return std::nullopt;
  Parts parts = parts_of(rule);
  parts.map = mark(map_text(rule.shape.size(), map));
  return planted(written(rule, parts));
}

Attempt ttnn_grid(Dice& dice) {
  const TtnnRule rule = any_ttnn(dice);
  TtnnRule other = rule;
  const std::size_t i = any_of(dice, 2);
  other.grid[i] = other_number(dice, rule.grid[i]);
  if (other.grid[i] == 0) return std::nullopt;
  const bool shares = rule.interleaved() && rule.space == "l1";
  if (shares && other.memref() == rule.memref()) return std::nullopt;
  Parts parts = parts_of(rule);
  parts.grid = marked_times(other.grid, i);
  return planted(written(rule, parts));
}

Attempt ttnn_tile(Dice& dice) {
  const TtnnRule rule = any_ttnn(dice);
  if (rule.tile.empty()) return std::nullopt;
  TtnnRule other = rule;
  const std::size_t i = any_of(dice, 2);
  other.tile[i] = other_number(dice, rule.tile[i]);
  if (other.tile[i] == 0 || other.memref() == rule.memref()) return std::nullopt;
  // Also by the map as written: its rows may be further apart than the new tile needs.
  TtnnRule as_said = other;
  as_said.shape = {extent_of(rule.linear()[0], rule.shape),
                   rule.shape.empty() ? 1 : rule.shape.back()};
  if (as_said.memref() == rule.memref()) return std::nullopt;
  Parts parts = parts_of(rule);
  parts.tile = marked_times(other.tile, i);
  return planted(written(rule, parts));
}

Attempt ttnn_cores(Dice& dice) {
  const TtnnRule rule = any_ttnn(dice);
  if (rule.cores.empty()) return std::nullopt;
  TtnnRule other = rule;
  const auto corner = static_cast<std::int64_t>(any_of(dice, rule.cores.size() * 4));
  RuleCores& range = other.cores[static_cast<std::size_t>(corner / 4)];
  std::int64_t* const numbers[] = {&range.x0, &range.y0, &range.x1, &range.y1};
  std::int64_t& number = *numbers[corner % 4];
  number = other_number(dice, number);
  if (count_of(other.cores) == count_of(rule.cores)) return std::nullopt;
  Parts parts = parts_of(rule);
  parts.cores = cores_text(other.cores, corner);
  return planted(written(rule, parts));
}

Attempt ttnn_memref_rank(Dice& dice) {
  const TtnnRule rule = any_ttnn(dice);
  Parts parts = parts_of(rule);
  parts.memref =
      dice.chance(50) ? cat(mark("1x"), parts.memref) : mark(times({product(rule.memref())}));
  return planted(written(rule, parts));
}

/// System memory has no memory layout, and the memory of a device has one; DRAM is not
/// block-sharded; only sharded tensors have core ranges.
Attempt ttnn_memory(Dice& dice) {
  const TtnnRule rule = any_ttnn(dice);
  Parts parts = parts_of(rule);
  switch (dice.below(3)) {
    case 0:
      if (rule.memory.empty()) {
        parts.space = mark(dice.chance(50) ? "dram" : "l1");
      } else {
        parts.space = mark("system_memory");
      }
      break;
    case 1:
      if (rule.memory == "block_sharded") {
        parts.space = mark("dram");
      } else if (rule.space == "dram" && !rule.interleaved()) {
        parts.mode = mark("block_sharded");
      } else {
        return std::nullopt;
      }
      break;
    default:
      if (rule.cores.empty()) return std::nullopt;
      parts.mode = mark("interleaved");
  }
  return planted(written(rule, parts));
}

Attempt ttnn_sharding(Dice& dice) {
  const TtnnRule rule = any_ttnn(dice);
  if (rule.memory != "height_sharded" && rule.memory != "width_sharded") return std::nullopt;
  TtnnRule other = rule;
  other.memory = rule.memory == "height_sharded" ? "width_sharded" : "height_sharded";
  std::swap(other.grid[0], other.grid[1]);
  if (other.memref() == rule.memref()) return std::nullopt;
  Parts parts = parts_of(rule);
  parts.mode = mark(other.memory);
  return planted(written(rule, parts));
}

}  // namespace

std::vector<PlantedKind> ttnn_kinds() {
  return {
      {"ttnn memref", ttnn_memref},     {"ttnn memref rank", ttnn_memref_rank},
      {"ttnn map rank", ttnn_map_rank}, {"ttnn map coefficient", ttnn_map_coefficient},
      {"ttnn grid", ttnn_grid},         {"ttnn tile", ttnn_tile},
      {"ttnn cores", ttnn_cores},       {"ttnn memory", ttnn_memory},
      {"ttnn sharding", ttnn_sharding},
  };
}

}  // namespace tessera::test
