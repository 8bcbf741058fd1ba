// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/relayout/jobs/flat_nest.h"
#include "tessera/relayout/kernels/kernels.h"

namespace tessera::relayout {

/// A copy in product form as tables with offsets in bytes: the factor that is contiguous on both
/// sides becomes a list of stretches, every other factor a list of offsets.
///
/// Law: moving every stretch of `columns` at base + one offset of each table of `rows`, for all
/// choices, moves what the nests of the copy move, each byte once. Columns and every table increase
/// on the side that the table was made for, and the last table has the smallest steps there.
///
/// Example: rows 0, 1 and columns 0-3, 8-11 of 16 bytes per row, packed: columns {0 <- 0, 4 bytes},
/// {4 <- 8, 4 bytes}; one table of rows {0 <- 0}, {8 <- 16}.
struct RunTable {
  static constexpr std::int64_t kMostEntries = std::int64_t{1} << 18;
  static constexpr std::int64_t kLongest = std::int64_t{1} << 16;  ///< bytes; longer ones are cut
  /// If the columns have fewer bytes, a table of rows is merged into them, up to kMostColumns
  /// columns.
  static constexpr std::int64_t kShortRow = 4096;
  static constexpr std::size_t kMostColumns = std::size_t{1} << 13;

  Offsets base;
  std::vector<Stretch> columns;
  std::vector<std::vector<Offsets>> rows;
  std::int64_t column_bytes = 0;  ///< of all columns together

  /// `width` is the bytes of an element; `by` the side whose order is used, &Offsets::src or dst.
  /// Nullopt when there would be more than kMostEntries entries.
  static std::optional<RunTable> make(const Refinement& copy, const Memory& from, const Memory& to,
                                      std::int64_t width, std::int64_t Offsets::* by);

  /// Puts the tables of factors in the order that the law requires; the caller sets the columns.
  static RunTable of_rows(Offsets base, std::vector<std::vector<Offsets>> tables,
                          std::int64_t Offsets::* by);

  /// The number of times that the columns are moved.
  std::int64_t row_count() const;
  /// Where the columns of row number `row` begin.
  Offsets row_at(std::int64_t row) const;
};

/// The offsets of every step of a factor, in bytes; nullopt when there are more than kMostEntries.
std::optional<std::vector<Offsets>> steps_of(const Factor& factor, const Memory& from,
                                             const Memory& to, std::int64_t width);

/// Most lists are in order already.
template <typename Entry>
void sort_by(std::vector<Entry>& entries, std::int64_t Entry::* by) {
  const auto before = [&](const Entry& a, const Entry& b) { return a.*by < b.*by; };
  if (std::is_sorted(entries.begin(), entries.end(), before)) return;
  std::sort(entries.begin(), entries.end(), before);
}

/// A table divided into items that workers can share: one item per row; long rows are divided into
/// blocks of columns.
class RowBlocks {
 public:
  static constexpr std::int64_t kBytes = 16384;  ///< minimum size of a block

  explicit RowBlocks(RunTable table);

  const RunTable& table() const { return table_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t items() const { return rows_ * blocks(); }

  /// Calls `move(at, next, from, to)` for items [first, last): columns [from, to) of the row at
  /// `at`; the row after it is at `next`.
  template <typename Move>
  void for_each(std::int64_t first, std::int64_t last, const Move& move) const {
    Offsets at = table_.row_at(first / blocks());
    for (std::int64_t i = first; i < last;) {
      const std::int64_t row = i / blocks();
      const std::int64_t end = std::min(last, (row + 1) * blocks());
      const Offsets next = row + 1 < rows_ ? table_.row_at(row + 1) : at;
      move(at, next, begins_[static_cast<std::size_t>(i - row * blocks())],
           begins_[static_cast<std::size_t>(end - row * blocks())]);
      at = next;
      i = end;
    }
  }

 private:
  std::int64_t blocks() const { return static_cast<std::int64_t>(begins_.size()) - 1; }

  RunTable table_;
  std::int64_t rows_;
  std::vector<std::size_t> begins_;  ///< the first column of each block, and the end
};

}  // namespace tessera::relayout
