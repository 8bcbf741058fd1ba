// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/relayout/jobs/job.h"
#include "tessera/relayout/kernels/kernels.h"
#include "tessera/relayout/kernels/line_writer.h"

namespace tessera::relayout {
namespace {

constexpr std::int64_t kLongRun = std::int64_t{1} << 18;    // longer runs are cut for sharing
constexpr std::int64_t kItemBytes = std::int64_t{1} << 14;  // the minimum size of an item
constexpr std::int64_t kWriterBytes = std::int64_t{1} << 13;
constexpr std::int64_t kStagedLines = 64;
constexpr std::int64_t kFar = 4096;        // bytes; reads farther apart are separate streams
constexpr std::int64_t kNear = 2048;       // bytes written contiguously before the next line
constexpr std::int64_t kInARow = 512;      // bytes of a row read before the next row
constexpr std::int64_t kReadStreams = 16;  // as many streams as memory can follow
constexpr std::int64_t kWriteStreams = 32;

/// What each step of the loops moves: `pieces` runs of `bytes` bytes, `src` apart in the source and
/// next to each other in the destination.
struct Unit {
  std::int64_t bytes = 0;
  std::int64_t pieces = 1;
  std::int64_t src = 0;
  std::int64_t size() const { return bytes * pieces; }
};

/// Axes in loop order, the last fastest.
class RunsJob final : public Job {
 public:
  RunsJob(const FlatNest& nest, const Unit& unit)
      : src_(nest.src), dst_(nest.dst), axes_(nest.axes), unit_(unit) {
    // The inner axes are one item, so that the kernels have loops to run.
    if (axes_.empty()) axes_.push_back({1, 0, 0});
    std::int64_t inner_bytes = unit_.size();
    inner_ = axes_.size();
    do {
      --inner_;
      inner_bytes *= axes_[inner_].extent;
    } while (inner_ > 0 && inner_bytes < kItemBytes);
    if (inner_ + 1 == axes_.size() && axes_.back().extent > 1 && inner_bytes > 4 * kItemBytes) {
      inner_ = axes_.size();  // workers share the steps of one long loop as well
    }
    outer_.assign(axes_.begin(), axes_.begin() + static_cast<std::ptrdiff_t>(inner_));
    if (inner_ < axes_.size()) last_ = axes_.back();
    lines_ = unit_.size() % kLine == 0 && dst_ % kLine == 0;
    for (const Axis& axis : axes_) lines_ = lines_ && axis.dst % kLine == 0;
  }

  std::int64_t items(int) const override { return steps_of(outer_); }

  void run(std::int64_t first, std::int64_t last, int, const Arrays& arrays) const override {
    const bool lines = lines_ && reinterpret_cast<std::uintptr_t>(arrays.to) % kLine == 0;
    LineWriter writer(arrays.scratch, kWriterBytes);
    const bool collected = arrays.streaming && !lines && unit_.size() <= writer.capacity();
    const bool direct = !collected && unit_.pieces == 1;
    // The kernel for plain runs takes two loops, the others one.
    const std::size_t loops = direct && inner_ + 2 <= axes_.size() ? 2 : 1;
    const Axis before = loops == 2 ? axes_[axes_.size() - 2] : Axis{1, 0, 0};
    for (std::int64_t i = first; i < last; ++i) {
      const Offsets at = offsets_at(outer_, i);
      walk(inner_, loops, arrays.from + src_ + at.src, arrays.to + dst_ + at.dst,
           [&](const std::byte* from, std::byte* to) {
             if (direct) {
               copy_runs(to, from, {before.extent, before.dst, before.src},
                         {last_.extent, last_.dst, last_.src}, unit_.bytes, arrays.streaming);
             } else if (collected) {
               collect(writer, from, to);
             } else {
               gather(arrays, from, to);
             }
           });
    }
  }

  std::string describe() const override {
    std::vector<std::string> loops;
    for (const Axis& axis : axes_) {
      loops.push_back(cat(axis.extent, " (", axis.src, " -> ", axis.dst, ")"));
    }
    return cat("copy_runs: ", unit_.bytes, " bytes",
               unit_.pieces > 1 ? cat(", ", unit_.pieces, " at a time") : "", "; ",
               join(loops, ", "));
  }

 private:
  /// Calls `move` at every step of the inner axes but the last `loops`.
  template <typename Move>
  void walk(std::size_t a, std::size_t loops, const std::byte* from, std::byte* to,
            const Move& move) const {
    if (a + loops >= axes_.size()) return move(from, to);
    for (std::int64_t i = 0; i < axes_[a].extent; ++i) {
      walk(a + 1, loops, from, to, move);
      from += axes_[a].src;
      to += axes_[a].dst;
    }
  }

  /// Units of several pieces are assembled before they are written as lines.
  void gather(const Arrays& arrays, const std::byte* from, std::byte* to) const {
    const std::int64_t size = unit_.size();
    // Parts of lines may be streamed one by one if lines are close together, as in tiles.
    if (arrays.streaming && size == kLine && (unit_.bytes == 16 || unit_.bytes == 32) &&
        last_.dst < kFar) {
      return stream_pieces(to, from, {last_.extent, last_.dst, last_.src}, unit_.src, unit_.bytes);
    }
    const std::int64_t at_once = std::max<std::int64_t>(1, kStagedLines * kLine / size);
    for (std::int64_t i = 0; i < last_.extent; i += at_once) {
      const std::int64_t units = std::min(at_once, last_.extent - i);
      for (std::int64_t p = 0; p < unit_.pieces; ++p) {
        copy_runs(arrays.scratch + p * unit_.bytes, size, from + i * last_.src + p * unit_.src,
                  last_.src, units, unit_.bytes, false);
      }
      copy_runs(to + i * last_.dst, last_.dst, arrays.scratch, size, units, size, arrays.streaming);
    }
  }

  void collect(LineWriter& writer, const std::byte* from, std::byte* to) const {
    const std::int64_t size = unit_.size();
    const std::int64_t at_once =
        last_.dst == size ? std::max<std::int64_t>(1, writer.capacity() / size) : 1;
    for (std::int64_t i = 0; i < last_.extent; i += at_once) {
      const std::int64_t units = std::min(at_once, last_.extent - i);
      std::byte* room = writer.reserve(to + i * last_.dst, units * size);
      for (std::int64_t p = 0; p < unit_.pieces; ++p) {
        copy_runs(room + p * unit_.bytes, size, from + i * last_.src + p * unit_.src, last_.src,
                  units, unit_.bytes, false);
      }
    }
  }

  std::int64_t src_, dst_;
  std::vector<Axis> axes_;
  Unit unit_;
  std::size_t inner_ = 0;    ///< axes from here on are one item
  std::vector<Axis> outer_;  ///< the axes before
  Axis last_;                ///< the last axis, or one step when that is shared too
  bool lines_ = false;       ///< every unit is whole lines of an aligned destination
};

/// What is left over when loops are cut.
using Rests = std::vector<FlatNest>;

/// Cuts axis number `axis` so that `inner` steps of it stay together; true when it was cut.
bool cut(FlatNest& nest, std::size_t axis, std::int64_t inner, Rests& rests) {
  if (inner < 1 || nest.axes[axis].extent <= inner) return false;
  Split split = split_axis(nest, axis, inner);
  if (split.rest) rests.push_back(*std::move(split.rest));
  nest = std::move(split.whole);
  return true;
}

void move_axis(FlatNest& nest, std::size_t from, std::size_t to) {
  const Axis axis = nest.axes[from];
  nest.axes.erase(nest.axes.begin() + static_cast<std::ptrdiff_t>(from));
  nest.axes.insert(nest.axes.begin() + static_cast<std::ptrdiff_t>(to), axis);
}

/// The axis whose steps continue the source; as many as there are axes when none does.
std::size_t continues_source(const FlatNest& nest, const Unit& unit) {
  std::size_t axis = 0;
  while (axis < nest.axes.size() && nest.axes[axis].src != unit.bytes) ++axis;
  return axis;
}

/// If the loop that is contiguous in the source is outside loops of many steps, each of its steps
/// reads many distant positions. Those loops are cut, so that only a few of their steps stay
/// inside.
void read_few_streams(FlatNest& nest, const Unit& unit, Rests& rests) {
  const std::size_t next = continues_source(nest, unit);
  if (next == nest.axes.size()) return;
  std::int64_t inside = unit.pieces;
  for (std::size_t a = next + 1; a < nest.axes.size(); ++a) inside *= nest.axes[a].extent;
  if (inside <= kReadStreams) return;
  // From the inside out, keep axes until the maximum number of streams is reached, or enough is
  // written contiguously.
  const bool far = nest.axes.back().src >= kFar || unit.src >= kFar;
  std::int64_t left = (far ? kReadStreams : std::max(kReadStreams, kNear / unit.size()));
  if (far) left = std::max<std::int64_t>(1, left / unit.pieces);
  std::size_t from = nest.axes.size();
  while (from > next + 1 && nest.axes[from - 1].extent <= left) {
    left /= nest.axes[--from].extent;
  }
  if (from > next + 1 && left >= 2) cut(nest, from - 1, left, rests);
  move_axis(nest, next, from - 1);
}

/// Runs of distant rows that do not fill lines of the source would each use only a part of a line
/// that is read. So more of a row is read before the next row.
void read_whole_lines(FlatNest& nest, const Unit& unit, Rests& rests) {
  const std::size_t rank = nest.axes.size();
  if (rank < 2 || unit.bytes >= kInARow || nest.axes[rank - 1].src < kLine * kReadStreams) return;
  if (nest.axes[rank - 1].src < kFar && nest.axes[rank - 2].extent < nest.axes[rank - 1].extent) {
    return;  // close together, and the last loop is the longer one
  }
  if (unit.bytes >= kLine && nest.axes[rank - 1].src % kLine == 0) return;
  if (nest.axes[rank - 2].src != unit.bytes) return;
  const std::int64_t steps = std::min(nest.axes[rank - 2].extent, kInARow / unit.bytes);
  if (steps < 2) return;
  cut(nest, rank - 2, steps, rests);
  const std::size_t inner = nest.axes.size() - 2;
  move_axis(nest, inner, inner + 1);
}

/// Streaming stores of whole lines may jump without cost; reads should not. The order is that of
/// the source, unless only few positions of the source supply the next bytes of the destination.
void order_for_streaming(FlatNest& nest, const Unit& unit, Rests& rests) {
  const std::size_t next = continues_source(nest, unit);
  if (next == nest.axes.size() || nest.axes.empty()) return;
  const std::int64_t writes = nest.axes[next].extent;
  const std::int64_t reads = nest.axes.back().extent * unit.pieces;
  if (writes > kWriteStreams && reads < writes) {
    read_few_streams(nest, unit, rests);
    return read_whole_lines(nest, unit, rests);
  }
  if (writes > kWriteStreams) {
    cut(nest, next, kWriteStreams, rests);
  }
  std::sort(nest.axes.begin(), nest.axes.end(), [](const Axis& a, const Axis& b) {
    return a.src != b.src ? a.src > b.src : a.dst > b.dst;
  });
}

/// Assembles short runs that are contiguous in the destination into whole lines.
Unit whole_lines(FlatNest& nest, std::int64_t bytes, Rests& rests) {
  if (bytes >= kLine || kLine % bytes != 0 || nest.dst % kLine != 0) return {bytes};
  const std::int64_t pieces = kLine / bytes;
  for (std::size_t a = 0; a < nest.axes.size(); ++a) {
    const Axis axis = nest.axes[a];
    if (axis.dst != bytes) {
      if (axis.dst % kLine != 0) return {bytes};
      continue;
    }
    if (axis.extent < pieces) return {bytes};
    if (axis.extent > pieces) {
      cut(nest, a, pieces, rests);
      nest.axes.erase(nest.axes.begin() + static_cast<std::ptrdiff_t>(a) + 1);
    } else {
      nest.axes.erase(nest.axes.begin() + static_cast<std::ptrdiff_t>(a));
    }
    return {bytes, pieces, axis.src};
  }
  return {bytes};
}

}  // namespace

void add_runs_jobs(FlatNest nest, bool streaming, Jobs& jobs) {
  // Take the run out of the loops.
  const auto run = std::find_if(nest.axes.begin(), nest.axes.end(), [&](const Axis& axis) {
    return axis.src == nest.width && axis.dst == nest.width;
  });
  std::int64_t bytes = nest.width;
  if (run != nest.axes.end()) {
    bytes *= run->extent;
    nest.axes.erase(run);
  }
  if (bytes >= 2 * kLongRun) {
    // One long run becomes several, so that threads can share it.
    const std::int64_t pieces = bytes / kLongRun;
    if (const std::int64_t rest = bytes - pieces * kLongRun; rest > 0) {
      FlatNest tail = nest;
      tail.src += pieces * kLongRun;
      tail.dst += pieces * kLongRun;
      jobs.push_back(std::make_unique<RunsJob>(tail, Unit{rest}));
    }
    nest.axes.push_back({pieces, kLongRun, kLongRun});
    bytes = kLongRun;
  }
  // Cuts may leave remainders: first those of a nest of single runs, then those of its units.
  Rests runs{std::move(nest)};
  while (!runs.empty()) {
    FlatNest part = std::move(runs.back());
    runs.pop_back();
    const Unit unit = streaming ? whole_lines(part, bytes, runs) : Unit{bytes};
    Rests units{std::move(part)};
    while (!units.empty()) {
      FlatNest ordered = std::move(units.back());
      units.pop_back();
      if (streaming && unit.size() % kLine == 0) {
        order_for_streaming(ordered, unit, units);
      } else {
        read_few_streams(ordered, unit, units);
        if (!streaming) read_whole_lines(ordered, unit, units);
      }
      jobs.push_back(std::make_unique<RunsJob>(ordered, unit));
    }
  }
}

}  // namespace tessera::relayout
