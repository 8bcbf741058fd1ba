// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/base/thread_pool.h"
#include "tessera/relayout/jobs/chain.h"
#include "tessera/relayout/jobs/job.h"
#include "tessera/relayout/kernels/kernels.h"
#include "tessera/relayout/kernels/line_writer.h"

// A block is R rows times C columns. Rows are read as long pieces and transposed in registers into
// tiles that stay in the second-level cache. Columns are then written from the tiles; the height of
// the block gives the number of contiguous lines.

namespace tessera::relayout {
namespace {

constexpr std::int64_t kMaxRows = 2048;
constexpr std::int64_t kMaxColumns = 8192;

// Parts of the scratch memory.
constexpr std::int64_t kTileBytes = std::int64_t{1} << 19;
constexpr std::int64_t kColumnBytes = std::int64_t{1} << 18;  // a tile's columns, as lines
constexpr std::int64_t kCarryBytes = kMaxColumns * kLine;
constexpr std::int64_t kWriterBytes = std::int64_t{1} << 16;
static_assert(kTileBytes + kColumnBytes + kCarryBytes + kWriterBytes <= Scratch::kJobBytes);

/// Bytes of a row that are read at a time; below, bytes of a block.
std::int64_t row_bytes(int width, bool streaming) {
  if (!streaming) return 1024;
  return width == 1 ? 2048 : 4096;
}
constexpr std::int64_t kBlockBytes = std::int64_t{1} << 18;
constexpr std::int64_t kNarrowBytes = 8192;  // of a block of few columns
constexpr std::int64_t kNearRows = 4096;     // bytes from row to row
constexpr std::int64_t kJoinedBytes = std::int64_t{1} << 17;

using Range = ThreadPool::Range;

/// The work of one worker on one strip of columns.
class Strip {
 public:
  Strip(const Transpose& nest, const Arrays& arrays)
      : nest_(nest),
        arrays_(arrays),
        width_(nest.width),
        side_(tile_side(nest.width)),
        tiles_(arrays.scratch),
        lines_(tiles_ + kTileBytes),
        carry_(lines_ + kColumnBytes),
        writer_(carry_ + kCarryBytes, kWriterBytes) {
    aligned_ = (reinterpret_cast<std::uintptr_t>(arrays.to) + nest.dst) % kLine == 0;
    for (const auto* axes : {&nest.columns.axes, &nest.outer}) {
      for (const Axis& axis : *axes) aligned_ = aligned_ && axis.dst % kLine == 0;
    }
  }

  /// Rows `rows` of columns `columns`, block after block along the rows.
  void move(const Offsets& at, Range rows, Range columns) {
    const std::int64_t from = nest_.src + at.src + columns.from * width_;
    from_ = arrays_.from + from;
    room_ = arrays_.from_bytes - from;
    to_ = arrays_.to + nest_.dst + at.dst;
    columns_ = columns.to - columns.from;
    assert(columns_ > 0 && columns_ <= kMaxColumns);
    nest_.columns.table(columns.from, columns_, &Axis::dst, column_dst_);
    // Rows that are close together are first gathered, a few distant ones at a time, which is
    // faster.
    staged_ = arrays_.streaming && nest_.rows.axes[0].src <= kNearRows && !narrow() &&
              columns_ >= side_ && !nest_.joined();
    by_lanes_ = narrow() || (staged_ && width_ <= 2);
    lay_out_tiles();
    const std::int64_t high = block_rows();
    for (std::int64_t r = rows.from; r < rows.to;) {
      // If the last block has fewer rows than a tile, it becomes part of the one before.
      std::int64_t n = std::min(high, rows.to - r);
      if (rows.to - r - n < side_) n = rows.to - r;
      find_rows(r, n);
      if (!arrays_.streaming && !by_lanes_ && n >= side_ && columns_ >= side_) {
        transpose(to_ + r * width_);
      } else {
        read();
        write(r, n, r == rows.from, r + n == rows.to);
      }
      r += n;
    }
  }

 private:
  /// Whether there are so few columns that they are split off one vector lane at a time.
  bool narrow() const { return columns_ * width_ <= kLine && columns_ * width_ % 16 == 0; }

  /// The height of a block.
  std::int64_t block_rows() const {
    const std::int64_t unit = std::max<std::int64_t>(side_, kLine / width_);
    const std::int64_t wide = (narrow() ? columns_ : std::max(columns_, side_)) * width_;
    const std::int64_t bytes = wide <= kLine ? kNarrowBytes : kBlockBytes;
    const std::int64_t fits = bytes / wide / unit * unit;
    if (nest_.joined()) return nest_.rows.steps;
    // A tile's columns, with room for the lines at their ends, must fit their buffer as well.
    const std::int64_t room = (kColumnBytes / tile_columns_ - 4 * kLine) / width_;
    return std::clamp(fits, unit, (std::min(room, kMaxRows) - side_) / unit * unit);
  }

  void lay_out_tiles() {
    // Without tiles columns are split off in groups of 16 bytes.
    tile_columns_ = by_lanes_ ? 16 / width_ : std::min(side_, columns_);
    tiles_across_ = (columns_ + tile_columns_ - 1) / tile_columns_;
    for (std::int64_t j = 0; j < tiles_across_; ++j) {
      tile_column_[j] = std::min(j * tile_columns_, columns_ - tile_columns_);
      tile_first_[j] = tile_column_[j] * width_;
      tile_dst_[j] = column_dst_ + tile_column_[j];
    }
  }

  void find_rows(std::int64_t r, std::int64_t n) {
    rows_ = n;
    assert(n > 0 && n <= kMaxRows);
    nest_.rows.table(r, n, &Axis::src, row_src_);
    for (std::int64_t k = n; k < side_; ++k) row_src_[k] = row_src_[n - 1];
    tiles_down_ = std::max<std::int64_t>(1, (n + side_ - 1) / side_);
    for (std::int64_t i = 0; i < tiles_down_; ++i) {
      tile_row_[i] = std::max<std::int64_t>(0, std::min(i * side_, n - side_));
      tile_at_[i] = tile_row_[i] * width_;
    }
  }

  /// Outputs that stay in the caches need no intermediate buffer.
  void transpose(std::byte* begin) {
    for (std::int64_t i = 0; i < tiles_down_; ++i) {
      transpose_tiles(from_, row_src_ + tile_row_[i], tile_first_, begin + tile_at_[i], tile_dst_,
                      tile_columns_, tiles_across_, width_, false);
    }
  }

  void read() {
    if (staged_) {
      // An odd number of lines prevents rows from mapping to the same cache sets.
      const std::int64_t pitch = (ceil_div(columns_ * width_, kLine) | 1) * kLine;
      assert(rows_ * pitch <= kTileBytes);
      copy_rows(tiles_, pitch, from_, row_src_, rows_, columns_ * width_);
      for (std::int64_t r = 0; r < std::max(rows_, side_); ++r) {
        row_src_[r] = std::min(r, rows_ - 1) * pitch;
      }
      return;
    }
    if (by_lanes_) return;
    assert(tiles_down_ * tiles_across_ * side_ * side_ * width_ <= kTileBytes);
    grid_ = {tiles_, tiles_down_, width_};
    for (std::int64_t i = 0; i < tiles_down_; ++i) read_row_tile(i, row_src_ + tile_row_[i]);
  }

  /// Tiles wider than the block read past its end, which may be the end of the source.
  void read_row_tile(std::int64_t i, const std::int64_t* row) {
    if (columns_ >= side_ || *std::max_element(row, row + side_) + side_ * width_ <= room_) {
      return read_tiles(grid_, i, from_, row, tile_first_, tiles_across_);
    }
    std::int64_t near[kLine];
    for (std::int64_t k = 0; k < side_; ++k) {
      near[k] = k * kLine;
      std::memcpy(lines_ + near[k], from_ + row[k], static_cast<std::size_t>(columns_ * width_));
    }
    read_tiles(grid_, i, lines_, near, tile_first_, tiles_across_);
  }

  void write(std::int64_t r, std::int64_t n, bool first, bool last) {
    std::byte* begin = to_ + r * width_;
    if (n >= side_) {
      if (!arrays_.streaming) return write_directly(begin, false);
      if (aligned_ && (r * width_) % kLine == 0 && n * width_ % kLine == 0) {
        return write_directly(begin, true);
      }
    }
    if (nest_.joined() && n == nest_.rows.steps) return write_joined();
    write_carrying(begin, first, last);
  }

  /// Columns of tile j to to[0], to[1], ..
  void columns_to(std::int64_t j, std::byte* const* to, bool streaming) {
    const std::byte* from = staged_ ? tiles_ : from_;
    if (!by_lanes_) {
      if (!staged_) return write_columns(grid_, j, tile_columns_, to, tile_at_, streaming);
      std::int64_t column[kLine];
      for (std::int64_t c = 0; c < tile_columns_; ++c) column[c] = to[c] - to[0];
      const std::int64_t* table = column;
      for (std::int64_t i = 0; i < tiles_down_; ++i) {
        transpose_tiles(from, row_src_ + tile_row_[i], tile_first_ + j, to[0] + tile_at_[i], &table,
                        tile_columns_, 1, width_, streaming);
      }
      return;
    }
    std::byte* at[kLine];
    const auto split = [&](std::int64_t row, std::int64_t rows) {
      for (std::int64_t c = 0; c < tile_columns_; ++c) at[c] = to[c] + row * width_;
      split_columns(at, from + tile_first_[j], row_src_ + row, rows, width_, streaming);
    };
    const std::int64_t whole = rows_ / side_ * side_;
    split(0, std::max(whole, side_));
    if (whole > 0 && whole < rows_) split(rows_ - side_, side_);
  }

  void write_directly(std::byte* begin, bool streaming) {
    std::byte* to[kLine];
    for (std::int64_t j = 0; j < tiles_across_; ++j) {
      for (std::int64_t c = 0; c < tile_columns_; ++c) {
        to[c] = begin + column_dst_[tile_column_[j] + c];
      }
      columns_to(j, to, streaming);
    }
  }

  /// How many columns of tile j the tile before has written.
  std::int64_t done_before(std::int64_t j) const {
    return j == 0 ? 0 : tile_column_[j - 1] + tile_columns_ - tile_column_[j];
  }

  /// Whether columns [first, last] are contiguous in the destination, in this order.
  bool follow(std::int64_t first, std::int64_t last, std::int64_t bytes) const {
    for (std::int64_t c = first; c < last; ++c) {
      if (column_dst_[c + 1] - column_dst_[c] != bytes) return false;
    }
    return true;
  }

  /// Columns that are contiguous in the destination: one long run.
  void write_joined() {
    const std::int64_t bytes = rows_ * width_;
    // Columns shorter than a tile are written with extra bytes after them, at a pitch that leaves
    // room for these, and then packed.
    const std::int64_t pitch = std::max<std::int64_t>(bytes, side_ * width_);
    assert(tile_columns_ * pitch <= kColumnBytes);
    std::byte* to[kLine];
    for (std::int64_t j = 0; j < tiles_across_; ++j) {
      const std::int64_t skip = done_before(j);
      std::byte* begin = to_ + column_dst_[tile_column_[j] + skip];
      const std::int64_t all = (tile_columns_ - skip) * bytes;
      const bool at_once = pitch == bytes && skip == 0 && all <= writer_.capacity() &&
                           follow(tile_column_[j], tile_column_[j] + tile_columns_ - 1, bytes);
      std::byte* room = at_once ? writer_.reserve(begin, all) : lines_;
      for (std::int64_t c = 0; c < tile_columns_; ++c) to[c] = room + c * pitch;
      columns_to(j, to, false);
      if (at_once) continue;
      for (std::int64_t c = skip; c < tile_columns_; ++c) {
        std::byte* column = to_ + column_dst_[tile_column_[j] + c];
        if (arrays_.streaming) {
          copy_bytes(writer_.reserve(column, bytes), to[c], bytes, false);
        } else {
          copy_bytes(column, to[c], bytes, false);
        }
      }
    }
  }

  /// Columns of any alignment: whole lines are written, and the partial line at the end is kept for
  /// the next block.
  void write_carrying(std::byte* begin, bool first, bool last) {
    const std::int64_t bytes = rows_ * width_;
    const std::int64_t pitch = (std::max<std::int64_t>(bytes, side_ * width_) / kLine + 3) * kLine;
    assert(tile_columns_ * pitch <= kColumnBytes && columns_ * kLine <= kCarryBytes);
    std::byte* where[kLine];
    std::byte* to[kLine];
    for (std::int64_t j = 0; j < tiles_across_; ++j) {
      const std::int64_t skip = done_before(j);
      const std::int64_t column = tile_column_[j];
      for (std::int64_t c = 0; c < tile_columns_; ++c) {
        where[c] = begin + column_dst_[column + c];
        to[c] = lines_ + c * pitch + reinterpret_cast<std::uintptr_t>(where[c]) % kLine;
      }
      if (!arrays_.streaming) {
        columns_to(j, to, false);
        for (std::int64_t c = skip; c < tile_columns_; ++c) {
          copy_bytes(where[c], to[c], bytes, false);
        }
        continue;
      }
      const CarriedColumns columns{lines_ + skip * pitch, pitch, carry_ + (column + skip) * kLine,
                                   tile_columns_ - skip};
      if (!first) begin_lines(columns);
      columns_to(j, to, false);
      end_lines(columns, where + skip, bytes, first, last);
    }
  }

  const Transpose& nest_;
  const Arrays& arrays_;
  const int width_;
  const std::int64_t side_;
  std::byte* const tiles_;
  std::byte* const lines_;
  std::byte* const carry_;
  LineWriter writer_;
  bool aligned_ = false;   ///< every column begins a line
  bool staged_ = false;    ///< rows are gathered before they are transposed
  bool by_lanes_ = false;  ///< columns are split from rows without tiles
  const std::byte* from_ = nullptr;
  std::int64_t room_ = 0;  ///< bytes of the source from from_ on
  std::byte* to_ = nullptr;
  TileGrid grid_;
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  std::int64_t tile_columns_ = 0;
  std::int64_t tiles_down_ = 0;
  std::int64_t tiles_across_ = 0;
  std::int64_t row_src_[kMaxRows + kLine];
  std::int64_t tile_row_[kMaxRows];
  std::int64_t tile_at_[kMaxRows];
  std::int64_t column_dst_[kMaxColumns];
  std::int64_t tile_column_[kMaxColumns];
  std::int64_t tile_first_[kMaxColumns];
  const std::int64_t* tile_dst_[kMaxColumns];
};

class TransposeJob final : public Job {
 public:
  TransposeJob(Transpose nest, bool streaming) : nest_(std::move(nest)), streaming_(streaming) {}

  std::int64_t items(int threads) const override {
    const Cut cut = cut_for(threads);
    return steps_of(nest_.outer) * cut.column_blocks * cut.row_parts;
  }

  void run(std::int64_t first, std::int64_t last, int threads,
           const Arrays& arrays) const override {
    const Cut cut = cut_for(threads);
    const auto strip = std::make_unique<Strip>(nest_, arrays);
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t blocks = i / cut.row_parts;
      strip->move(offsets_at(nest_.outer, blocks / cut.column_blocks),
                  part_of(nest_.rows.steps, i % cut.row_parts, cut.row_parts),
                  part_of(nest_.columns.steps, blocks % cut.column_blocks, cut.column_blocks));
    }
  }

  std::string describe() const override {
    const Cut cut = cut_for(1);
    return cat(nest_.joined() ? "transpose_joined: " : "transpose: ", nest_.width,
               "-byte elements, ", nest_.rows.steps, " rows, ", nest_.columns.steps, " columns in ",
               cut.column_blocks, " blocks, ", steps_of(nest_.outer), " times");
  }

 private:
  struct Cut {
    std::int64_t column_blocks = 1;
    std::int64_t row_parts = 1;
  };

  Cut cut_for(int threads) const {
    Cut cut;
    std::int64_t wide = row_bytes(nest_.width, streaming_);
    if (nest_.joined()) wide = std::min(wide, kJoinedBytes / nest_.rows.steps);
    cut.column_blocks = ceil_div(nest_.columns.steps * nest_.width, wide);
    // Rows are divided only if there is not enough other work to share.
    const std::int64_t wanted = threads > 1 ? 8 * std::int64_t{threads} : 1;
    const std::int64_t have = steps_of(nest_.outer) * cut.column_blocks;
    if (have < wanted && !nest_.joined()) {
      const std::int64_t most =
          std::max<std::int64_t>(1, nest_.rows.steps * nest_.width / (16 * kLine));
      cut.row_parts = std::min((wanted + have - 1) / have, most);
    }
    return cut;
  }

  /// Part number `part` of [0, count), in whole lines.
  Range part_of(std::int64_t count, std::int64_t part, std::int64_t parts) const {
    const std::int64_t unit = kLine / nest_.width;
    const std::int64_t units = count / unit;
    return {units * part / parts * unit,
            part + 1 == parts ? count : units * (part + 1) / parts * unit};
  }

  Transpose nest_;
  bool streaming_;
};

constexpr std::int64_t kWideRow = 1024;  // bytes of a chain that is long enough

/// The axis of `side` step `step` that is not taken, or none.
std::size_t continuing(const std::vector<Axis>& axes, std::int64_t Axis::* side, std::int64_t step,
                       const std::vector<bool>& taken) {
  for (std::size_t a = 0; a < axes.size(); ++a) {
    if (!taken[a] && axes[a].*side == step) return a;
  }
  return axes.size();
}

}  // namespace

std::unique_ptr<const Job> make_transpose_job(const FlatNest& nest, bool streaming) {
  Transpose transposed{nest.src, nest.dst, static_cast<int>(nest.width), {}, {}, {}};
  std::vector<bool> taken(nest.axes.size(), false);
  const auto take = [&](Chain& chain, std::int64_t Axis::* side) {
    const std::size_t axis = continuing(nest.axes, side, chain.steps * nest.width, taken);
    if (axis == nest.axes.size()) return false;
    chain.add(nest.axes[axis]);
    taken[axis] = true;
    return true;
  };
  if (!take(transposed.rows, &Axis::dst) || !take(transposed.columns, &Axis::src)) return nullptr;
  const auto extend = [&](Chain& chain, std::int64_t Axis::* side, std::int64_t most) {
    while (chain.steps * nest.width < kWideRow) {
      const std::size_t axis = continuing(nest.axes, side, chain.steps * nest.width, taken);
      if (axis == nest.axes.size() || chain.steps * nest.axes[axis].extent > most) return;
      chain.add(nest.axes[axis]);
      taken[axis] = true;
    }
  };
  extend(transposed.rows, &Axis::dst, INT64_MAX);
  extend(transposed.columns, &Axis::src, INT64_MAX);
  for (std::size_t a = 0; a < nest.axes.size(); ++a) {
    if (!taken[a]) transposed.outer.push_back(nest.axes[a]);
  }
  // Blocks write long runs at any position; the next bytes to read should be close.
  std::sort(transposed.outer.begin(), transposed.outer.end(), [](const Axis& a, const Axis& b) {
    return a.src != b.src ? a.src > b.src : a.dst > b.dst;
  });
  return std::make_unique<TransposeJob>(std::move(transposed), streaming);
}

}  // namespace tessera::relayout
