// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cassert>
#include <cstring>
#include <numeric>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/relayout/jobs/chain.h"
#include "tessera/relayout/jobs/job.h"
#include "tessera/relayout/kernels/kernels.h"
#include "tessera/relayout/kernels/line_writer.h"

// If the rows of a transpose are short, columns are a few bytes each, and lines of the destination
// consist of many of them. A block then includes all loops that form a long run of the destination.
// Its columns are transposed one by one into a buffer, and assembled from there in the order of the
// destination. The positions are the same in every block, so one table serves all blocks.

namespace tessera::relayout {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 19;  // of a block in its buffer
constexpr std::int64_t kEnoughRun = 4096;                   // contiguous bytes that a block writes
constexpr std::int64_t kEnoughRow = 1024;                   // contiguous bytes that a block reads
constexpr std::int64_t kShortColumns = 256;                 // bytes of all columns of a row
constexpr std::int64_t kLongRow = 4096;                     // longer ones are cut
constexpr std::int64_t kMostRowBytes = kLine - 1;           // longer rows are not short
constexpr std::int64_t kWriterBytes = std::int64_t{1} << 14;
static_assert(kWriterBytes + kMostBytes <= Scratch::kJobBytes);

/// The loops of a block: columns that are contiguous in the source, and further loops.
struct Block {
  Transpose nest;
  Chain more;
};

class ShortRowsJob final : public Job {
 public:
  explicit ShortRowsJob(Block block) : nest_(std::move(block.nest)), width_(nest_.width) {
    side_ = tile_side(width_);
    bytes_ = nest_.rows.steps * width_;
    const std::int64_t rows_down = (nest_.rows.steps + side_ - 1) / side_;
    pitch_ = std::max(kLine, rows_down * side_ * width_);
    row_.resize(static_cast<std::size_t>(std::max(nest_.rows.steps, side_)));
    nest_.rows.table(0, nest_.rows.steps, &Axis::src, row_.data());
    for (auto r = static_cast<std::size_t>(nest_.rows.steps); r < row_.size(); ++r) {
      row_[r] = row_[r - 1];
    }
    for (std::int64_t i = 0; i < rows_down; ++i) {
      tile_row_.push_back(std::max<std::int64_t>(0, std::min(i * side_, nest_.rows.steps - side_)));
    }
    table_columns(block.more);
  }

  std::int64_t items(int) const override { return steps_of(nest_.outer); }

  void run(std::int64_t first, std::int64_t last, int, const Arrays& arrays) const override {
    LineWriter writer(arrays.scratch, kWriterBytes, arrays.streaming);
    std::byte* columns = arrays.scratch + kWriterBytes;
    for (std::int64_t i = first; i < last; ++i) {
      const Offsets at = offsets_at(nest_.outer, i);
      transpose(arrays, nest_.src + at.src, columns);
      std::byte* to = arrays.to + nest_.dst + at.dst;
      const std::int64_t at_once = writer.capacity() / bytes_;
      for (const Run& run : runs_) {
        for (std::int64_t k = 0; k < run.columns; k += at_once) {
          const std::int64_t n = std::min(at_once, run.columns - k);
          std::byte* room = writer.reserve(to + run.dst + k * bytes_, n * bytes_);
          join_pieces(room, columns, piece_at_.data() + run.first + k, piece_bytes_.data(), n,
                      free_copy(bytes_), 0);
        }
      }
    }
  }

  std::string describe() const override {
    return cat("short_rows: ", width_, "-byte elements, ", nest_.rows.steps, " rows, ",
               piece_at_.size(), " columns in ", runs_.size(), " runs, ", steps_of(nest_.outer),
               " times");
  }

 private:
  /// Columns that are contiguous in the destination.
  struct Run {
    std::int64_t dst = 0;
    std::int64_t columns = 0;
    std::int64_t first = 0;
  };

  void table_columns(const Chain& more) {
    const std::int64_t together = nest_.columns.steps;
    const std::int64_t count = together * more.steps;
    assert(count * pitch_ <= kMostBytes);
    Chain all = nest_.columns;
    for (const Axis& axis : more.axes) all.add(axis);
    std::vector<std::int64_t> dst(static_cast<std::size_t>(count));
    all.table(0, count, &Axis::dst, dst.data());
    column_at_.resize(static_cast<std::size_t>(count));
    for (std::int64_t c = 0; c < count; ++c) column_at_[static_cast<std::size_t>(c)] = c * pitch_;
    std::vector<std::int64_t> start(static_cast<std::size_t>(more.steps), 0);
    if (!more.axes.empty()) more.table(0, more.steps, &Axis::src, start.data());
    tile_columns_ = std::min(side_, together);
    for (std::int64_t m = 0; m < more.steps; ++m) {
      for (std::int64_t c = 0; c < together; c += tile_columns_) {
        const std::int64_t column = std::min(c, together - tile_columns_);
        tile_first_.push_back(start[static_cast<std::size_t>(m)] + column * width_);
        tile_at_.push_back(column_at_.data() + m * together + column);
      }
    }
    furthest_ = *std::max_element(tile_first_.begin(), tile_first_.end()) +
                *std::max_element(row_.begin(), row_.end());
    std::vector<std::int64_t> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return dst[static_cast<std::size_t>(a)] < dst[static_cast<std::size_t>(b)];
    });
    for (const std::int64_t c : order) {
      const std::int64_t here = dst[static_cast<std::size_t>(c)];
      if (runs_.empty() || runs_.back().dst + runs_.back().columns * bytes_ != here) {
        runs_.push_back({here, 0, static_cast<std::int64_t>(piece_at_.size())});
      }
      ++runs_.back().columns;
      piece_at_.push_back(c * pitch_);
    }
    piece_bytes_.assign(piece_at_.size(), bytes_);
  }

  void transpose(const Arrays& arrays, std::int64_t src, std::byte* columns) const {
    const auto tiles = static_cast<std::int64_t>(tile_first_.size());
    const std::byte* from = arrays.from + src;
    // Tiles wider than the contiguous part of the source read past it; and the tables require tiles
    // of one size.
    if ((tile_columns_ < side_ && src + furthest_ + side_ * width_ > arrays.from_bytes) ||
        tile_side(width_) != side_) {
      for (std::int64_t t = 0; t < tiles; ++t) transpose_slowly(from, t, columns);
      return;
    }
    for (const std::int64_t row : tile_row_) {
      transpose_tiles(from, row_.data() + row, tile_first_.data(), columns + row * width_,
                      tile_at_.data(), tile_columns_, tiles, width_, false);
    }
  }

  void transpose_slowly(const std::byte* from, std::int64_t t, std::byte* columns) const {
    const auto tile = static_cast<std::size_t>(t);
    for (std::int64_t c = 0; c < tile_columns_; ++c) {
      for (std::int64_t r = 0; r < nest_.rows.steps; ++r) {
        std::memcpy(columns + tile_at_[tile][c] + r * width_,
                    from + row_[static_cast<std::size_t>(r)] + tile_first_[tile] + c * width_,
                    static_cast<std::size_t>(width_));
      }
    }
  }

  Transpose nest_;
  int width_;
  std::int64_t side_ = 1;
  std::int64_t bytes_ = 0;  ///< of a column
  std::int64_t pitch_ = 0;  ///< from column to column in the buffer
  std::vector<std::int64_t> row_;
  std::vector<std::int64_t> tile_row_;
  std::vector<std::int64_t> tile_first_;
  std::vector<std::int64_t> column_at_;
  std::vector<const std::int64_t*> tile_at_;
  std::int64_t tile_columns_ = 1;
  std::int64_t furthest_ = 0;
  std::vector<Run> runs_;
  std::vector<std::int64_t> piece_at_;
  std::vector<std::int64_t> piece_bytes_;
};

/// The axis of this step on one side; as many as there are axes when none has it.
std::size_t axis_of(const std::vector<Axis>& axes, std::int64_t Axis::* side, std::int64_t step) {
  std::size_t a = 0;
  while (a < axes.size() && axes[a].*side != step) ++a;
  return a;
}

Axis take(std::vector<Axis>& axes, std::size_t a) {
  const Axis axis = axes[a];
  axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(a));
  return axis;
}

std::unique_ptr<const Job> make_job(const FlatNest& nest) {
  Block block{{nest.src, nest.dst, static_cast<int>(nest.width), {}, {}, {}}, {}};
  std::vector<Axis> left = nest.axes;
  Chain& rows = block.nest.rows;
  Chain& columns = block.nest.columns;
  const std::size_t slow = axis_of(left, &Axis::dst, nest.width);
  if (slow == left.size()) return nullptr;
  rows.add(take(left, slow));
  const std::size_t fast = axis_of(left, &Axis::src, nest.width);
  if (fast == left.size()) return nullptr;
  columns.add(take(left, fast));
  const auto bytes = [&] {  // each column has separate lines in the buffer
    return columns.steps * block.more.steps * (rows.steps * nest.width + kLine);
  };
  // All loops that continue the rows without a column in between. A loop that also continues short
  // columns is more useful there.
  for (std::size_t a = 0; (a = axis_of(left, &Axis::dst, rows.steps * nest.width)) < left.size();) {
    const std::int64_t wide = columns.steps * nest.width;
    if (left[a].src == wide && wide < kShortColumns) break;
    rows.add(take(left, a));
    if (rows.steps * nest.width > kMostRowBytes) return nullptr;
  }
  if (rows.steps * nest.width > kMostRowBytes || bytes() > kMostBytes) return nullptr;
  for (std::size_t a = 0;
       columns.steps * nest.width < kEnoughRow &&
       (a = axis_of(left, &Axis::src, columns.steps * nest.width)) < left.size();) {
    if (left[a].extent > kMostBytes / bytes()) break;
    columns.add(take(left, a));
  }
  // Loops that make the run in the destination long enough.
  std::int64_t run = rows.steps * nest.width;
  while (run < kEnoughRun) {
    const std::size_t inside = axis_of(columns.axes, &Axis::dst, run);
    if (inside < columns.axes.size()) {
      run *= columns.axes[inside].extent;
      continue;
    }
    const std::size_t a = axis_of(left, &Axis::dst, run);
    if (a == left.size() || left[a].extent > kMostBytes / bytes()) break;
    run *= left[a].extent;
    block.more.add(take(left, a));
  }
  block.nest.outer = std::move(left);
  std::sort(block.nest.outer.begin(), block.nest.outer.end(), [](const Axis& a, const Axis& b) {
    return a.src != b.src ? a.src > b.src : a.dst > b.dst;
  });
  return std::make_unique<ShortRowsJob>(std::move(block));
}

}  // namespace

bool add_short_rows_jobs(const FlatNest& nest, bool streaming, Jobs& jobs) {
  const std::size_t fast = axis_of(nest.axes, &Axis::src, nest.width);
  if (fast == nest.axes.size()) return false;
  if (nest.axes[fast].extent * nest.width <= kLongRow) {
    auto job = make_job(nest);
    if (job == nullptr) return false;
    jobs.push_back(std::move(job));
    return true;
  }
  Split split = split_axis(nest, fast, kLongRow / 2 / nest.width);
  auto job = make_job(split.whole);
  if (job == nullptr) return false;
  jobs.push_back(std::move(job));
  if (split.rest) add_byte_jobs(simplified(*std::move(split.rest)), streaming, jobs);
  return true;
}

}  // namespace tessera::relayout
