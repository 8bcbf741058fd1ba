// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/relayout/job.h"
#include "tessera/relayout/kernels.h"
#include "tessera/relayout/line_writer.h"

namespace tessera::relayout {
namespace {

constexpr std::int64_t kLongRun = std::int64_t{1} << 18;    // beyond this a run is cut for sharing
constexpr std::int64_t kItemBytes = std::int64_t{1} << 14;  // the least that is worth an item
constexpr std::int64_t kWriterBytes = std::int64_t{1} << 13;
constexpr std::int64_t kNear = 2048;      // bytes written side by side before the next line
constexpr std::int64_t kFewStreams = 32;  // read side by side

/// Axes in the order in which they are walked, the last fastest; each step moves `bytes` bytes.
class RunsJob final : public Job {
 public:
  RunsJob(std::int64_t src, std::int64_t dst, std::vector<Axis> axes, std::int64_t bytes)
      : src_(src), dst_(dst), axes_(std::move(axes)), bytes_(bytes) {
    // The inner axes are one item: at least two, so that the kernel has loops to run.
    std::int64_t inner_bytes = bytes_;
    inner_ = axes_.size();
    while (inner_ > 0 && inner_bytes < kItemBytes) {
      --inner_;
      inner_bytes *= axes_[inner_].extent;
    }
    outer_.assign(axes_.begin(), axes_.begin() + static_cast<std::ptrdiff_t>(inner_));
    lines_ = bytes_ % kLine == 0 && dst_ % kLine == 0;
    for (const Axis& axis : axes_) lines_ = lines_ && axis.dst % kLine == 0;
  }

  std::int64_t items(int) const override { return steps_of(outer_); }

  void run(std::int64_t first, std::int64_t last, int, const Arrays& arrays) const override {
    const bool direct = !arrays.streaming || bytes_ >= kWriterBytes ||
                        (lines_ && reinterpret_cast<std::uintptr_t>(arrays.to) % kLine == 0);
    if (direct) {
      for (std::int64_t i = first; i < last; ++i) {
        const Offsets at = offsets_at(outer_, i);
        walk(inner_, arrays.from + src_ + at.src, arrays.to + dst_ + at.dst,
             [&](const std::byte* from, std::byte* to, const Axis& axis) {
               copy_runs(to, axis.dst, from, axis.src, axis.extent, bytes_, arrays.streaming);
             });
      }
      return;
    }
    LineWriter writer(arrays.scratch, kWriterBytes);
    for (std::int64_t i = first; i < last; ++i) {
      const Offsets at = offsets_at(outer_, i);
      walk(inner_, arrays.from + src_ + at.src, arrays.to + dst_ + at.dst,
           [&](const std::byte* from, std::byte* to, const Axis& axis) {
             collect(writer, from, to, axis);
           });
    }
  }

  std::string describe() const override {
    std::vector<std::string> loops;
    for (const Axis& axis : axes_) {
      loops.push_back(cat(axis.extent, " (", axis.src, " -> ", axis.dst, ")"));
    }
    return cat("runs of ", bytes_, " bytes: ", join(loops, ", "));
  }

 private:
  /// Calls `move` for the last axis at every step of those before it.
  template <typename Move>
  void walk(std::size_t a, const std::byte* from, std::byte* to, const Move& move) const {
    if (a >= axes_.size()) return move(from, to, Axis{1, 0, 0});
    if (a + 1 == axes_.size()) return move(from, to, axes_[a]);
    for (std::int64_t i = 0; i < axes_[a].extent; ++i) {
      walk(a + 1, from, to, move);
      from += axes_[a].src;
      to += axes_[a].dst;
    }
  }

  void collect(LineWriter& writer, const std::byte* from, std::byte* to, const Axis& axis) const {
    const std::int64_t at_once =
        axis.dst == bytes_ ? std::max<std::int64_t>(1, writer.capacity() / bytes_) : 1;
    for (std::int64_t i = 0; i < axis.extent; i += at_once) {
      const std::int64_t runs = std::min(at_once, axis.extent - i);
      std::byte* room = writer.reserve(to + i * axis.dst, runs * bytes_);
      copy_runs(room, bytes_, from + i * axis.src, axis.src, runs, bytes_, false);
    }
  }

  std::int64_t src_, dst_;
  std::vector<Axis> axes_;
  std::int64_t bytes_;
  std::size_t inner_ = 0;
  std::vector<Axis> outer_;
  bool lines_ = false;  ///< every run is whole lines of an aligned destination
};

/// Where a loop that continues the source stands outside loops of many steps, each of its steps
/// touches as many places of the source. Those loops are cut, so that only a few steps of them stay
/// inside; what is left over by a cut goes to `rests`.
void read_side_by_side(FlatNest& nest, std::int64_t bytes, std::vector<FlatNest>& rests) {
  std::size_t next = 0;
  while (next < nest.axes.size() && nest.axes[next].src != bytes) ++next;
  if (next == nest.axes.size()) return;
  std::int64_t inside = 1;
  for (std::size_t a = next + 1; a < nest.axes.size(); ++a) inside *= nest.axes[a].extent;
  if (inside <= kFewStreams) return;
  // From the inside out, keep axes until enough is written side by side.
  const std::int64_t wanted = std::max<std::int64_t>(16, kNear / bytes);
  std::int64_t kept = 1;
  std::size_t from = nest.axes.size();
  while (from > next + 1 && kept * nest.axes[from - 1].extent <= wanted) {
    kept *= nest.axes[--from].extent;
  }
  if (from > next + 1 && wanted / kept >= 2) {
    Split split = split_axis(nest, from - 1, wanted / kept);
    if (split.whole.axes[from - 1].extent > 0) {
      if (split.rest) rests.push_back(*std::move(split.rest));
      nest = std::move(split.whole);
    }
  }
  // Axes (next, from) go outside of `next`.
  const auto begin = nest.axes.begin();
  std::rotate(begin + static_cast<std::ptrdiff_t>(next),
              begin + static_cast<std::ptrdiff_t>(next) + 1,
              begin + static_cast<std::ptrdiff_t>(from));
}

}  // namespace

void add_runs_jobs(FlatNest nest, Jobs& jobs) {
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
    const std::int64_t rest = bytes - pieces * kLongRun;
    if (rest > 0) {
      jobs.push_back(std::make_unique<RunsJob>(nest.src + pieces * kLongRun,
                                               nest.dst + pieces * kLongRun, nest.axes, rest));
    }
    nest.axes.push_back({pieces, kLongRun, kLongRun});
    bytes = kLongRun;
  }
  std::vector<FlatNest> left{std::move(nest)};
  while (!left.empty()) {
    FlatNest part = std::move(left.back());
    left.pop_back();
    read_side_by_side(part, bytes, left);
    jobs.push_back(std::make_unique<RunsJob>(part.src, part.dst, std::move(part.axes), bytes));
  }
}

}  // namespace tessera::relayout
