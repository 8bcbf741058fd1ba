// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/collectives/grid_digits.h"

#include <algorithm>
#include <set>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/layout/regions.h"

namespace tessera::reshard {
namespace {

constexpr std::int64_t kMaxJoinedCells = std::int64_t{1} << 20;

/// The coordinate of an offset from the first place of the grid; it must not be negative.
std::int32_t digit(std::int64_t offset, const GridAxis& axis) {
  return static_cast<std::int32_t>(offset / axis.step % axis.count);
}

Digits digits(const Place& offset, const PlaceGrid& grid) {
  Digits all;
  for (const GridAxis& axis : grid.axes) all.push_back(digit(offset[axis.mesh_axis], axis));
  return all;
}

/// Which axes a set of places covers completely; along all others it has one coordinate.
struct Covered {
  std::vector<bool> all;
  Digits single;
};
std::optional<Covered> covered(std::vector<Digits> places, const PlaceGrid& grid) {
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  Covered result;
  std::int64_t product = 1;
  for (std::size_t k = 0; k < grid.axes.size(); ++k) {
    std::vector<bool> seen(static_cast<std::size_t>(grid.axes[k].count), false);
    for (const Digits& place : places) seen[static_cast<std::size_t>(place[k])] = true;
    const std::int64_t count = std::count(seen.begin(), seen.end(), true);
    if (count != 1 && count != grid.axes[k].count) return std::nullopt;
    result.all.push_back(count > 1);
    result.single.push_back(places.front()[k]);
    product *= count;
  }
  if (product != static_cast<std::int64_t>(places.size())) return std::nullopt;
  return result;
}

/// Shares at every coordinate of some axes, each at another place.
std::optional<std::vector<bool>> covered_by_shares(const std::vector<Digits>& shares,
                                                   const PlaceGrid& grid) {
  const std::optional<Covered> cover = covered(shares, grid);
  if (!cover) return std::nullopt;
  std::int64_t places = 1;
  for (std::size_t k = 0; k < grid.axes.size(); ++k) {
    if (cover->all[k]) places *= grid.axes[k].count;
  }
  if (places != static_cast<std::int64_t>(shares.size())) return std::nullopt;
  return cover->all;
}

/// Subtracts the lowest coordinates of a list from it, and returns them.
Place lower(std::vector<Place>& list) {
  Place least = list.front();
  for (const Place& offset : list) {
    for (std::size_t k = 0; k < least.size(); ++k) least[k] = std::min(least[k], offset[k]);
  }
  for (Place& offset : list) offset = minus(std::move(offset), least);
  return least;
}

/// The offsets of a factor's cells along one mesh axis.
Values along(const PlaceFacts& facts, Values CellTable::* column, std::size_t factor,
             std::size_t mesh_axis) {
  const Values& all = facts.factors[factor].*column;
  Values list;
  for (std::size_t i = mesh_axis; i < all.size(); i += facts.mesh.rank()) list.push_back(all[i]);
  return list;
}

/// How the factors of one side move along one mesh axis of a grid.
struct AxisMoves {
  std::int64_t base = 0;  // the lowest offset from the grid's first place
  std::vector<std::pair<std::size_t, Values>> moves;  // of each factor that moves, from 0
};
AxisMoves moves_along(const PlaceFacts& facts, Values CellTable::* column, std::int64_t base,
                      std::size_t mesh_axis) {
  AxisMoves result;
  result.base = base;
  for (std::size_t f = 0; f < facts.factors.size(); ++f) {
    Values list = along(facts, column, f, mesh_axis);
    const auto [least, most] = std::minmax_element(list.begin(), list.end());
    const std::int64_t low = *least;
    const bool moves = low != *most;
    result.base += low;
    if (!moves) continue;
    for (std::int64_t& value : list) value -= low;
    result.moves.emplace_back(f, std::move(list));
  }
  return result;
}

/// True when the coordinates of the factors along the grid axes of a mesh axis add up without
/// carrying, and no grid axis has two of them.
bool independent(const AxisMoves& moves, const PlaceGrid& grid, std::size_t mesh_axis) {
  if (moves.moves.size() < 2) return true;
  for (const GridAxis& axis : grid.axes) {
    if (axis.mesh_axis != mesh_axis) continue;
    std::int64_t most = digit(moves.base, axis);
    int movers = 0;
    for (const auto& [factor, list] : moves.moves) {
      std::int32_t largest = 0;
      for (const std::int64_t value : list) largest = std::max(largest, digit(value, axis));
      most += largest;
      movers += largest > 0 ? 1 : 0;
    }
    if (most >= axis.count || movers > 1) return false;
  }
  return true;
}

/// The lowest offset of a side from the first place of a grid, over all copies and shares.
Place base_of(const PlacedSide& side, const PlaceGrid& grid) {
  if (grid.mesh.rank() == 0) return {};
  Place base = minus(side.base, grid.mesh.delinear(grid.first));
  if (!side.listed.empty()) return base;
  Repeats repeats = side.repeats;
  base = plus(std::move(base), lower(repeats.shares));
  for (std::vector<Place>& list : repeats.copies) base = plus(std::move(base), lower(list));
  return base;
}

/// Replaces factors, given in ascending order, by their product.
bool join_factors(PlaceFacts& facts, const std::vector<std::size_t>& factors) {
  Checked cells = 1;
  for (const std::size_t f : factors) {
    cells *= static_cast<std::int64_t>(facts.factors[f].cells());
  }
  if (cells.saturated() > kMaxJoinedCells) return false;
  const std::size_t rank = facts.mesh.rank();
  CellTable joined{{1}, Values(rank, 0), Values(rank, 0)};
  for (const std::size_t f : factors) {
    const CellTable& next = facts.factors[f];
    CellTable sums;
    for (std::size_t i = 0; i < joined.cells(); ++i) {
      for (std::size_t j = 0; j < next.cells(); ++j) {
        sums.elements.push_back(joined.elements[i] * next.elements[j]);
        for (std::size_t k = 0; k < rank; ++k) {
          sums.a.push_back(joined.a[i * rank + k] + next.a[j * rank + k]);
          sums.b.push_back(joined.b[i * rank + k] + next.b[j * rank + k]);
        }
      }
    }
    joined = std::move(sums);
  }
  for (std::size_t i = factors.size(); i-- > 0;) {
    facts.factors.erase(facts.factors.begin() + static_cast<std::ptrdiff_t>(factors[i]));
  }
  facts.factors.push_back(std::move(joined));
  return true;
}

/// The digits of a side whose places are listed.
std::optional<SideDigits> listed_digits(const PlacedSide& side, const PlaceGrid& grid) {
  const Place low = grid.mesh.rank() == 0 ? Place() : grid.mesh.delinear(grid.first);
  SideDigits result;
  Digits& column = result.columns.emplace_back();
  for (const ListedPlaces& cell : side.listed) {
    std::optional<std::vector<bool>> copies;
    std::vector<Digits> shares;
    for (const std::vector<Place>& share : cell) {
      std::vector<Digits> places;
      for (const Place& place : share) places.push_back(digits(minus(place, low), grid));
      std::optional<Covered> cover = covered(std::move(places), grid);
      if (!cover || (copies && *copies != cover->all)) return std::nullopt;
      copies = cover->all;
      for (std::size_t k = 0; k < grid.axes.size(); ++k) {
        if (cover->all[k]) cover->single[k] = 0;
      }
      shares.push_back(std::move(cover->single));
    }
    const std::optional<std::vector<bool>> by_shares = covered_by_shares(shares, grid);
    if (!by_shares) return std::nullopt;
    Digits single = shares.front();
    for (std::size_t k = 0; k < grid.axes.size(); ++k) {
      if ((*by_shares)[k]) single[k] = 0;
      for (Digits& share : shares) share[k] = (*by_shares)[k] ? share[k] : 0;
    }
    if (column.empty()) {
      result.copies = *copies;
      result.shares = *by_shares;
      result.share_digits = shares;
    }
    if (result.copies != *copies || result.shares != *by_shares || result.share_digits != shares) {
      return std::nullopt;
    }
    column.insert(column.end(), single.begin(), single.end());
  }
  result.fixed =
      Digits(column.begin(), column.begin() + static_cast<std::ptrdiff_t>(grid.axes.size()));
  return result;
}

/// The axes that copies and shares in product form cover.
std::optional<SideDigits> repeated_digits(Repeats repeats, const PlaceGrid& grid) {
  SideDigits result;
  result.copies.assign(grid.axes.size(), false);
  for (std::vector<Place>& list : repeats.copies) {
    lower(list);
    std::vector<Digits> places;
    for (const Place& offset : list) places.push_back(digits(offset, grid));
    const std::optional<Covered> cover = covered(std::move(places), grid);
    if (!cover) return std::nullopt;
    for (std::size_t k = 0; k < grid.axes.size(); ++k) {
      if (cover->all[k] && result.copies[k]) return std::nullopt;
      if (cover->all[k]) result.copies[k] = true;
    }
  }
  lower(repeats.shares);
  for (const Place& offset : repeats.shares) result.share_digits.push_back(digits(offset, grid));
  std::optional<std::vector<bool>> shares = covered_by_shares(result.share_digits, grid);
  if (!shares) return std::nullopt;
  result.shares = *std::move(shares);
  for (std::size_t k = 0; k < grid.axes.size(); ++k) {
    if (result.shares[k] && result.copies[k]) return std::nullopt;
  }
  return result;
}

}  // namespace

std::optional<PlaceFacts> with_independent_factors(PlaceFacts facts, const PlaceGrid& grid) {
  for (bool joined = true; joined;) {
    joined = false;
    for (const bool in_b : {false, true}) {
      Values CellTable::* column = in_b ? &CellTable::b : &CellTable::a;
      const Place base = base_of(in_b ? facts.b : facts.a, grid);
      for (std::size_t axis = 0; axis < facts.mesh.rank(); ++axis) {
        const AxisMoves moves = moves_along(facts, column, base[axis], axis);
        if (independent(moves, grid, axis)) continue;
        std::vector<std::size_t> factors;
        for (const auto& [factor, list] : moves.moves) factors.push_back(factor);
        if (!join_factors(facts, factors)) return std::nullopt;
        joined = true;
      }
    }
  }
  return facts;
}

std::optional<SideDigits> side_digits(const PlaceFacts& facts, const PlaceGrid& grid, bool in_b) {
  const PlacedSide& side = in_b ? facts.b : facts.a;
  if (!side.listed.empty()) return listed_digits(side, grid);
  std::optional<SideDigits> result = repeated_digits(side.repeats, grid);
  if (!result) return std::nullopt;
  const std::size_t axes = grid.axes.size();
  for (const CellTable& factor : facts.factors) {
    result->columns.emplace_back(factor.cells() * axes, 0);
  }
  const Place base = base_of(side, grid);
  for (std::size_t k = 0; k < axes; ++k) {
    const GridAxis& axis = grid.axes[k];
    const AxisMoves moves = moves_along(facts, in_b ? &CellTable::b : &CellTable::a,
                                        base[axis.mesh_axis], axis.mesh_axis);
    result->fixed.push_back(digit(moves.base, axis));
    bool zero = result->fixed[k] == 0;
    for (const auto& [factor, list] : moves.moves) {
      for (std::size_t cell = 0; cell < list.size(); ++cell) {
        // A single factor may carry from one part of the mesh axis to the next; several do not.
        const std::int32_t value = moves.moves.size() == 1
                                       ? digit(moves.base + list[cell], axis)
                                       : digit(list[cell], axis) + result->fixed[k];
        result->columns[factor][cell * axes + k] = value;
        zero = zero && value == 0;
      }
      if (moves.moves.size() == 1) result->fixed[k] = result->columns[factor][k];
    }
    if ((result->copies[k] || result->shares[k]) && !zero) return std::nullopt;
  }
  return result;
}

}  // namespace tessera::reshard
