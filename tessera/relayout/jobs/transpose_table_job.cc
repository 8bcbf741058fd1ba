// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cassert>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/relayout/jobs/job.h"
#include "tessera/relayout/jobs/run_table.h"
#include "tessera/relayout/kernels/kernels.h"

namespace tessera::relayout {
namespace {

constexpr std::int64_t kMostRows = 256;                      // of a block
constexpr std::int64_t kMostRowBytes = 4096;                 // of a row of a block
constexpr std::int64_t kBlockBytes = std::int64_t{1} << 18;  // of a block, about
constexpr std::int64_t kGathered = std::int64_t{1} << 19;    // of scratch: rows as they are read
constexpr std::int64_t kTransposed = std::int64_t{3} << 18;  // and columns before they are written
static_assert(kGathered + kTransposed <= Scratch::kJobBytes);

using Table = std::vector<Offsets>;

/// Entries [from, to) of a table, and the stretches between a dense array and the side on which the
/// entries are contiguous.
struct Cut {
  std::size_t from = 0;
  std::size_t to = 0;
  std::vector<Stretch> stretches;
  std::int64_t bytes = 0;
  std::int64_t entries() const { return static_cast<std::int64_t>(to - from); }
  bool one_run() const { return stretches.size() == 1; }
};

/// Cuts a table that increases on `side` into parts of at most `most` entries.
std::vector<Cut> cut_table(const Table& table, std::int64_t Offsets::* side, std::int64_t width,
                           std::int64_t most) {
  std::vector<Cut> cuts;
  const auto entries = static_cast<std::int64_t>(table.size());
  const std::int64_t parts = ceil_div(entries, most);
  for (std::int64_t p = 0; p < parts; ++p) {
    Cut cut{static_cast<std::size_t>(entries * p / parts),
            static_cast<std::size_t>(entries * (p + 1) / parts),
            {},
            0};
    for (std::size_t i = cut.from; i < cut.to; ++i) {
      const std::int64_t at = table[i].*side;
      if (i == cut.from || table[i - 1].*side + width != at) {
        const std::int64_t dense = static_cast<std::int64_t>(i - cut.from) * width;
        const bool reads = side == &Offsets::src;
        cut.stretches.push_back({reads ? dense : at, reads ? at : dense, 0});
      }
      cut.stretches.back().bytes += width;
    }
    cut.bytes = cut.entries() * width;
    cuts.push_back(std::move(cut));
  }
  return cuts;
}

StretchSizes sizes_of(const std::vector<Cut>& cuts) {
  StretchSizes sizes{INT64_MAX, 0};
  for (const Cut& cut : cuts) {
    for (const Stretch& stretch : cut.stretches) {
      sizes.shortest = std::min(sizes.shortest, stretch.bytes);
      sizes.longest = std::max(sizes.longest, stretch.bytes);
    }
  }
  return sizes;
}

class TransposeTableJob final : public Job {
 public:
  /// `rows` increase in the destination and `columns` in the source; `outer` is everything else.
  TransposeTableJob(Table rows, const Table& columns, RunTable outer, int width)
      : rows_(std::move(rows)), outer_(std::move(outer)), width_(width) {
    const auto count = static_cast<std::int64_t>(rows_.size());
    row_cuts_ = cut_table(rows_, &Offsets::dst, width, kMostRows);
    const std::int64_t high = std::min(count, kMostRows) * width;
    const std::int64_t wide = std::clamp(kBlockBytes / high, kLine / width, kMostRowBytes / width);
    column_cuts_ = cut_table(columns, &Offsets::src, width, wide);
    column_dst_.reserve(columns.size());
    for (const Offsets& column : columns) column_dst_.push_back(column.dst);
    read_sizes_ = sizes_of(column_cuts_);
    write_sizes_ = sizes_of(row_cuts_);
  }

  std::int64_t items(int) const override {
    return outer_.row_count() * static_cast<std::int64_t>(row_cuts_.size() * column_cuts_.size());
  }

  void run(std::int64_t first, std::int64_t last, int, const Arrays& arrays) const override {
    const auto wide = static_cast<std::int64_t>(column_cuts_.size());
    const auto high = static_cast<std::int64_t>(row_cuts_.size());
    for (std::int64_t i = first; i < last; ++i) {
      move(arrays, outer_.row_at(i / wide / high),
           row_cuts_[static_cast<std::size_t>(i / wide % high)],
           column_cuts_[static_cast<std::size_t>(i % wide)]);
    }
  }

  std::string describe() const override {
    return cat("transpose_table: ", width_, "-byte elements, ", rows_.size(), " rows in runs of ",
               write_sizes_.shortest, " to ", write_sizes_.longest, " bytes, ", column_dst_.size(),
               " columns in runs of ", read_sizes_.shortest, " to ", read_sizes_.longest, ", ",
               outer_.row_count(), " times");
  }

 private:
  void move(const Arrays& arrays, const Offsets& at, const Cut& rows, const Cut& columns) const {
    const std::int64_t side = tile_side(width_);
    // An odd number of lines prevents rows from mapping to the same cache sets; tiles read up to a
    // tile past the last column.
    const std::int64_t pitch =
        (ceil_div(std::max(columns.bytes, side * width_), kLine) | 1) * kLine;
    std::byte* gathered = arrays.scratch;
    assert(std::max(rows.entries(), side) * pitch <= kGathered);
    gather(arrays.from + at.src, rows, columns, gathered, pitch);
    std::byte* to = arrays.to + at.dst;
    const std::int64_t* dst = column_dst_.data() + columns.from;
    if (rows.one_run() && rows.entries() >= side) {
      return transpose(gathered, pitch, rows, columns, to + rows.stretches[0].to, dst);
    }
    // Columns that consist of several stretches, or are shorter than a tile, are copied out of
    // scratch memory.
    const std::int64_t room = (ceil_div(std::max(rows.bytes, side * width_), kLine) | 1) * kLine;
    std::byte* transposed = gathered + kGathered;
    const std::int64_t at_once = std::max(side, kTransposed / room / side * side);
    assert(at_once * room <= kTransposed);
    std::int64_t places[kMostRowBytes];
    for (std::int64_t c = 0; c < columns.entries(); c += at_once) {
      const std::int64_t n = std::min(at_once, columns.entries() - c);
      for (std::int64_t k = 0; k < n; ++k) places[k] = k * room;
      Cut part;
      part.to = static_cast<std::size_t>(n);
      transpose(gathered + c * width_, pitch, rows, part, transposed, places);
      for (std::int64_t k = 0; k < n; ++k) {
        copy_stretches(to + dst[c + k], transposed + places[k], rows.stretches.data(),
                       static_cast<std::int64_t>(rows.stretches.size()), write_sizes_, false, {});
      }
    }
  }

  /// Gathers a block; the row after each row is prefetched.
  void gather(const std::byte* from, const Cut& rows, const Cut& columns, std::byte* gathered,
              std::int64_t pitch) const {
    constexpr std::size_t kAhead = 8;  // rows
    for (std::size_t r = rows.from; r < rows.to; ++r) {
      const std::size_t next = std::min(r + kAhead, rows_.size() - 1);
      copy_stretches(gathered + static_cast<std::int64_t>(r - rows.from) * pitch,
                     from + rows_[r].src, columns.stretches.data(),
                     static_cast<std::int64_t>(columns.stretches.size()), read_sizes_, false,
                     {from + rows_[next].src, columns.stretches.data(), &Stretch::from});
    }
  }

  /// Column c of the gathered block to to + dst[c].
  void transpose(const std::byte* gathered, std::int64_t pitch, const Cut& rows, const Cut& columns,
                 std::byte* to, const std::int64_t* dst) const {
    const std::int64_t side = tile_side(width_);
    const std::int64_t high = rows.entries();
    const std::int64_t wide = columns.entries();
    const std::int64_t across = std::min(side, wide);
    std::int64_t row[kLine];
    std::int64_t first[kMostRowBytes];
    const std::int64_t* column[kMostRowBytes];
    std::int64_t tiles = 0;
    for (std::int64_t c = 0; c < wide; c += across) {
      const std::int64_t begin = std::min(c, wide - across);
      first[tiles] = begin * width_;
      column[tiles++] = dst + begin;
    }
    for (std::int64_t r = 0; r < high; r += side) {
      const std::int64_t begin = std::max<std::int64_t>(0, std::min(r, high - side));
      for (std::int64_t k = 0; k < side; ++k) row[k] = std::min(begin + k, high - 1) * pitch;
      transpose_tiles(gathered, row, first, to + begin * width_, column, across, tiles, width_,
                      false);
    }
  }

  Table rows_;
  RunTable outer_;
  int width_;
  std::vector<Cut> row_cuts_;
  std::vector<Cut> column_cuts_;
  std::vector<std::int64_t> column_dst_;
  StretchSizes read_sizes_;
  StretchSizes write_sizes_;
};

/// Whether some entry is exactly `step` bytes after another. The table increases on `side`.
bool goes_on(const Table& table, std::int64_t Offsets::* side, std::int64_t step) {
  for (std::size_t i = 1; i < table.size(); ++i) {
    if (table[i].*side - table[i - 1].*side == step) return true;
  }
  return false;
}

/// Removes from `tables` the table that is contiguous in steps of `step` bytes on `side`, and
/// returns it in the order of `side`.
std::optional<Table> take(std::vector<Table>& tables, std::int64_t Offsets::* side,
                          std::int64_t step) {
  for (std::size_t t = 0; t < tables.size(); ++t) {
    sort_by(tables[t], side);
    if (!goes_on(tables[t], side, step)) continue;
    Table table = std::move(tables[t]);
    tables.erase(tables.begin() + static_cast<std::ptrdiff_t>(t));
    return table;
  }
  return std::nullopt;
}

/// Extends a table that is one run by those that continue it, up to `most` bytes.
void extend(Table& table, std::vector<Table>& tables, std::int64_t Offsets::* side,
            std::int64_t width, std::int64_t most) {
  while (true) {
    const std::int64_t bytes = static_cast<std::int64_t>(table.size()) * width;
    if (bytes >= most || table.back().*side - table.front().*side + width != bytes) return;
    const std::optional<Table> next = take(tables, side, bytes);
    if (!next) return;
    Table joined;
    joined.reserve(next->size() * table.size());
    for (const Offsets& far : *next) {
      for (const Offsets& near : table) joined.push_back({far.src + near.src, far.dst + near.dst});
    }
    sort_by(joined, side);
    table = std::move(joined);
  }
}

}  // namespace

std::unique_ptr<const Job> make_transpose_table_job(const Refinement& copy, const Memory& from,
                                                    const Memory& to, std::int64_t bits) {
  constexpr std::int64_t kEnough = 1024;  // contiguous bytes
  if (copy.nests() == 0) return nullptr;
  const std::int64_t width = bits / 8;
  if (width > 8 || !std::has_single_bit(static_cast<std::uint64_t>(width))) return nullptr;
  std::vector<Table> tables;
  for (const Factor& factor : copy.factors()) {
    std::optional<Table> steps = steps_of(factor, from, to, width);
    if (!steps) return nullptr;
    tables.push_back(*std::move(steps));
  }
  std::optional<Table> rows = take(tables, &Offsets::dst, width);
  if (!rows) return nullptr;
  std::optional<Table> columns = take(tables, &Offsets::src, width);
  if (!columns) return nullptr;
  extend(*rows, tables, &Offsets::dst, width, kEnough);
  extend(*columns, tables, &Offsets::src, width, kEnough);
  const Offsets base{from.flat(copy.base().a) * width, to.flat(copy.base().b) * width};
  return std::make_unique<TransposeTableJob>(
      *std::move(rows), *columns, RunTable::of_rows(base, std::move(tables), &Offsets::src),
      static_cast<int>(width));
}

}  // namespace tessera::relayout
