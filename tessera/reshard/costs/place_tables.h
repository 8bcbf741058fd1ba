// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tessera/reshard/costs/measure.h"
#include "tessera/reshard/flows/flow_tables.h"

namespace tessera::reshard {

/// Selects the multicasts to count at a place.
enum class At : std::uint8_t {
  kSource,       ///< multicasts that leave it
  kDestination,  ///< multicasts that reach it
  kLocal,        ///< multicasts that leave it and reach it
  kSelf,         ///< multicasts that leave it and reach nothing else
};

/// For every place (r, c), the measure of the selected multicasts, as a product:
///
///     at(r, c) = rest · rows[r] · cols[c] · cells(r, c)
///
/// Blocks that decide only the row are in `rows`, and so on. Without `cells`, nothing is listed
/// place by place.
template <std::size_t Classes>
class PlaceTable {
 public:
  using M = Measure<Classes>;
  struct Cell {
    std::int64_t key;  ///< r·cols + c
    M measure;
  };

  PlaceTable(const FlowTables& tables, const fabric::FabricMesh& fabric, At what)
      : fabric_(fabric) {
    rest_ = M::of(tables.still);
    for (std::size_t i = 0; i < tables.blocks.size(); ++i) add_block(tables, i, what);
  }

  bool has_cells() const { return cells_.has_value(); }
  const M& rest() const { return rest_; }
  /// Only without cells: one entry per coordinate.
  const std::vector<M>& rows() const { return *rows_; }
  const std::vector<M>& cols() const { return *cols_; }

  M sum() const {
    M total;
    if (cells_) {
      for_each_cell([&](std::int64_t, const M& measure) { total += measure; });
      return total;
    }
    M by_row;
    M by_col;
    for (const M& measure : *rows_) by_row += measure;
    for (const M& measure : *cols_) by_col += measure;
    return rest_ * by_row * by_col;
  }

  /// The most elements at one place.
  std::int64_t largest() const {
    std::int64_t most = 0;
    if (cells_) {
      for_each_cell([&](std::int64_t, const M& m) { most = std::max(most, m.elements); });
      return most;
    }
    const auto longest = [](const std::vector<M>& measures) {
      std::int64_t elements = 0;
      for (const M& measure : measures) elements = std::max(elements, measure.elements);
      return elements;
    };
    return rest_.elements * longest(*rows_) * longest(*cols_);
  }

  /// Only with cells: visits the whole product at each cell, by ascending key.
  template <typename Visit>
  void for_each_cell(const Visit& visit) const {
    for (const Cell& cell : *cells_) visit(cell.key, at_cell(cell));
  }

  /// The measure at a place. `hint` is the position of the previous call, for ascending keys.
  M at(std::int64_t key, std::size_t& hint) const {
    if (!cells_) {
      return rest_ * (*rows_)[static_cast<std::size_t>(key / fabric_.cols)] *
             (*cols_)[static_cast<std::size_t>(key % fabric_.cols)];
    }
    while (hint < cells_->size() && (*cells_)[hint].key < key) ++hint;
    if (hint == cells_->size() || (*cells_)[hint].key != key) return M{};
    return at_cell((*cells_)[hint]);
  }

 private:
  M at_cell(const Cell& cell) const {
    M measure = rest_ * cell.measure;
    if (rows_) measure = measure * (*rows_)[static_cast<std::size_t>(cell.key / fabric_.cols)];
    if (cols_) measure = measure * (*cols_)[static_cast<std::size_t>(cell.key % fabric_.cols)];
    return measure;
  }

  /// The coordinates along one axis at which a flow counts: none, one, or all destinations.
  static Span1D positions(std::int32_t source, const Span1D& destinations, bool by_source,
                          bool by_destination, At what) {
    if (!by_source) return destinations;
    if (!by_destination) return {source, 1, 1};
    if (destinations.count == 1) return {source, destinations.first == source ? 1 : 0, 1};
    const bool meets = what != At::kSelf && destinations.contains(source);
    return {source, meets ? 1 : 0, 1};
  }

  void add_block(const FlowTables& tables, std::size_t i, At what) {
    const auto owns = [&](Coordinate coordinate) { return tables.owner_of(coordinate) == i; };
    const bool sources = what != At::kDestination;
    const bool destinations = what != At::kSource;
    const bool row = sources && owns(Coordinate::kRow);
    const bool rows = destinations && owns(Coordinate::kRows);
    const bool col = sources && owns(Coordinate::kCol);
    const bool cols = destinations && owns(Coordinate::kCols);
    // A block that owns destinations alone must not count a copy for itself at self-only places.
    const bool single = what == At::kSelf;
    const bool by_rows = row || rows;
    const bool by_cols = col || cols;
    std::vector<M> by_row(by_rows ? static_cast<std::size_t>(fabric_.rows) : 0);
    std::vector<M> by_col(by_cols ? static_cast<std::size_t>(fabric_.cols) : 0);
    std::vector<Cell> cells;
    M all;
    for (const Flow& flow : tables.blocks[i].flows) {
      if (single && ((rows && flow.rows.count > 1) || (cols && flow.cols.count > 1))) continue;
      const M measure = M::of(flow.elements);
      if (!by_rows && !by_cols) {
        all += measure;
        continue;
      }
      const Span1D r = by_rows ? positions(flow.row, flow.rows, row, rows, what) : Span1D{};
      const Span1D c = by_cols ? positions(flow.col, flow.cols, col, cols, what) : Span1D{};
      for (std::int32_t k = 0; by_rows && !by_cols && k < r.count; ++k) {
        by_row[static_cast<std::size_t>(r.at(k))] += measure;
      }
      for (std::int32_t k = 0; by_cols && !by_rows && k < c.count; ++k) {
        by_col[static_cast<std::size_t>(c.at(k))] += measure;
      }
      for (std::int32_t k = 0; by_rows && by_cols && k < r.count; ++k) {
        const std::int64_t at = std::int64_t{r.at(k)} * fabric_.cols;
        for (std::int32_t l = 0; l < c.count; ++l) {
          cells.push_back({at + c.at(l), measure});
        }
      }
    }
    if (!by_rows && !by_cols) {
      rest_ = rest_ * all;
    } else if (!by_cols) {
      multiply(rows_, std::move(by_row));
    } else if (!by_rows) {
      multiply(cols_, std::move(by_col));
    } else {
      join(std::move(cells));
    }
  }

  static void multiply(std::optional<std::vector<M>>& into, std::vector<M> by) {
    if (!into) {
      into = std::move(by);
      return;
    }
    for (std::size_t k = 0; k < by.size(); ++k) (*into)[k] = (*into)[k] * by[k];
  }

  void join(std::vector<Cell> cells) {
    const auto before = [](const Cell& x, const Cell& y) { return x.key < y.key; };
    if (!std::is_sorted(cells.begin(), cells.end(), before)) {
      std::sort(cells.begin(), cells.end(), before);
    }
    std::size_t kept = 0;
    for (std::size_t k = 0; k < cells.size(); ++k) {
      if (kept > 0 && cells[kept - 1].key == cells[k].key) {
        cells[kept - 1].measure += cells[k].measure;
      } else {
        cells[kept++] = cells[k];
      }
    }
    cells.resize(kept);
    if (!cells_) {
      cells_ = std::move(cells);
      return;
    }
    std::vector<Cell> both;
    std::size_t other = 0;
    for (const Cell& cell : *cells_) {
      while (other < cells.size() && cells[other].key < cell.key) ++other;
      if (other == cells.size()) break;
      if (cells[other].key == cell.key) {
        both.push_back({cell.key, cell.measure * cells[other].measure});
      }
    }
    cells_ = std::move(both);
  }

  const fabric::FabricMesh& fabric_;
  M rest_;
  std::optional<std::vector<M>> rows_;
  std::optional<std::vector<M>> cols_;
  std::optional<std::vector<Cell>> cells_;
};

/// A load, and a place that has this load; -1 if there is none.
struct PlaceLoad {
  std::int64_t load = 0;
  std::int64_t place = -1;
  void see(std::int64_t other, std::int64_t at) {
    if (other <= load) return;
    load = other;
    place = at;
  }
};

/// The largest rounded(of) - rounded(without) over all places; `without` is a part of `of`.
template <std::size_t Classes>
PlaceLoad largest_difference(const PlaceTable<Classes>& of, const PlaceTable<Classes>& without,
                             const Reshard::Rate& rate, std::int64_t cols) {
  using M = Measure<Classes>;
  PlaceLoad largest;
  std::size_t hint = 0;
  if (of.has_cells()) {
    of.for_each_cell([&](std::int64_t key, const M& measure) {
      const std::int64_t less = without.at(key, hint).rounded(rate);
      largest.see(measure.rounded(rate) - less, key);
    });
    return largest;
  }
  // Few rows differ from each other, and few columns: one lookup for each pair of classes.
  struct Class {
    M of, without;
    std::vector<std::int64_t> members;
  };
  const bool listed = without.has_cells();
  const auto classes_of = [&](const std::vector<M>& all, const std::vector<M>* some,
                              std::vector<std::size_t>& class_of) {
    std::map<std::pair<M, M>, std::size_t> numbers;
    std::vector<Class> classes;
    for (std::size_t k = 0; k < all.size(); ++k) {
      const std::pair<M, M> key{all[k], some != nullptr ? (*some)[k] : M{}};
      const auto [found, is_new] = numbers.try_emplace(key, classes.size());
      if (is_new) classes.push_back({key.first, key.second, {}});
      classes[found->second].members.push_back(static_cast<std::int64_t>(k));
      class_of.push_back(found->second);
    }
    return classes;
  };
  std::vector<std::size_t> row_class;
  std::vector<std::size_t> col_class;
  const auto by_row = classes_of(of.rows(), listed ? nullptr : &without.rows(), row_class);
  const auto by_col = classes_of(of.cols(), listed ? nullptr : &without.cols(), col_class);
  // The places of a pair of classes where something is subtracted, by ascending number.
  std::vector<std::vector<std::int64_t>> lessened(by_row.size() * by_col.size());
  std::vector<std::int64_t> whole;
  for (const Class& row : by_row) {
    for (const Class& col : by_col) {
      std::int64_t load = (of.rest() * row.of * col.of).rounded(rate);
      if (!listed) load -= (without.rest() * row.without * col.without).rounded(rate);
      whole.push_back(load);
    }
  }
  if (listed) {
    without.for_each_cell([&](std::int64_t key, const M& measure) {
      const std::size_t pair = row_class[static_cast<std::size_t>(key / cols)] * by_col.size() +
                               col_class[static_cast<std::size_t>(key % cols)];
      lessened[pair].push_back(key);
      largest.see(whole[pair] - measure.rounded(rate), key);
    });
  }
  // The first place of the pair where nothing is subtracted. It skips at most as many places as are
  // listed.
  const auto first_free = [&](const Class& row, const Class& col,
                              const std::vector<std::int64_t>& taken) -> std::int64_t {
    auto next = taken.begin();
    for (const std::int64_t r : row.members) {
      for (const std::int64_t c : col.members) {
        if (next == taken.end() || *next != r * cols + c) return r * cols + c;
        ++next;
      }
    }
    return -1;
  };
  for (std::size_t pair = 0; pair < whole.size(); ++pair) {
    if (whole[pair] <= largest.load) continue;
    const std::int64_t place =
        first_free(by_row[pair / by_col.size()], by_col[pair % by_col.size()], lessened[pair]);
    if (place >= 0) largest.see(whole[pair], place);
  }
  return largest;
}

}  // namespace tessera::reshard
