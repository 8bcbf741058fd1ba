// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/fabric/mesh.h"

namespace tessera::fabric {

/// A position on the mesh.
struct RouterAt {
  std::int32_t row = 0;
  std::int32_t col = 0;
};

/// The router that a port leads to; by the ramp, the same one.
RouterAt neighbour(RouterAt at, Port port);

/// What the wavelets of one tree do at one router: the set of ports by which copies leave, and, if
/// the ramp is one of them, the number of this destination.
class TreeCell {
 public:
  TreeCell() = default;
  static constexpr unsigned bit(Port port) { return 1U << static_cast<unsigned>(port); }

  bool leaves_by(Port port) const { return (packed_ & bit(port)) != 0; }
  unsigned ports() const { return packed_ & 31U; }  ///< bit p for Port p
  std::uint32_t destination() const { return packed_ >> 5; }

  void add(Port port) { packed_ |= bit(port); }
  void end(std::uint32_t destination) { packed_ |= bit(Port::kRamp) | destination << 5; }

 private:
  std::uint32_t packed_ = 0;
};

/// The size of one tree, or of several together.
/// Law: a tree has one link less than cells.
struct TreeSize {
  std::int64_t columns = 0;  ///< from the westernmost to the easternmost
  std::int64_t cells = 0;    ///< routers of the tree

  std::int64_t links() const { return cells - 1; }  ///< of one tree
  std::int64_t bytes() const;                       ///< that XyTrees stores
  TreeSize& operator+=(const TreeSize& other) {
    columns += other.columns;
    cells += other.cells;
    return *this;
  }
};

/// The XY trees of several multicasts: along the source's row, then along the columns that have
/// destinations. A tree stores a range of columns, and each column stores the range of rows that
/// the tree reaches there. So a cell is found by its coordinates, and there is exactly one cell per
/// router of the tree.
/// Example: from (1, 0) to (0, 2) and (2, 2): columns 0 and 1 have only the cell of row 1, which
/// leaves to the east; column 2 has rows 0 to 2.
class XyTrees {
 public:
  /// Adds the tree from `source` to `destinations`, none of which is the source, and returns its
  /// number.
  std::size_t add(RouterAt source, std::span<const RouterAt> destinations);

  /// Reserves memory for trees of this total size, so that adding them moves nothing.
  void reserve(const TreeSize& size);

  std::size_t count() const { return trees_.size(); }
  RouterAt source(std::size_t tree) const { return trees_[tree].source; }

  /// The cell of a router of the tree.
  TreeCell cell(std::size_t tree, RouterAt at) const { return cells_[place(tree, at)]; }
  /// The position of that cell in the order of for_each, from 0.
  std::size_t number(std::size_t tree, RouterAt at) const {
    return place(tree, at) - trees_[tree].first_cell;
  }
  /// The number of routers of the tree.
  std::size_t cells(std::size_t tree) const { return trees_[tree].cells; }

  /// Calls visit(RouterAt, TreeCell) for every router of the tree, column by column.
  template <typename Visit>
  void for_each(std::size_t tree, const Visit& visit) const {
    const Tree& t = trees_[tree];
    for (std::int32_t col = t.west; col <= t.east; ++col) {
      const Column& column = columns_[static_cast<std::size_t>(t.first_column + col)];
      for (std::int32_t row = column.north; row <= column.south; ++row) {
        visit(RouterAt{row, col}, cells_[static_cast<std::size_t>(column.base + row)]);
      }
    }
  }

 private:
  friend struct TreeSize;
  struct Column {
    std::int64_t base = 0;  ///< of row 0 in cells_; negative if the first rows are missing
    std::int32_t north = 0;
    std::int32_t south = 0;
  };
  struct Tree {
    RouterAt source;
    std::int32_t west = 0;
    std::int32_t east = 0;
    std::int64_t first_column = 0;  ///< of column 0 in columns_, may also be negative
    std::size_t first_cell = 0;
    std::size_t cells = 0;
  };

  std::size_t place(std::size_t tree, RouterAt at) const {
    const auto column = static_cast<std::size_t>(trees_[tree].first_column + at.col);
    return static_cast<std::size_t>(columns_[column].base + at.row);
  }

  std::vector<Tree> trees_;
  std::vector<Column> columns_;
  std::vector<TreeCell> cells_;
};

/// The size of the tree that `XyTrees::add` would build, without building it.
TreeSize tree_size(RouterAt source, std::span<const RouterAt> destinations);

}  // namespace tessera::fabric
