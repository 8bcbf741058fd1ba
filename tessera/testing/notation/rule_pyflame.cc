// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/notation/rule_pyflame.h"

#include <algorithm>
#include <array>

#include "tessera/base/text.h"

namespace tessera::test {
namespace {

bool is_partial(const PyflameRule& rule, std::int64_t axis) {
  return std::any_of(rule.partial.begin(), rule.partial.end(),
                     [axis](const auto& item) { return item.first == axis; });
}

bool is_shared(const PyflameRule& rule, std::int64_t axis) {
  return std::count(rule.replicate.begin(), rule.replicate.end(), axis) > 0 ||
         is_partial(rule, axis);
}

/// Which PE of its axis holds element x of a dim, and which of that PE's elements it is.
struct Share {
  std::int64_t pe = 0;
  std::int64_t local = 0;
};

Share share_of(std::int64_t x, std::int64_t n, std::int64_t p, std::int64_t block) {
  if (block > 0) {
    for (std::int64_t b = 0;; ++b) {
      if (b * block <= x && x < (b + 1) * block) {
        return {b % p, (b / p) * block + x - b * block};
      }
    }
  }
  const std::int64_t t = ceil_divide(n, p);
  for (std::int64_t i = 0;; ++i) {
    const std::int64_t from = std::min(i * t, n);
    const std::int64_t to = std::min((i + 1) * t, n);
    if (from <= x && x < to) return {i, x - from};
  }
}

/// PEs that a dim is distributed over: code 2 of dim_to_pe is both axes.
std::int64_t pes_of(const PyflameRule& rule, std::int64_t axis) {
  return axis == 2 ? rule.grid[0] * rule.grid[1] : rule.grid[static_cast<std::size_t>(axis)];
}

std::int64_t block_of(const PyflameRule& rule, std::int64_t axis) {
  return rule.block ? (*rule.block)[static_cast<std::size_t>(axis)] : 0;
}

}  // namespace

std::string PyflameRule::text() const {
  std::string out = cat("pyflame.", factory, "(");
  std::string separator;
  const auto item = [&](const std::string& said) {
    out += separator + said;
    separator = ", ";
  };
  if (factory == "RowPartition") item(std::to_string(grid[0]));
  if (factory == "ColPartition") item(std::to_string(grid[1]));
  if (factory == "Grid" || factory == "BlockCyclic" || factory == "Custom") item(join(grid, ", "));
  if (block) item(join(*block, ", "));
  if (factory == "Custom") {
    std::string list;
    for (const Numbers& pe : pes) list += cat(list.empty() ? "(" : ", (", join(pe, ", "), ")");
    item(cat("[", list, "]"));
  }
  if (dim_to_pe) {
    std::string list;
    for (const std::int64_t axis : *dim_to_pe) {
      list += cat(list.empty() ? "" : ", ", axis == 2 ? "[0, 1]" : std::to_string(axis));
    }
    item(cat("dim_to_pe=[", list, "]"));
  }
  if (origin) item(cat("origin=(", join(*origin, ", "), ")"));
  if (!replicate.empty()) item(cat("replicate=", bracketed(replicate)));
  if (!partial.empty()) {
    std::string list;
    for (const auto& [axis, reduction] : partial) {
      list += cat(list.empty() ? "" : ", ", axis, ":", reduction);
    }
    item(cat("partial=[", list, "]"));
  }
  return out + ")";
}

Numbers pyflame_axes(const PyflameRule& rule, std::size_t rank) {
  if (rule.dim_to_pe) return *rule.dim_to_pe;
  Numbers axes(rank, -1);
  for (std::int64_t axis = 0; axis < 2; ++axis) {
    const auto dim = static_cast<std::size_t>(axis);
    if (dim < rank && !is_shared(rule, axis)) axes[dim] = axis;
  }
  return axes;
}

Numbers pyflame_tile(const PyflameRule& rule, const Numbers& shape) {
  const Numbers axes = pyflame_axes(rule, shape.size());
  Numbers tile = shape;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    if (axes[dim] < 0) continue;
    const std::int64_t p = pes_of(rule, axes[dim]);
    const std::int64_t block = block_of(rule, axes[dim]);
    tile[dim] = ceil_divide(shape[dim], p);
    if (block > 0) {
      // Whole blocks; a block larger than the dim counts as the length of the dim.
      tile[dim] = ceil_divide(ceil_divide(shape[dim], block), p) * std::min(block, shape[dim]);
    }
  }
  return tile;
}

std::optional<Numbers> pyflame_tile_at(const PyflameRule& rule, const Numbers& shape,
                                       const Numbers& place) {
  const Numbers axes = pyflame_axes(rule, shape.size());
  Numbers tile = shape;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    if (axes[dim] < 0) continue;
    const std::int64_t here = axes[dim] == 2 ? place[0] * rule.grid[1] + place[1]
                                             : place[static_cast<std::size_t>(axes[dim])];
    tile[dim] = 0;
    for (std::int64_t x = 0; x < shape[dim]; ++x) {
      const Share share =
          share_of(x, shape[dim], pes_of(rule, axes[dim]), block_of(rule, axes[dim]));
      tile[dim] += share.pe == here ? 1 : 0;
    }
  }
  for (std::int64_t axis = 0; axis < 2; ++axis) {
    const bool used = std::count(axes.begin(), axes.end(), axis) > 0 ||
                      std::count(axes.begin(), axes.end(), 2) > 0 || is_shared(rule, axis);
    if (!used && place[static_cast<std::size_t>(axis)] != 0) return std::nullopt;
  }
  return tile;
}

RulePosition pyflame_position(const PyflameRule& rule, const Numbers& shape, const Numbers& index) {
  const Numbers axes = pyflame_axes(rule, shape.size());
  const Numbers tile = pyflame_tile(rule, shape);
  // A PE axis that no dim uses is fixed at 0 unless replicated or partial.
  Numbers at = {0, 0};
  RulePosition position;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    std::int64_t local = index[dim];
    if (axes[dim] >= 0) {
      const Share share =
          share_of(index[dim], shape[dim], pes_of(rule, axes[dim]), block_of(rule, axes[dim]));
      if (axes[dim] == 2) {
        at = {share.pe / rule.grid[1], share.pe % rule.grid[1]};
      } else {
        at[static_cast<std::size_t>(axes[dim])] = share.pe;
      }
      local = share.local;
    }
    position.slot = position.slot * tile[dim] + local;
  }
  for (std::int64_t row = 0; row < rule.grid[0]; ++row) {
    for (std::int64_t col = 0; col < rule.grid[1]; ++col) {
      if ((row == at[0] || is_shared(rule, 0)) && (col == at[1] || is_shared(rule, 1))) {
        position.places.push_back({row, col});
      }
    }
  }
  return position;
}

Numbers pyflame_physical(const PyflameRule& rule, const Numbers& place) {
  Numbers pe = place;
  if (!rule.pes.empty()) {
    pe = rule.pes[static_cast<std::size_t>(place[0] * rule.grid[1] + place[1])];
  }
  if (rule.origin) {
    pe[0] += (*rule.origin)[0];
    pe[1] += (*rule.origin)[1];
  }
  return pe;
}

Ruled ruled(const PyflameRule& rule, const Numbers& shape, const std::string& dtype) {
  Ruled out;
  out.text = tensor_text(shape, dtype, rule.text());
  out.shape = shape;
  out.mesh = rule.grid;
  out.slots = product(pyflame_tile(rule, shape));
  out.causes.assign(static_cast<std::size_t>(product(out.mesh) * out.slots), "grid");
  for (const Numbers& index : all_tuples(shape)) {
    out.positions.push_back(pyflame_position(rule, shape, index));
  }
  return out;
}

PyflameRule random_pyflame(Dice& dice, const Numbers& shape) {
  static constexpr std::array<const char*, 6> kFactories = {
      "SinglePE", "RowPartition", "ColPartition", "Grid", "BlockCyclic", "Custom"};
  static constexpr std::array<const char*, 6> kReductions = {"sum", "product", "min",
                                                             "max", "and",     "or"};
  PyflameRule rule;
  rule.factory = kFactories[static_cast<std::size_t>(dice.below(kFactories.size()))];
  const bool rows = rule.factory != "SinglePE" && rule.factory != "ColPartition";
  const bool cols = rule.factory != "SinglePE" && rule.factory != "RowPartition";
  if (rows) rule.grid[0] = dice.between(1, 5);
  if (cols) rule.grid[1] = dice.between(1, 5);
  if (rule.factory == "BlockCyclic") rule.block = Numbers{dice.between(1, 5), dice.between(1, 5)};
  if (rule.factory == "Custom") {
    // Distinct PEs of a rectangle that is a little larger than the grid.
    const std::int64_t width = rule.grid[1] + dice.below(3);
    const std::int64_t height = rule.grid[0] + dice.below(3);
    const auto order = dice.order(static_cast<std::size_t>(width * height));
    for (std::int64_t tile = 0; tile < rule.grid[0] * rule.grid[1]; ++tile) {
      const auto pe = static_cast<std::int64_t>(order[static_cast<std::size_t>(tile)]);
      rule.pes.push_back({pe / width, pe % width});
    }
  }
  if (dice.chance(25)) rule.origin = Numbers{dice.below(9), dice.below(9)};

  std::array<bool, 2> shared = {false, false};
  for (std::int64_t axis = 0; axis < 2; ++axis) {
    if (!dice.chance(20)) continue;
    shared[static_cast<std::size_t>(axis)] = true;
    if (dice.chance(50)) {
      rule.replicate.push_back(axis);
    } else {
      rule.partial.emplace_back(
          axis, kReductions[static_cast<std::size_t>(dice.below(kReductions.size()))]);
    }
  }
  // A rank that is too small is refused unless dim_to_pe states what the axes are for.
  bool must_say = false;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    must_say = must_say || (rule.grid[axis] > 1 && shape.size() <= axis && !shared[axis]);
  }
  if (must_say || dice.chance(35)) {
    Numbers map(shape.size(), -1);
    const auto dims = dice.order(shape.size());
    std::size_t next = 0;
    for (std::size_t axis = 0; axis < 2; ++axis) {
      if (shared[axis] || next == dims.size() || dice.chance(25)) continue;
      map[dims[next++]] = static_cast<std::int64_t>(axis);
    }
    const bool can_be_both = !shared[0] && !shared[1] && !rule.block && !dims.empty();
    if (can_be_both && dice.chance(20)) {
      map.assign(shape.size(), -1);
      map[dims[0]] = 2;
    }
    rule.dim_to_pe = map;
  }
  return rule;
}

}  // namespace tessera::test
