// SPDX-License-Identifier: Apache-2.0

#include "tessera/base/text.h"
#include "tessera/testing/check/mlir_parts.h"

namespace tessera::test {
namespace {

Attempt metal_memref(Dice& dice) {
  const MetalRule rule = any_metal(dice);
  Parts parts = parts_of(rule);
  Numbers memref = rule.memref();
  const std::size_t i = any_of(dice, memref.size());
  const std::string right = std::to_string(memref[i]);
  memref[i] = other_number(dice, memref[i]);
  parts.memref = marked_times(memref, i);
  return planted(written(rule, parts), right);
}

Attempt metal_map_rank(Dice& dice) {
  const MetalRule rule = any_metal(dice);
  Parts parts = parts_of(rule);
  std::size_t rank = rule.shape.size() + 1;
  if (dice.chance(50)) {
    for (const RuleResult& result : rule.linear) {
      for (const RuleResult::Part& part : result.parts) {
        if (part.dim + 1 == rule.shape.size()) return std::nullopt;
      }
    }
    if (rule.shape.empty()) return std::nullopt;
    rank -= 2;
  }
  parts.map = mark(map_text(rank, rule.linear));
  return planted(written(rule, parts));
}

Attempt metal_map_results(Dice& dice) {
  const MetalRule rule = any_metal(dice);
  Parts parts = parts_of(rule);
  std::vector<RuleResult> linear = rule.linear;
  linear.insert(linear.begin(), RuleResult{});
  parts.map = mark(map_text(rule.shape.size(), linear));
  return planted(written(rule, parts));
}

Attempt metal_map_coefficient(Dice& dice) {
  const MetalRule rule = any_metal(dice);
  MetalRule other = rule;
  RuleResult& result = other.linear[any_of(dice, other.linear.size())];
  if (result.parts.empty() || product(rule.shape) == 0) return std::nullopt;
  std::int64_t& coefficient = result.parts[any_of(dice, result.parts.size())].coef;
  coefficient = other_number(dice, coefficient);
  // A remainder that is no longer monotone has no unambiguous length.
  if (coefficient == 0 || !other.rises()) return std::nullopt;
  if (other.memref() == rule.memref()) return std::nullopt;
  Parts parts = parts_of(rule);
  parts.map = mark(parts_of(other).map);
  return planted(written(rule, parts));
}

Attempt metal_grid(Dice& dice) {
  const MetalRule rule = any_metal(dice);
  MetalRule other = rule;
  const std::size_t i = any_of(dice, rule.grid.size());
  other.grid[i] = other_number(dice, rule.grid[i]);
  if (other.grid[i] == 0 || other.memref() == rule.memref()) return std::nullopt;
  Parts parts = parts_of(rule);
  parts.grid = marked_times(other.grid, i);
  return planted(written(rule, parts));
}

Attempt metal_tile(Dice& dice) {
  const MetalRule rule = any_metal(dice);
  if (rule.tile.empty()) return std::nullopt;
  MetalRule other = rule;
  const std::size_t i = any_of(dice, 2);
  other.tile[i] = other_number(dice, rule.tile[i]);
  if (other.tile[i] == 0 || other.memref() == rule.memref()) return std::nullopt;
  Parts parts = parts_of(rule);
  parts.tile = marked_times(other.tile, i);
  return planted(written(rule, parts));
}

}  // namespace

std::vector<PlantedKind> metal_kinds() {
  return {
      {"metal memref", metal_memref},
      {"metal map rank", metal_map_rank},
      {"metal map results", metal_map_results},
      {"metal map coefficient", metal_map_coefficient},
      {"metal grid", metal_grid},
      {"metal tile", metal_tile},
  };
}

}  // namespace tessera::test
