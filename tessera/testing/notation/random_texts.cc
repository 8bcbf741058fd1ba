// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/notation/random_texts.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/testing/notation/rule_metal.h"
#include "tessera/testing/notation/rule_morello.h"
#include "tessera/testing/notation/rule_pyflame.h"
#include "tessera/testing/notation/rule_spyre.h"
#include "tessera/testing/notation/rule_ttnn.h"
#include "tessera/testing/views.h"

namespace tessera::test {
namespace {

constexpr std::int64_t kMaxElements = 200;
constexpr std::int64_t kMaxSlots = 2100;
constexpr std::int64_t kMaxPlaces = 64;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

struct Source {
  std::string_view notation;
  std::string (*text)(Dice& dice, bool plain);
};

constexpr std::array<Source, 13> kSources = {{{"native", random_native_text},
                                              {"strided", random_strided_text},
                                              {"pyflame", random_pyflame_text},
                                              {"spyre", random_spyre_text},
                                              {"metal", random_metal_text},
                                              {"metal-today", random_today_text},
                                              {"ttnn", random_ttnn_text},
                                              {"morello", random_morello_text},
                                              {"xla", random_xla_text},
                                              {"onednn", random_onednn_text},
                                              {"cute", random_cute_text},
                                              {"gspmd", random_gspmd_text},
                                              {"dtensor", random_dtensor_text}}};

bool is_small_tensor(const Placement& placement) {
  return placement.shape().elements() <= kMaxElements && placement.places() <= kMaxPlaces &&
         placement.slots() <= kMaxSlots && placement.slots() * placement.places() <= kMaxSlots;
}

/// One or two 32x32 tiles of few elements, in any type that tiles hold.
Numbers shape_in_a_tile(Dice& dice) { return {dice.between(1, 13), dice.between(1, 13)}; }

std::vector<RuleResult> whole_dims(std::size_t rank) {
  std::vector<RuleResult> map;
  for (std::size_t dim = 0; dim < rank; ++dim) map.push_back({{{dim, 1}}});
  return map;
}

/// All dims but the last as one line, row-major.
std::vector<RuleResult> rows_and_columns(const Numbers& shape) {
  RuleResult rows;
  std::int64_t stride = 1;
  for (std::size_t dim = shape.size() - 1; dim-- > 0;) {
    rows.parts.insert(rows.parts.begin(), {dim, stride});
    stride *= shape[dim];
  }
  return {rows, {{{shape.size() - 1, 1}}}};
}

Numbers dividing_grid(Dice& dice, const Numbers& extents) {
  Numbers grid;
  for (const std::int64_t extent : extents) {
    grid.push_back(dice.chance(50) ? random_divisor(dice, extent) : 1);
  }
  return grid;
}

/// A tile that divides the shards of the last two lines.
Numbers dividing_tile(Dice& dice, const Numbers& shards) {
  if (shards.size() < 2 || !dice.chance(30)) return {};
  Numbers tile = {random_divisor(dice, shards[shards.size() - 2]),
                  random_divisor(dice, shards.back())};
  if (tile == Numbers{1, 1}) tile.clear();
  return tile;
}

Numbers divided(Numbers extents, const Numbers& grid) {
  for (std::size_t i = 0; i < grid.size(); ++i) extents[i] = ceil_divide(extents[i], grid[i]);
  return extents;
}

}  // namespace

Numbers plain_shape(Dice& dice, std::int64_t least, std::int64_t most) {
  static constexpr std::array<std::int64_t, 8> kExtents = {2, 4, 8, 6, 1, 3, 12, 16};
  while (true) {
    Numbers shape(at(dice.between(least, most)));
    for (std::int64_t& extent : shape) extent = kExtents[at(dice.below(kExtents.size()))];
    if (product(shape) <= 128) return shape;
  }
}

Numbers any_shape(Dice& dice, bool plain, std::int64_t least, std::int64_t most) {
  if (plain) return plain_shape(dice, least, most);
  while (true) {
    Numbers shape = random_shape(dice, most, 120);
    if (static_cast<std::int64_t>(shape.size()) >= least) return shape;
  }
}

std::string plain_dtype(Dice& dice) {
  static constexpr std::array<std::string_view, 5> kTypes = {"f32", "f16", "bf16", "i8", "i32"};
  return std::string(kTypes[at(dice.chance(50) ? 0 : dice.below(kTypes.size()))]);
}

std::int64_t random_divisor(Dice& dice, std::int64_t n) {
  if (n < 2) return 1;
  std::int64_t divisor = dice.between(1, n);
  while (n % divisor != 0) --divisor;
  return divisor;
}

std::string random_text(std::string_view notation, Dice& dice) {
  const auto source = std::find_if(kSources.begin(), kSources.end(),
                                   [&](const Source& s) { return s.notation == notation; });
  const bool plain = dice.chance(50);
  while (true) {
    std::string text = source->text(dice, plain);
    const Result<Tensor> tensor = parse_tensor(text);
    if (tensor && is_small_tensor(tensor->placement)) return text;
  }
}

std::string random_native_text(Dice& dice, bool plain) {
  if (plain || dice.chance(20)) {
    // The text of any other notation, converted to native.
    const Source& source = kSources[at(dice.between(1, kSources.size() - 1))];
    const Result<Tensor> tensor = parse_tensor(source.text(dice, plain));
    return tensor ? print_native(tensor->placement) : "";
  }
  const std::optional<Layout> layout = random_layout(dice, {});
  if (!layout) return "";
  if (dice.chance(75)) return print_native(*layout);
  return print_native(random_view(dice, *layout, dice.between(1, 3)).view);
}

std::string random_pyflame_text(Dice& dice, bool plain) {
  if (!plain) {
    const Numbers shape = random_shape(dice, 4, 120);
    const std::string layout = random_pyflame(dice, shape).text();
    return tensor_text(shape, plain_dtype(dice), layout);
  }
  const Numbers shape = plain_shape(dice, 1, 4);
  PyflameRule rule;
  const std::int64_t kind = dice.below(4);
  if (kind > 1 && shape.size() < 2) return "";
  if (kind == 1 || kind == 3) rule.grid[0] = random_divisor(dice, shape[0]);
  if (kind == 2 || kind == 3) rule.grid[1] = random_divisor(dice, shape[1]);
  static constexpr std::array<std::string_view, 4> kFactories = {"SinglePE", "RowPartition",
                                                                 "ColPartition", "Grid"};
  rule.factory = kFactories[at(kind)];
  return tensor_text(shape, plain_dtype(dice), rule.text());
}

std::string random_spyre_text(Dice& dice, bool plain) {
  if (!plain) {
    const SpyreRule rule = random_spyre(dice);
    return tensor_text(rule.shape, rule.dtype, rule.text());
  }
  SpyreRule rule;
  rule.dtype = dice.chance(50) ? "f16" : "f32";
  const std::int64_t stick = spyre_stick(rule.dtype);
  rule.shape = plain_shape(dice, 0, 2);
  rule.shape.push_back(stick * dice.between(1, 2));
  return tensor_text(rule.shape, rule.dtype, rule.text());
}

std::string random_metal_text(Dice& dice, bool plain) {
  if (!plain && dice.chance(85)) return random_metal(dice).text();
  MetalRule rule;
  if (!plain) {
    rule.shape = shape_in_a_tile(dice);
    rule.linear = whole_dims(2);
    rule.grid = {1, dice.between(1, 2)};
    rule.tile = {32, 32};
    rule.storage = random_tile_dtype(dice);
    return rule.text();
  }
  rule.shape = plain_shape(dice, 1, 4);
  rule.dtype = plain_dtype(dice);
  rule.storage = rule.dtype;
  const bool collapses = rule.shape.size() > 2 && dice.chance(70);
  rule.linear = collapses ? rows_and_columns(rule.shape) : whole_dims(rule.shape.size());
  Numbers extents;
  for (const RuleResult& result : rule.linear) extents.push_back(extent_of(result, rule.shape));
  rule.grid = dividing_grid(dice, extents);
  rule.tile = dividing_tile(dice, divided(extents, rule.grid));
  return rule.text();
}

std::string random_today_text(Dice& dice, bool plain) {
  if (!plain && dice.chance(85)) return random_today(dice).text();
  TodayRule rule;
  if (!plain) {
    rule.shape = shape_in_a_tile(dice);
    rule.tile = {32, 32};
    rule.grid = {1, dice.between(1, 2)};
    rule.alignments = {32, 32 * rule.grid[1]};
    rule.storage = random_tile_dtype(dice);
    return rule.text();
  }
  rule.shape = plain_shape(dice, 1, 4);
  rule.storage = plain_dtype(dice);
  rule.alignments.assign(rule.shape.size(), 1);
  if (rule.shape.size() > 2 && dice.chance(70)) rule.intervals = {{0, -1}};
  const Numbers extents = rule.collapsed();
  rule.grid = dividing_grid(dice, extents);
  const Numbers tile = dividing_tile(dice, divided(extents, rule.grid));
  if (extents.size() >= 2) rule.tile = tile;
  return rule.text();
}

std::string random_ttnn_text(Dice& dice, bool plain) {
  if (!plain) {
    if (dice.chance(35)) return random_terms(dice).text();
    if (dice.chance(80)) return random_ttnn(dice).text();
  }
  TtnnRule rule;
  if (!plain) {
    rule.shape = shape_in_a_tile(dice);
    rule.tile = {32, 32};
    rule.storage = random_tile_dtype(dice);
    rule.dtype = "f32";
    return rule.text();
  }
  rule.shape = plain_shape(dice, 2, 4);
  rule.dtype = plain_dtype(dice);
  rule.storage = rule.dtype;
  if (dice.chance(40)) {
    rule.space = "system_memory";
    rule.memory = "";
  } else {
    rule.space = "l1";
    rule.memory = "block_sharded";
    rule.grid = dividing_grid(dice, rule.physical());
    rule.cores = {{0, 0, rule.grid[1] - 1, rule.grid[0] - 1}};
  }
  rule.tile = dividing_tile(dice, divided(rule.physical(), rule.grid));
  return rule.text();
}

std::string random_morello_text(Dice& dice, bool plain) {
  const Numbers shape = any_shape(dice, plain, plain ? 1 : 0, 4);
  const std::string layout = random_morello(dice, shape).text();
  return tensor_text(shape, plain_dtype(dice), layout);
}

}  // namespace tessera::test
