// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/relayout/jobs/job.h"
#include "tessera/relayout/kernels/permute.h"

namespace tessera::relayout {
namespace {

/// The smallest piece that both kinds of jobs move, so that a kernel call is worthwhile.
constexpr std::int64_t kLeastBytes = 256;

/// Outer loops around one long line that is cut into items. Consecutive items are moved together.
struct Lines {
  std::int64_t src = 0;
  std::int64_t dst = 0;
  std::vector<Axis> outer;
  std::int64_t steps = 1;    ///< of the line
  std::int64_t at_once = 1;  ///< steps of an item; whole lines of an aligned destination

  std::int64_t items_of_line() const { return (steps + at_once - 1) / at_once; }
  std::int64_t items() const { return steps_of(outer) * items_of_line(); }

  /// Calls move(offsets of the line, first step, steps) for items [first, last).
  template <typename Move>
  void each(std::int64_t first, std::int64_t last, const Move& move) const {
    while (first < last) {
      const std::int64_t line = first / items_of_line();
      const std::int64_t end = std::min(last, (line + 1) * items_of_line());
      const std::int64_t from = first % items_of_line() * at_once;
      const std::int64_t to = std::min(steps, (end - line * items_of_line()) * at_once);
      const Offsets at = offsets_at(outer, line);
      move(Offsets{src + at.src, dst + at.dst}, from, to - from);
      first = end;
    }
  }
};

std::string loops_text(const std::vector<Axis>& axes) {
  std::vector<std::string> loops;
  for (const Axis& axis : axes) {
    loops.push_back(cat(axis.extent, " (", axis.src, " -> ", axis.dst, ")"));
  }
  return join(loops, ", ");
}

/// Whether the axes, in any order, step densely through one block on the given side.
bool is_dense(std::vector<Axis> axes, std::int64_t width, std::int64_t Axis::* side) {
  std::sort(axes.begin(), axes.end(),
            [&](const Axis& a, const Axis& b) { return a.*side < b.*side; });
  for (const Axis& axis : axes) {
    if (axis.*side != width) return false;
    width *= axis.extent;
  }
  return true;
}

class PermuteJob final : public Job {
 public:
  PermuteJob(Lines lines, BlockPermutation permutation)
      : lines_(std::move(lines)), permutation_(std::move(permutation)) {}

  std::int64_t items(int) const override { return lines_.items(); }

  void run(std::int64_t first, std::int64_t last, int, const Arrays& arrays) const override {
    const std::int64_t bytes = permutation_.block_bytes();
    lines_.each(first, last, [&](const Offsets& at, std::int64_t block, std::int64_t blocks) {
      permutation_.run(arrays.from + at.src + block * bytes, arrays.to + at.dst + block * bytes,
                       blocks, arrays.streaming);
    });
  }

  std::string describe() const override {
    return cat("permute_blocks: ", permutation_.block_bytes(), " bytes, ", lines_.steps,
               " in a row", lines_.outer.empty() ? "" : "; ", loops_text(lines_.outer));
  }

 private:
  Lines lines_;
  BlockPermutation permutation_;
};

/// Streams that are `apart` bytes from each other on their side.
class InterleaveJob final : public Job {
 public:
  InterleaveJob(Lines lines, int streams, int width, std::int64_t apart, bool back)
      : lines_(std::move(lines)), streams_(streams), width_(width), apart_(apart), back_(back) {}

  std::int64_t items(int) const override { return lines_.items(); }

  void run(std::int64_t first, std::int64_t last, int, const Arrays& arrays) const override {
    lines_.each(first, last, [&](const Offsets& at, std::int64_t step, std::int64_t steps) {
      const std::int64_t alone = step * width_;
      const std::int64_t together = alone * streams_;
      const std::byte* from = arrays.from + at.src + (back_ ? together : alone);
      std::byte* to = arrays.to + at.dst + (back_ ? alone : together);
      if (back_) {
        std::array<std::byte*, 4> streams{};
        for (int j = 0; j < streams_; ++j) streams[static_cast<std::size_t>(j)] = to + j * apart_;
        deinterleave(from, streams_, streams.data(), steps, width_, arrays.streaming);
      } else {
        std::array<const std::byte*, 4> streams{};
        for (int j = 0; j < streams_; ++j) streams[static_cast<std::size_t>(j)] = from + j * apart_;
        interleave(streams.data(), streams_, to, steps, width_, arrays.streaming);
      }
    });
  }

  std::string describe() const override {
    return cat(back_ ? "deinterleave: " : "interleave: ", streams_, " streams of ", lines_.steps,
               " elements of ", width_, " bytes", lines_.outer.empty() ? "" : "; ",
               loops_text(lines_.outer));
  }

 private:
  Lines lines_;
  int streams_;
  int width_;
  std::int64_t apart_;
  bool back_;
};

bool is_element(std::int64_t width) { return width == 1 || width == 2 || width == 4 || width == 8; }

}  // namespace

std::unique_ptr<const Job> make_permute_job(const FlatNest& nest) {
  if (!is_element(nest.width)) return nullptr;
  // The smallest number of fastest axes that form a block.
  std::vector<Axis> inside;
  Lines lines{nest.src, nest.dst, nest.axes};
  std::int64_t bytes = nest.width;
  do {
    if (lines.outer.empty() || bytes > BlockPermutation::kMaxBytes) return nullptr;
    inside.push_back(lines.outer.back());
    lines.outer.pop_back();
    bytes *= inside.back().extent;
    if (bytes > BlockPermutation::kMaxBytes) return nullptr;
  } while (inside.size() < 2 || !is_dense(inside, nest.width, &Axis::dst) ||
           !is_dense(inside, nest.width, &Axis::src));
  std::vector<std::uint16_t> source_of(static_cast<std::size_t>(bytes / nest.width));
  std::reverse(inside.begin(), inside.end());
  for (std::size_t i = 0; i < source_of.size(); ++i) {
    const Offsets at = offsets_at(inside, static_cast<std::int64_t>(i));
    source_of[static_cast<std::size_t>(at.dst / nest.width)] =
        static_cast<std::uint16_t>(at.src / nest.width);
  }
  if (!lines.outer.empty() && lines.outer.back().src == bytes && lines.outer.back().dst == bytes) {
    lines.steps = lines.outer.back().extent;
    lines.outer.pop_back();
  }
  if (lines.steps * bytes < kLeastBytes) return nullptr;
  lines.at_once = 64 * std::max<std::int64_t>(1, 256 / bytes);
  std::optional<BlockPermutation> permutation =
      BlockPermutation::make(std::move(source_of), static_cast<int>(nest.width));
  if (!permutation) return nullptr;
  return std::make_unique<PermuteJob>(std::move(lines), *std::move(permutation));
}

std::unique_ptr<const Job> make_interleave_job(const FlatNest& nest) {
  if (!is_element(nest.width) || nest.axes.size() < 2) return nullptr;
  // A stream steps by one width on its own side, and by the width of all streams on the other.
  for (const bool back : {false, true}) {
    const auto alone = back ? &Axis::dst : &Axis::src;
    const auto together = back ? &Axis::src : &Axis::dst;
    const auto streams = std::find_if(nest.axes.begin(), nest.axes.end(), [&](const Axis& axis) {
      return (axis.*together) == nest.width && (axis.*alone) != nest.width && axis.extent <= 4;
    });
    if (streams == nest.axes.end()) continue;
    const auto line = std::find_if(nest.axes.begin(), nest.axes.end(), [&](const Axis& axis) {
      return (axis.*together) == streams->extent * nest.width && (axis.*alone) == nest.width;
    });
    if (line == nest.axes.end() || line->extent * nest.width < kLeastBytes) continue;
    Lines lines{nest.src, nest.dst, {}, line->extent, 8192};
    for (const Axis& axis : nest.axes) {
      if (axis != *streams && axis != *line) lines.outer.push_back(axis);
    }
    return std::make_unique<InterleaveJob>(std::move(lines), static_cast<int>(streams->extent),
                                           static_cast<int>(nest.width), (*streams).*alone, back);
  }
  return nullptr;
}

}  // namespace tessera::relayout
