// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/collectives/axis_table.h"

#include <algorithm>
#include <utility>

#include "tessera/reshard/collectives/grid_digits.h"

namespace tessera::reshard {
namespace {

using Kind = AxisState::Kind;

/// True when the cells of a factor differ along an axis.
bool varies(const Digits& column, std::size_t axes, std::size_t axis) {
  for (std::size_t i = axis; i < column.size(); i += axes) {
    if (column[i] != column[axis]) return true;
  }
  return false;
}

std::vector<AxisState> states_of(const SideDigits& side, std::size_t axes) {
  std::vector<AxisState> states;
  for (std::size_t k = 0; k < axes; ++k) {
    AxisState& state = states.emplace_back();
    state.value = side.fixed[k];
    if (side.copies[k]) state = {Kind::kReplicated, 0, 0};
    if (side.shares[k]) state = {Kind::kPartial, 0, 0};
    if (!state.is_single()) continue;
    for (std::size_t f = 0; f < side.columns.size(); ++f) {
      if (varies(side.columns[f], axes, k)) state = {Kind::kCut, f, 0};
    }
  }
  return states;
}

/// Shares that keep their numbers move like elements: they become one more factor.
void cut_by_shares(AxisTable& table, const SideDigits& a, const SideDigits& b) {
  const std::size_t factor = table.factors.size();
  GridCells& cells = table.factors.emplace_back();
  for (std::size_t s = 0; s < a.share_digits.size(); ++s) {
    cells.elements.push_back(1);
    cells.a.insert(cells.a.end(), a.share_digits[s].begin(), a.share_digits[s].end());
    cells.b.insert(cells.b.end(), b.share_digits[s].begin(), b.share_digits[s].end());
  }
  for (std::vector<AxisState>* states : {&table.a, &table.b}) {
    for (AxisState& state : *states) {
      if (state.kind == Kind::kPartial) state = {Kind::kCut, factor, 0};
    }
  }
}

/// Decides what becomes of partial axes; see the essay in collective.h.
void settle_shares(AxisTable& table, const PlaceFacts& facts, const SideDigits& a,
                   const SideDigits& b) {
  table.reduction = facts.reduction_a.value_or(Reduction::kSum);
  const bool same_reduction = facts.reduction_a && facts.reduction_a == facts.reduction_b;
  if (a.shares == b.shares && same_reduction) return;
  if (facts.shares.alike && facts.shares.from > 1) return cut_by_shares(table, a, b);
  for (std::size_t k = 0; k < table.axes(); ++k) {
    const bool kept = same_reduction && table.a[k].kind == Kind::kPartial;
    if (table.b[k].kind == Kind::kPartial && !kept) {
      table.b[k] = {Kind::kFixed, 0, b.share_digits.front()[k]};
    }
  }
}

/// The coordinate of a cell along an axis with one coordinate per element.
std::int32_t coordinate_at(const AxisTable& table, bool in_b, std::size_t factor, std::size_t cell,
                           std::size_t axis) {
  const AxisState& state = table.state(in_b, axis);
  return state.kind == Kind::kFixed ? state.value : table.at(in_b, factor, cell, axis);
}

bool exactly(const AxisState& x, const AxisState& y) {
  return x.kind == y.kind && (x.kind != Kind::kCut || x.factor == y.factor);
}

/// True when two neighbours can be one axis of one kind.
bool joinable(const AxisState& x, const AxisState& y) {
  return exactly(x, y) || (x.is_single() && y.is_single() && x.kind != y.kind);
}

bool may_join(const AxisTable& table, std::size_t k) {
  const GridAxis& outer = table.grid.axes[k];
  const GridAxis& inner = table.grid.axes[k + 1];
  if (outer.mesh_axis != inner.mesh_axis || outer.step != inner.step * inner.count) return false;
  if (table.unchanged(k) != table.unchanged(k + 1)) return false;
  const bool exact_a = exactly(table.a[k], table.a[k + 1]);
  const bool exact_b = exactly(table.b[k], table.b[k + 1]);
  if (exact_a && exact_b) return true;
  if (table.unchanged(k)) return false;
  if (!joinable(table.a[k], table.a[k + 1]) || !joinable(table.b[k], table.b[k + 1])) return false;
  return (exact_a && table.a[k].kind != Kind::kFixed) ||
         (exact_b && table.b[k].kind != Kind::kFixed);
}

/// One side of axes k and k + 1 as a single axis.
void join_side(AxisTable& table, bool in_b, std::size_t k) {
  const auto inner = static_cast<std::int32_t>(table.grid.axes[k + 1].count);
  const AxisState& outer_state = table.state(in_b, k);
  const AxisState& inner_state = table.state(in_b, k + 1);
  AxisState joined = inner_state.kind == Kind::kCut ? inner_state : outer_state;
  if (joined.kind == Kind::kFixed) joined.value = outer_state.value * inner + inner_state.value;
  const std::size_t axes = table.axes();
  for (std::size_t f = 0; f < table.factors.size(); ++f) {
    GridCells& cells = table.factors[f];
    Digits column;
    for (std::size_t cell = 0; cell < cells.cells(); ++cell) {
      for (std::size_t j = 0; j < axes; ++j) {
        if (j == k + 1) continue;
        column.push_back(table.at(in_b, f, cell, j));
        if (j != k) continue;
        const bool cuts = joined.kind == Kind::kCut && joined.factor == f;
        column.back() = cuts ? coordinate_at(table, in_b, f, cell, k) * inner +
                                   coordinate_at(table, in_b, f, cell, k + 1)
                             : 0;
      }
    }
    (in_b ? cells.b : cells.a) = std::move(column);
  }
  std::vector<AxisState>& states = in_b ? table.b : table.a;
  states[k] = joined;
  states.erase(states.begin() + static_cast<std::ptrdiff_t>(k + 1));
}

}  // namespace

bool AxisTable::unchanged(std::size_t axis) const {
  if (a[axis] != b[axis]) return false;
  if (a[axis].kind != Kind::kCut) return true;
  const std::size_t factor = a[axis].factor;
  for (std::size_t cell = 0; cell < factors[factor].cells(); ++cell) {
    if (at(false, factor, cell, axis) != at(true, factor, cell, axis)) return false;
  }
  return true;
}

std::optional<AxisTable> axis_table(const PlaceFacts& all_facts, const PlaceGrid& grid) {
  const std::optional<PlaceFacts> facts = with_independent_factors(all_facts, grid);
  if (!facts) return std::nullopt;
  const std::optional<SideDigits> a = side_digits(*facts, grid, false);
  if (!a) return std::nullopt;
  const std::optional<SideDigits> b = side_digits(*facts, grid, true);
  if (!b) return std::nullopt;
  AxisTable table;
  table.grid = grid;
  for (std::size_t f = 0; f < facts->factors.size(); ++f) {
    table.factors.push_back({facts->factors[f].elements, a->columns[f], b->columns[f]});
  }
  table.a = states_of(*a, grid.axes.size());
  table.b = states_of(*b, grid.axes.size());
  settle_shares(table, *facts, *a, *b);
  return table;
}

void join_axes(AxisTable& table) {
  for (std::size_t k = 0; k + 1 < table.axes();) {
    if (!may_join(table, k)) {
      ++k;
      continue;
    }
    join_side(table, false, k);
    join_side(table, true, k);
    std::vector<GridAxis>& axes = table.grid.axes;
    axes[k + 1].count *= axes[k].count;
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(k));
    if (k > 0) --k;
  }
}

}  // namespace tessera::reshard
