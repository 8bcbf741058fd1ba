// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/check/mlir_parts.h"

#include "tessera/base/text.h"

namespace tessera::test {
namespace {

std::string with_x(const Numbers& shape) { return shape.empty() ? "" : times(shape) + "x"; }

std::string tiled(std::string_view dialect, const std::string& tile, const Numbers& sides,
                  const std::string& storage) {
  if (sides.empty()) return storage;
  const std::string plain = element_text(dialect, sides, storage);
  const std::size_t from = plain.find('<') + 1;
  return cat(plain.substr(0, from), tile, plain.substr(plain.find(',')));
}

}  // namespace

std::size_t any_of(Dice& dice, std::size_t n) {
  return static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(n)));
}

std::string mark(std::string_view text) {
  return cat(std::string(1, kChanged), text, std::string(1, kChangedEnd));
}

std::int64_t other_number(Dice& dice, std::int64_t n) {
  while (true) {
    std::int64_t to = n;
    switch (dice.below(4)) {
      case 0:
        to = n + 1;
        break;
      case 1:
        to = n - 1;
        break;
      case 2:
        to = n * dice.between(2, 4);
        break;
      default:
        to = dice.between(1, 2 * n + 8);
    }
    if (to != n && to >= 0) return to;
  }
}

std::string marked_times(const Numbers& numbers, std::size_t which) {
  std::string out;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::string number = std::to_string(numbers[i]);
    out += cat(i == 0 ? "" : "x", i == which ? mark(number) : number);
  }
  return out;
}

std::string cores_text(const std::vector<RuleCores>& cores, std::int64_t marked) {
  std::string ranges;
  std::int64_t at = 0;
  const auto number = [&](std::int64_t n) {
    return at++ == marked ? mark(std::to_string(n)) : std::to_string(n);
  };
  for (const RuleCores& range : cores) {
    ranges += cat(ranges.empty() ? "" : ", ", "#ttnn.core_range<(");
    ranges += number(range.x0) + "," + number(range.y0) + "), (";
    ranges += number(range.x1) + "," + number(range.y1) + ")>";
  }
  return ranges;
}

Parts parts_of(const TtnnRule& rule) {
  return {map_text(rule.shape.size(), rule.linear()),
          times(rule.grid),
          times(rule.memref()),
          times(rule.tile),
          rule.space,
          rule.memory,
          cores_text(rule.cores, -1)};
}

WrittenTensor written(const TtnnRule& rule, const Parts& parts) {
  const std::string mode = parts.mode.empty() ? "" : cat(", <", parts.mode, ">");
  const std::string cores = rule.cores.empty() ? "" : cat(", core_ranges = <[", parts.cores, "]>");
  return {with_x(rule.shape), rule.dtype,
          cat("#ttnn.ttnn_layout<", parts.map, ", <", parts.grid, ">, memref<", parts.memref, "x",
              tiled("ttcore", parts.tile, rule.tile, rule.storage), ", #ttnn.buffer_type<",
              parts.space, ">>", mode, cores, ">")};
}

Parts parts_of(const MetalRule& rule) {
  return {map_text(rule.shape.size(), rule.linear),
          times(rule.grid),
          times(rule.memref()),
          times(rule.tile),
          rule.space,
          {},
          {}};
}

WrittenTensor written(const MetalRule& rule, const Parts& parts) {
  const std::string device = rule.device ? cat(", device = <", times(rule.device->physical), ", ",
                                               map_text(rule.grid.size(), rule.device->map), ">")
                                         : std::string();
  return {
      with_x(rule.shape), rule.dtype,
      cat("#", rule.dialect, ".metal_layout<", parts.map, ", ", rule.oob, ", <", parts.grid,
          ">, memref<", parts.memref, "x", tiled(rule.dialect, parts.tile, rule.tile, rule.storage),
          ", #", rule.dialect, ".memory_space<", parts.space, ">>", device, ">")};
}

TodayParts parts_of(const TodayRule& rule) {
  Numbers shape = rule.grid;
  for (const std::int64_t extent : rule.shard()) shape.push_back(extent);
  return {times(shape), times(rule.tile), times(rule.shape), times(rule.alignments),
          rule.intervals_text()};
}

WrittenTensor written(const TodayRule& rule, const TodayParts& parts) {
  return {parts.shape + "x", tiled("ttcore", parts.tile, rule.tile, rule.storage),
          cat("#", rule.dialect, ".metal_layout<logical_shape = ", parts.logical,
              ", dim_alignments = ", parts.alignments, ", collapsed_intervals = ", parts.intervals,
              rule.oob.empty() ? "" : cat(", ", rule.oob), ", ", rule.space,
              rule.memory_layout.empty() ? "" : cat(", ", rule.memory_layout), ">")};
}

TtnnRule any_ttnn(Dice& dice) {
  return dice.chance(50) ? random_ttnn_32x32(dice) : random_ttnn(dice);
}
MetalRule any_metal(Dice& dice) {
  return dice.chance(30) ? random_metal_32x32(dice) : random_metal(dice);
}
TodayRule any_today(Dice& dice) {
  return dice.chance(30) ? random_today_32x32(dice) : random_today(dice);
}

}  // namespace tessera::test
