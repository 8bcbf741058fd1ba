// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/base/thread_pool.h"
#include "tessera/relayout/jobs/chain.h"
#include "tessera/relayout/jobs/job.h"
#include "tessera/relayout/kernels/kernels.h"
#include "tessera/relayout/kernels/line_writer.h"

namespace tessera::relayout {
namespace {

constexpr std::int64_t kAtOnce = 8192;      // bytes that are assembled in the first-level cache
constexpr std::int64_t kPartBytes = 65536;  // of an item
constexpr std::int64_t kMaxRows = kLine;

/// A few rows side by side, such as 16 channels: each column is a part of a line, and columns are
/// contiguous in the destination.
class NarrowJob final : public Job {
 public:
  explicit NarrowJob(Transpose nest)
      : nest_(std::move(nest)),
        rows_(static_cast<int>(nest_.rows.steps)),
        pitch_(nest_.rows.steps * nest_.width),
        columns_(nest_.columns.steps),
        parts_(std::max<std::int64_t>(1, columns_ * pitch_ / kPartBytes)) {
    nest_.rows.table(0, rows_, &Axis::src, row_);
  }

  std::int64_t items(int) const override { return steps_of(nest_.outer) * parts_; }

  void run(std::int64_t first, std::int64_t last, int, const Arrays& arrays) const override {
    const std::int64_t side = tile_side(nest_.width);
    const std::int64_t units = columns_ / side;
    for (std::int64_t i = first; i < last; ++i) {
      const Offsets at = offsets_at(nest_.outer, i / parts_);
      const std::int64_t part = i % parts_;
      const std::int64_t from = units * part / parts_ * side;
      const std::int64_t to = part + 1 == parts_ ? columns_ : units * (part + 1) / parts_ * side;
      move(arrays, nest_.src + at.src, arrays.to + nest_.dst + at.dst, from, to);
    }
  }

  std::string describe() const override {
    return cat("narrow_rows: ", rows_, " rows side by side, ", columns_, " columns of ",
               nest_.width, "-byte elements, ", steps_of(nest_.outer), " times");
  }

 private:
  /// Columns [from, to), at least as many as a tile has.
  void move(const Arrays& arrays, std::int64_t src, std::byte* dst, std::int64_t from,
            std::int64_t to) const {
    const std::int64_t side = tile_side(nest_.width);
    const std::int64_t at_once = std::max<std::int64_t>(1, kAtOnce / pitch_ / side) * side;
    const std::byte* begin = arrays.from + src;
    LineWriter writer(arrays.scratch, 2 * kAtOnce);
    std::byte* buffer = arrays.scratch + 2 * kAtOnce;
    const std::int64_t whole = from + (to - from) / side * side;
    for (std::int64_t c = from; c < whole; c += at_once) {
      const std::int64_t n = std::min(at_once, whole - c);
      std::byte* out = dst + c * pitch_;
      std::byte* room = arrays.streaming ? writer.reserve(out, n * pitch_) : out;
      interleave_rows(room, begin + c * nest_.width, row_, rows_, n, nest_.width);
    }
    if (whole == to) return;
    // The remainder is the end of one more tile.
    const std::int64_t left = to - whole;
    interleave_rows(buffer, begin + (to - side) * nest_.width, row_, rows_, side, nest_.width);
    std::byte* room = arrays.streaming ? writer.reserve(dst + whole * pitch_, left * pitch_)
                                       : dst + whole * pitch_;
    std::memcpy(room, buffer + (side - left) * pitch_, static_cast<std::size_t>(left * pitch_));
  }

  Transpose nest_;
  int rows_;
  std::int64_t pitch_;  ///< bytes of a column
  std::int64_t columns_;
  std::int64_t parts_;
  std::int64_t row_[kMaxRows];
};

}  // namespace

std::unique_ptr<const Job> make_narrow_job(const FlatNest& nest) {
  Transpose transposed{nest.src, nest.dst, static_cast<int>(nest.width), {}, {}, {}};
  for (const Axis& axis : nest.axes) {
    if (axis.dst == nest.width) transposed.rows.add(axis);
  }
  const std::int64_t pitch = transposed.rows.steps * nest.width;
  if (pitch < 16 || pitch > 48 || pitch % 16 != 0) return nullptr;
  for (const Axis& axis : nest.axes) {
    if (axis.dst == nest.width) continue;
    if (axis.src == nest.width && axis.dst == pitch) {
      transposed.columns.add(axis);
    } else {
      transposed.outer.push_back(axis);
    }
  }
  if (transposed.columns.steps < kLine / nest.width) return nullptr;
  return std::make_unique<NarrowJob>(std::move(transposed));
}

}  // namespace tessera::relayout
