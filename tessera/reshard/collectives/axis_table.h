// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/reshard/collectives/collective.h"
#include "tessera/reshard/collectives/place_facts.h"

namespace tessera::reshard {

/// How a placement treats elements along one grid axis; see the essay in collective.h.
struct AxisState {
  enum class Kind : std::uint8_t { kCut, kFixed, kReplicated, kPartial };
  Kind kind = Kind::kFixed;
  std::size_t factor = 0;  ///< cut: the factor whose cells decide the coordinate
  std::int32_t value = 0;  ///< fixed: the coordinate

  bool is_single() const { return kind == Kind::kCut || kind == Kind::kFixed; }
  friend bool operator==(const AxisState&, const AxisState&) = default;
};

/// The cells of one factor with their coordinates along the grid axes: those of cell i begin at
/// i·(number of axes). Only coordinates of axes that the factor cuts count; others are 0.
struct GridCells {
  std::vector<std::int64_t> elements;
  std::vector<std::int32_t> a;
  std::vector<std::int32_t> b;
  std::size_t cells() const { return elements.size(); }
};

/// Both placements, axis by axis of a grid. Every cut axis belongs to one factor, and factors vary
/// independently of each other.
struct AxisTable {
  PlaceGrid grid;
  std::vector<AxisState> a;
  std::vector<AxisState> b;
  std::vector<GridCells> factors;
  Reduction reduction = Reduction::kSum;  ///< of A's partial axes that B does not keep

  std::size_t axes() const { return grid.axes.size(); }
  const AxisState& state(bool in_b, std::size_t axis) const { return (in_b ? b : a)[axis]; }
  /// The coordinate of a cell along an axis that its factor cuts.
  std::int32_t at(bool in_b, std::size_t factor, std::size_t cell, std::size_t axis) const {
    const GridCells& table = factors[factor];
    return (in_b ? table.b : table.a)[cell * axes() + axis];
  }
  /// True when A and B treat every element alike along the axis.
  bool unchanged(std::size_t axis) const;
};

/// Empty when a side is none of the four kinds along some axis of the grid.
std::optional<AxisTable> axis_table(const PlaceFacts& facts, const PlaceGrid& grid);

/// Joins neighbouring parts of one mesh axis that change in the same way, or not at all, so that
/// the answer does not depend on how finely the axis was divided. A fixed part joins a cut part if
/// both change and the other side has the same kind along both.
void join_axes(AxisTable& table);

}  // namespace tessera::reshard
