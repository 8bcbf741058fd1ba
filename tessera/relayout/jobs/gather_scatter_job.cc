// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/relayout/jobs/job.h"
#include "tessera/relayout/jobs/run_table.h"
#include "tessera/relayout/kernels/kernels.h"

namespace tessera::relayout {
namespace {

constexpr std::int64_t kShortest = 16;         // bytes of a run that is worth a table, on average
constexpr std::int64_t kAheadBytes = 8192;     // moved between prefetching bytes and using them
constexpr std::int64_t kLongRun = 16384;       // bytes of a run that needs no prefetch
constexpr std::int64_t kMostTouched = 2;       // times the wanted bytes, gaps included
constexpr std::int64_t kTouchedBytes = 16384;  // at a time

class GatherScatterJob final : public Job {
 public:
  /// `scatters`: the destination is the large side.
  GatherScatterJob(RunTable table, bool scatters, bool streaming)
      : blocks_(std::move(table)), scatters_(scatters), streaming_(streaming) {
    const std::vector<Stretch>& columns = blocks_.table().columns;
    sizes_ = {columns[0].bytes, 0};
    for (const Stretch& column : columns) {
      sizes_.shortest = std::min(sizes_.shortest, column.bytes);
      sizes_.longest = std::max(sizes_.longest, column.bytes);
    }
    const std::int64_t average =
        blocks_.table().column_bytes / static_cast<std::int64_t>(columns.size());
    if (average >= kLongRun || (scatters && streaming)) return;
    const std::int64_t span = columns.back().from + columns.back().bytes - columns[0].from;
    if (!scatters && span > blocks_.table().column_bytes) {
      touches_ = span <= kMostTouched * blocks_.table().column_bytes;
    }
    ahead_ =
        std::clamp<std::size_t>(static_cast<std::size_t>(kAheadBytes / average), 1, columns.size());
  }

  std::int64_t items(int) const override { return blocks_.items(); }

  void run(std::int64_t first, std::int64_t last, int, const Arrays& arrays) const override {
    blocks_.for_each(first, last,
                     [&](const Offsets& at, const Offsets& next, std::size_t from, std::size_t to) {
                       move(arrays, at, next, from, to);
                     });
  }

  std::string describe() const override {
    return cat(scatters_ ? "scatter" : "gather", ": runs of ", sizes_.shortest, " to ",
               sizes_.longest, " bytes, ", blocks_.table().columns.size(), " per row, ",
               blocks_.rows(), " rows", streaming_ ? ", streaming" : "");
  }

 private:
  /// Moves columns [from, to) of a row; columns a little further on, or at the beginning of the
  /// next row, are prefetched.
  void move(const Arrays& arrays, const Offsets& at, const Offsets& next, std::size_t from,
            std::size_t to) const {
    const std::vector<Stretch>& columns = blocks_.table().columns;
    const auto copy = [&](std::size_t begin, std::size_t end, const PrefetchList& list) {
      if (begin >= end) return;
      copy_stretches(arrays.to + at.dst, arrays.from + at.src, columns.data() + begin,
                     static_cast<std::int64_t>(end - begin), sizes_, streaming_, list);
    };
    if (touches_) return touch_and_copy(arrays.from + at.src, from, to, copy);
    if (ahead_ == 0) return copy(from, to, {});
    const std::size_t wrap = std::clamp(columns.size() - ahead_, from, to);
    if (from < wrap) copy(from, wrap, {large(arrays, at), &columns[from + ahead_], side()});
    if (wrap < to) {
      copy(wrap, to, {large(arrays, next), &columns[wrap + ahead_ - columns.size()], side()});
    }
  }

  /// Also reads the bytes between the runs, a part of a row at a time: other parts of the move
  /// often need them next.
  template <typename Copy>
  void touch_and_copy(const std::byte* row, std::size_t from, std::size_t to,
                      const Copy& copy) const {
    const std::vector<Stretch>& columns = blocks_.table().columns;
    while (from < to) {
      std::size_t end = from + 1;
      while (end < to && columns[end].from - columns[from].from < kTouchedBytes) ++end;
      const Stretch& last = columns[end - 1];
      touch_lines(row + columns[from].from, last.from + last.bytes - columns[from].from);
      copy(from, end, {});
      from = end;
    }
  }

  const std::byte* large(const Arrays& arrays, const Offsets& at) const {
    return scatters_ ? arrays.to + at.dst : arrays.from + at.src;
  }
  std::int64_t Stretch::* side() const { return scatters_ ? &Stretch::to : &Stretch::from; }

  RowBlocks blocks_;
  bool scatters_;
  bool streaming_;
  StretchSizes sizes_;
  bool touches_ = false;   ///< gaps are read as well
  std::size_t ahead_ = 0;  ///< columns between prefetching bytes and moving them; 0: no prefetch
};

/// Whether most of the written bytes fill whole lines, judged by the first row.
bool fills_lines(const RunTable& table) {
  std::int64_t whole = 0;
  for (const Stretch& column : table.columns) {
    const std::int64_t begin = table.base.dst + column.to;
    const std::int64_t lines =
        floor_div(begin + column.bytes, kLine) - floor_div(begin + kLine - 1, kLine);
    whole += std::max<std::int64_t>(0, lines) * kLine;
  }
  return whole >= table.column_bytes / 4 * 3;
}

}  // namespace

std::unique_ptr<const Job> make_gather_scatter_job(const Refinement& copy, const Memory& from,
                                                   const Memory& to, std::int64_t bits,
                                                   bool streaming) {
  if (copy.nests() == 0) return nullptr;
  const bool scatters = to.bytes >= from.bytes;
  std::optional<RunTable> table =
      RunTable::make(copy, from, to, bits / 8, scatters ? &Offsets::dst : &Offsets::src);
  if (!table) return nullptr;
  const auto columns = static_cast<std::int64_t>(table->columns.size());
  // One nest of very short runs has better kernels; many nests would each touch the same lines.
  const std::int64_t shortest = copy.nests() > 1 ? std::min(kShortest, bits / 4) : kShortest;
  if (table->column_bytes / columns < shortest) return nullptr;
  const bool around = streaming && fills_lines(*table);
  return std::make_unique<GatherScatterJob>(*std::move(table), scatters, around);
}

}  // namespace tessera::relayout
