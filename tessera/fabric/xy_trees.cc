// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/xy_trees.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace tessera::fabric {

RouterAt neighbour(RouterAt at, Port port) {
  switch (port) {
    case Port::kEast:
      return {at.row, at.col + 1};
    case Port::kWest:
      return {at.row, at.col - 1};
    case Port::kSouth:
      return {at.row + 1, at.col};
    case Port::kNorth:
      return {at.row - 1, at.col};
    case Port::kRamp:
      break;
  }
  return at;
}

std::size_t XyTrees::add(RouterAt source, std::span<const RouterAt> destinations) {
  Tree tree;
  tree.source = source;
  tree.west = tree.east = source.col;
  for (const RouterAt& at : destinations) {
    tree.west = std::min(tree.west, at.col);
    tree.east = std::max(tree.east, at.col);
  }
  tree.first_column = static_cast<std::int64_t>(columns_.size()) - tree.west;
  const auto column_at = [&](std::int32_t col) -> Column& {
    return columns_[static_cast<std::size_t>(tree.first_column + col)];
  };
  for (std::int32_t col = tree.west; col <= tree.east; ++col) {
    columns_.push_back({0, source.row, source.row});
  }
  for (const RouterAt& at : destinations) {
    Column& column = column_at(at.col);
    column.north = std::min(column.north, at.row);
    column.south = std::max(column.south, at.row);
  }

  tree.first_cell = cells_.size();
  for (std::int32_t col = tree.west; col <= tree.east; ++col) {
    Column& column = column_at(col);
    column.base = static_cast<std::int64_t>(cells_.size()) - column.north;
    for (std::int32_t row = column.north; row <= column.south; ++row) {
      TreeCell cell;
      if (row >= source.row && row < column.south) cell.add(Port::kSouth);
      if (row <= source.row && row > column.north) cell.add(Port::kNorth);
      if (row == source.row && col >= source.col && col < tree.east) cell.add(Port::kEast);
      if (row == source.row && col <= source.col && col > tree.west) cell.add(Port::kWest);
      cells_.push_back(cell);
    }
  }
  tree.cells = cells_.size() - tree.first_cell;
  for (std::size_t d = 0; d < destinations.size(); ++d) {
    const RouterAt& at = destinations[d];
    cells_[static_cast<std::size_t>(column_at(at.col).base + at.row)].end(
        static_cast<std::uint32_t>(d));
  }
  trees_.push_back(tree);
  return trees_.size() - 1;
}

void XyTrees::reserve(const TreeSize& size) {
  columns_.reserve(static_cast<std::size_t>(size.columns));
  cells_.reserve(static_cast<std::size_t>(size.cells));
}

std::int64_t TreeSize::bytes() const {
  return columns * static_cast<std::int64_t>(sizeof(XyTrees::Column)) +
         cells * static_cast<std::int64_t>(sizeof(TreeCell));
}

TreeSize tree_size(RouterAt source, std::span<const RouterAt> destinations) {
  if (destinations.size() == 1) {
    const std::int64_t columns = std::int64_t{std::abs(source.col - destinations[0].col)} + 1;
    return {columns, columns + std::abs(source.row - destinations[0].row)};
  }
  std::vector<RouterAt> sorted(destinations.begin(), destinations.end());
  std::sort(sorted.begin(), sorted.end(), [](const RouterAt& a, const RouterAt& b) {
    return std::pair(a.col, a.row) < std::pair(b.col, b.row);
  });
  const std::int64_t west = std::min(source.col, sorted.front().col);
  const std::int64_t east = std::max(source.col, sorted.back().col);
  TreeSize size{east - west + 1, east - west + 1};
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t last = i;
    while (last + 1 < sorted.size() && sorted[last + 1].col == sorted[i].col) ++last;
    size.cells += std::max(source.row, sorted[last].row) - std::min(source.row, sorted[i].row);
    i = last + 1;
  }
  return size;
}

}  // namespace tessera::fabric
