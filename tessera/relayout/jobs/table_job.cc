// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/relayout/jobs/job.h"
#include "tessera/relayout/kernels/kernels.h"
#include "tessera/relayout/kernels/line_writer.h"

namespace tessera::relayout {
namespace {

constexpr std::int64_t kMostEntries = std::int64_t{1} << 20;
constexpr std::int64_t kWriterBytes = std::int64_t{1} << 14;
constexpr std::int64_t kRowsAtOnce = 128;
constexpr std::int64_t kRunBytes = 4096;  // of a run that is assembled at a time

/// A step of a factor: its offsets on both sides, in bytes, and its position in the order of
/// indices.
struct Step {
  std::int64_t src = 0;
  std::int64_t dst = 0;
  std::int64_t index = 0;
};

/// Every step of a factor's pieces, in the order of the destination.
std::vector<Step> table_of(const Factor& factor, const Memory& from, const Memory& to,
                           std::int64_t width) {
  std::vector<Step> table;
  for (const Piece& piece : factor.pieces) {
    std::vector<Axis> axes;     // of both sides
    std::vector<Axis> indices;  // of the dims, the first is the most significant
    for (const Loop& loop : piece.loops) {
      axes.push_back({loop.extent, from.flat(loop.move.a) * width, to.flat(loop.move.b) * width});
      const bool first = !factor.dims.empty() && loop.dim == factor.dims[0];
      indices.push_back({loop.extent, first ? loop.step : 0, 0});
    }
    const std::int64_t steps = steps_of(axes);
    const std::int64_t origin = piece.origin.empty() ? 0 : piece.origin[0];
    for (std::int64_t i = 0; i < steps; ++i) {
      const Offsets at = offsets_at(axes, i);
      table.push_back({from.flat(piece.at.a) * width + at.src, to.flat(piece.at.b) * width + at.dst,
                       origin + offsets_at(indices, i).src});
    }
  }
  std::sort(table.begin(), table.end(), [](const Step& a, const Step& b) { return a.dst < b.dst; });
  return table;
}

/// The smallest distance between neighbours in the destination.
std::int64_t least_step(const std::vector<Step>& table) {
  std::int64_t least = INT64_MAX;
  for (std::size_t i = 1; i < table.size(); ++i) {
    least = std::min(least, table[i].dst - table[i - 1].dst);
  }
  return least;
}

std::int64_t entries_of(const Refinement& copy) {
  std::int64_t entries = 0;
  for (const Factor& factor : copy.factors()) {
    for (const Piece& piece : factor.pieces) {
      std::int64_t steps = 1;
      for (const Loop& loop : piece.loops) steps *= loop.extent;
      entries += steps;
      if (entries > kMostEntries) return entries;
    }
  }
  return entries;
}

/// Consecutive bytes of the destination, assembled from pieces of the source.
struct Run {
  std::int64_t dst = 0;
  std::int64_t bytes = 0;
  std::size_t first = 0;  ///< of its pieces
  std::size_t pieces = 0;
  std::int64_t index = 0;
};

class TableJob final : public Job {
 public:
  TableJob(Offsets base, std::vector<std::vector<Step>> tables, std::int64_t width)
      : base_(base), width_(width) {
    // Columns are the factor of the smallest steps, rows the next one.
    std::sort(tables.begin(), tables.end(),
              [](const auto& a, const auto& b) { return least_step(a) < least_step(b); });
    cut_runs(tables[0]);
    rows_ = tables.size() > 1 ? std::move(tables[1]) : std::vector<Step>{{}};
    for (std::size_t t = 2; t < tables.size(); ++t) outer_.push_back(std::move(tables[t]));
    group_rows();
  }

  std::int64_t items(int) const override {
    std::int64_t items = static_cast<std::int64_t>(groups_.size() * runs_.size());
    for (const auto& table : outer_) items *= static_cast<std::int64_t>(table.size());
    return items;
  }

  void run(std::int64_t first, std::int64_t last, int, const Arrays& arrays) const override {
    LineWriter writer(arrays.scratch, kWriterBytes, arrays.streaming);
    for (std::int64_t i = first; i < last; ++i) {
      std::int64_t left = i;
      const auto digit = [&](std::size_t n) {
        const auto count = static_cast<std::int64_t>(n);
        const std::int64_t value = left % count;
        left /= count;
        return static_cast<std::size_t>(value);
      };
      const Run& run = runs_[digit(runs_.size())];
      const Group& group = groups_[digit(groups_.size())];
      Offsets at = base_;
      for (const auto& table : outer_) {
        const Step& step = table[digit(table.size())];
        at.src += step.src;
        at.dst += step.dst;
      }
      move(arrays, at, run, group, writer);
    }
  }

  std::string describe() const override {
    return cat("gather_table: runs of up to ", longest_, " bytes, ", runs_.size(), " runs of ",
               piece_at_.size(), " pieces, ", rows_.size(), " rows");
  }

 private:
  struct Group {
    std::size_t first = 0;
    std::size_t rows = 0;
  };

  void cut_runs(const std::vector<Step>& columns) {
    for (const Step& column : columns) {
      const bool continues = !runs_.empty() && runs_.back().bytes < kRunBytes &&
                             runs_.back().dst + runs_.back().bytes == column.dst;
      if (!continues) runs_.push_back({column.dst, 0, piece_at_.size(), 0, column.index});
      Run& run = runs_.back();
      if (run.pieces > 0 && piece_at_.back() + piece_bytes_.back() == column.src) {
        piece_bytes_.back() += width_;
      } else {
        piece_at_.push_back(column.src);
        piece_bytes_.push_back(width_);
        ++run.pieces;
      }
      run.bytes += width_;
      longest_ = std::max(longest_, run.bytes);
      furthest_ = std::max(furthest_, column.src);
    }
    const std::int64_t widest = *std::max_element(piece_bytes_.begin(), piece_bytes_.end());
    freely_ = free_copy(widest);
    // Runs of adjacent indices read adjacent pieces, even if they are written to different places.
    std::sort(runs_.begin(), runs_.end(),
              [](const Run& a, const Run& b) { return a.index < b.index; });
  }

  /// Rows whose runs may follow each other in the destination.
  void group_rows() {
    std::int64_t step = 0;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const std::int64_t here = r == 0 ? 0 : rows_[r].dst - rows_[r - 1].dst;
      const bool joins = !groups_.empty() && groups_.back().rows < kRowsAtOnce &&
                         (groups_.back().rows == 1 || here == step);
      if (!joins) groups_.push_back({r, 0});
      if (groups_.back().rows == 1) step = here;
      ++groups_.back().rows;
    }
    std::sort(groups_.begin(), groups_.end(), [&](const Group& a, const Group& b) {
      return rows_[a.first].index < rows_[b.first].index;
    });
  }

  void move(const Arrays& arrays, const Offsets& at, const Run& run, const Group& group,
            LineWriter& writer) const {
    const std::int64_t* pieces = piece_at_.data() + run.first;
    const std::int64_t* bytes = piece_bytes_.data() + run.first;
    // The next run often reads where this one ends.
    const std::size_t next = static_cast<std::size_t>(&run - runs_.data()) + 1;
    std::int64_t ahead = 0;
    if (next < runs_.size() && arrays.streaming) {
      ahead = piece_at_[runs_[next].first] - pieces[0];
      if (ahead < 0 || ahead > kRunBytes) ahead = 0;
    }
    for (std::size_t r = group.first; r < group.first + group.rows; ++r) {
      const std::int64_t src = at.src + rows_[r].src;
      std::byte* room = writer.reserve(arrays.to + at.dst + rows_[r].dst + run.dst, run.bytes);
      // Pieces are copied together with the bytes after them, as long as these are inside the
      // source.
      const bool inside = src + furthest_ + width_ + kLine <= arrays.from_bytes;
      join_pieces(room, arrays.from + src, pieces, bytes, static_cast<std::int64_t>(run.pieces),
                  inside ? freely_ : 0, ahead);
    }
  }

  Offsets base_;
  std::int64_t width_;
  std::vector<Run> runs_;
  std::vector<std::int64_t> piece_at_;
  std::vector<std::int64_t> piece_bytes_;
  std::vector<Step> rows_;
  std::vector<Group> groups_;
  std::vector<std::vector<Step>> outer_;
  std::int64_t longest_ = 0;
  std::int64_t furthest_ = 0;
  std::int64_t freely_ = 0;  ///< see join_pieces
};

}  // namespace

std::unique_ptr<const Job> make_table_job(const Refinement& copy, const Memory& from,
                                          const Memory& to, std::int64_t bits) {
  if (copy.nests() == 0 || copy.factors().empty() || entries_of(copy) > kMostEntries) {
    return nullptr;
  }
  const std::int64_t width = bits / 8;
  std::vector<std::vector<Step>> tables;
  for (const Factor& factor : copy.factors()) {
    tables.push_back(table_of(factor, from, to, width));
  }
  return std::make_unique<TableJob>(
      Offsets{from.flat(copy.base().a) * width, to.flat(copy.base().b) * width}, std::move(tables),
      width);
}

}  // namespace tessera::relayout
