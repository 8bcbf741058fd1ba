// SPDX-License-Identifier: Apache-2.0
#include "tessera/relayout/casts/cast_job.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/relayout/casts/cast_block.h"

namespace tessera::relayout {
namespace {

constexpr std::int64_t kTile = 1024;          // elements of a block-float tile
constexpr std::int64_t kShortRun = 32;        // elements; shorter runs are packed first
constexpr std::int64_t kLongRun = 512;        // elements; these need no buffer
constexpr std::int64_t kRowBytes = 2048;      // of the source that a block reads contiguously
constexpr std::int64_t kAtOnce = 16 * kTile;  // elements of a long run

// Parts of the scratch memory: first the part for the inner jobs, then the two buffers of the cast.
constexpr std::int64_t kBufferBytes = std::int64_t{1} << 17;
static_assert(Scratch::kBytes >= Scratch::kJobBytes + 2 * kBufferBytes);

constexpr std::memory_order kRelaxed = std::memory_order_relaxed;

std::int64_t bits_of(DType dtype) { return dtype_bits(dtype).value_or(0); }

/// Bytes of an element, 1 if it is smaller than a byte.
std::int64_t bytes_of(DType dtype) { return std::max<std::int64_t>(bits_of(dtype) / 8, 1); }

void run_all(const Jobs& jobs, const Arrays& arrays) {
  for (const auto& job : jobs) job->run(0, job->items(1), 1, arrays);
}

/// Elements in long runs on both sides: cast directly from one to the other.
class RunCastJob final : public Job {
 public:
  RunCastJob(Blocked runs, const Cast& cast)
      : src_(runs.src), dst_(runs.dst), outer_(std::move(runs.outer)), cast_(cast) {
    for (const Axis& axis : runs.inner) run_ *= axis.extent;
  }

  std::int64_t items(int) const override { return steps_of(outer_); }

  void run(std::int64_t first, std::int64_t last, int, const Arrays& arrays) const override {
    for (std::int64_t i = first; i < last && !arrays.misfit->load(kRelaxed); ++i) {
      const Offsets at = offsets_at(outer_, i);
      if (cast_.run(arrays.from, src_ + at.src, arrays.to, dst_ + at.dst, run_, arrays.streaming)) {
        arrays.misfit->store(true, kRelaxed);
      }
    }
  }

  std::string describe() const override {
    return cat("cast_runs: ", dtype_name(cast_.from()), " to ", dtype_name(cast_.to()), " in ",
               steps_of(outer_), " runs of ", run_, " elements");
  }

 private:
  std::int64_t src_, dst_;
  std::vector<Axis> outer_;
  Cast cast_;
  std::int64_t run_ = 1;
};

/// How many elements of a load are contiguous on both sides.
std::int64_t run_of(const FlatNest& loads) {
  if (loads.axes.empty() || loads.axes.back().src != 1 || loads.axes.back().dst != 1) return 1;
  return loads.axes.back().extent;
}

class CastJob final : public Job {
 public:
  CastJob(Blocked block, const Cast& cast, bool streaming)
      : src_(block.src), dst_(block.dst), outer_(std::move(block.outer)), cast_(cast) {
    ThroughSourceOrder through = in_source_order(std::move(block.inner));
    loads_ = std::move(through.loads);
    elements_ = loads_.steps();
    run_ = run_of(loads_);
    packed_ = run_ < kShortRun && bits_of(cast.from()) >= 8;
    if (packed_) {
      add_jobs(loads_, bits_of(cast.from()), false, packing_);
    } else if (run_ > 1) {
      loads_.axes.pop_back();
    }
    add_jobs(through.moves, bits_of(cast.to()), streaming, moves_);
  }

  std::int64_t items(int) const override { return steps_of(outer_); }

  void run(std::int64_t first, std::int64_t last, int, const Arrays& arrays) const override {
    std::byte* cast = arrays.scratch + Scratch::kJobBytes;
    std::byte* packed = cast + kBufferBytes;
    const std::int64_t to_bytes = bits_of(cast_.to()) / 8;
    for (std::int64_t i = first; i < last && !arrays.misfit->load(kRelaxed); ++i) {
      const Offsets at = offsets_at(outer_, i);
      load(src_ + at.src, cast, packed, arrays);
      run_all(moves_, {cast, elements_ * to_bytes, arrays.to + (dst_ + at.dst) * to_bytes,
                       arrays.streaming, arrays.scratch, arrays.misfit});
    }
  }

  std::string describe() const override {
    return cat("cast_blocks: ", dtype_name(cast_.from()), " to ", dtype_name(cast_.to()), " in ",
               steps_of(outer_), " blocks of ", elements_, " elements, runs of ", run_,
               packed_ ? " packed first" : "", "; then ",
               moves_.empty() ? "" : moves_.front()->describe());
  }

 private:
  void load(std::int64_t src, std::byte* cast, std::byte* packed, const Arrays& arrays) const {
    if (packed_) {
      const std::int64_t from_bytes = bits_of(cast_.from()) / 8;
      run_all(packing_, {arrays.from + src * from_bytes, arrays.from_bytes - src * from_bytes,
                         packed, false, arrays.scratch, arrays.misfit});
      if (cast_.run(packed, 0, cast, 0, elements_)) arrays.misfit->store(true, kRelaxed);
      return;
    }
    const std::int64_t runs = loads_.steps();
    for (std::int64_t r = 0; r < runs; ++r) {
      const Offsets at = offsets_at(loads_.axes, r);
      if (cast_.run(arrays.from, src + loads_.src + at.src, cast, at.dst, run_)) {
        arrays.misfit->store(true, kRelaxed);
      }
    }
  }

  std::int64_t src_, dst_;
  std::vector<Axis> outer_;
  Cast cast_;
  FlatNest loads_;  ///< from the source to the buffer; without the run unless packed
  std::int64_t run_ = 1;
  std::int64_t elements_ = 1;
  bool packed_ = false;
  Jobs packing_;
  Jobs moves_;
};

class GroupCastJob final : public Job {
 public:
  GroupCastJob(Blocked block, const Cast& cast)
      : src_(block.src), dst_(block.dst), outer_(std::move(block.outer)), cast_(cast) {
    ThroughDestinationOrder through = in_destination_order(std::move(block.inner));
    add_jobs(through.loads, bits_of(cast.from()), false, moves_);
    stretches_ = std::move(through.stretches);
    stretch_ = through.stretch;
  }

  std::int64_t items(int) const override { return steps_of(outer_); }

  void run(std::int64_t first, std::int64_t last, int, const Arrays& arrays) const override {
    std::byte* moved = arrays.scratch + Scratch::kJobBytes;
    const std::int64_t from_bytes = bits_of(cast_.from()) / 8;
    const std::int64_t stretches = steps_of(stretches_);
    for (std::int64_t i = first; i < last && !arrays.misfit->load(kRelaxed); ++i) {
      const Offsets at = offsets_at(outer_, i);
      const std::int64_t src = (src_ + at.src) * from_bytes;
      run_all(moves_, {arrays.from + src, arrays.from_bytes - src, moved, false, arrays.scratch,
                       arrays.misfit});
      for (std::int64_t s = 0; s < stretches; ++s) {
        const Offsets in = offsets_at(stretches_, s);
        if (cast_.run(moved, in.src, arrays.to, dst_ + at.dst + in.dst, stretch_)) {
          arrays.misfit->store(true, kRelaxed);
        }
      }
    }
  }

  std::string describe() const override {
    return cat("cast_groups: ", dtype_name(cast_.from()), " to ", dtype_name(cast_.to()), " in ",
               steps_of(outer_), " blocks of ", steps_of(stretches_) * stretch_,
               " elements; after ", moves_.empty() ? "" : moves_.front()->describe());
  }

 private:
  std::int64_t src_, dst_;
  std::vector<Axis> outer_;
  Cast cast_;
  std::vector<Axis> stretches_;  ///< of neighbours in the destination; `src` counts in the buffer
  std::int64_t stretch_ = 1;
  Jobs moves_;
};

bool has_long_run(const FlatNest& nest) {
  return std::any_of(nest.axes.begin(), nest.axes.end(), [](const Axis& axis) {
    return axis.src == 1 && axis.dst == 1 && axis.extent >= kLongRun;
  });
}

}  // namespace

void add_cast_jobs(FlatNest nest, const Cast& cast, bool streaming, Jobs& jobs) {
  const std::int64_t room = kBufferBytes / std::max(bytes_of(cast.from()), bytes_of(cast.to()));
  std::vector<FlatNest> left{std::move(nest)};
  while (!left.empty()) {
    FlatNest part = std::move(left.back());
    left.pop_back();
    if (has_long_run(part)) {
      Blocking runs(std::move(part), kAtOnce, left);
      runs.take_run(kAtOnce);
      jobs.push_back(std::make_unique<RunCastJob>(std::move(runs).blocked(), cast));
      continue;
    }
    Blocking blocking(std::move(part), room, left);
    blocking.take_along(&Axis::src, kRowBytes / bytes_of(cast.from()));
    blocking.take_along(&Axis::dst, room);
    blocking.fill_up();
    jobs.push_back(std::make_unique<CastJob>(std::move(blocking).blocked(), cast, streaming));
  }
}

bool fills_groups(const FlatNest& nest, std::int64_t group) {
  if (nest.dst % group != 0) return false;
  std::int64_t inside = 1;
  for (std::size_t a = nest.axes.size(); a-- > 0;) {
    const Axis& axis = nest.axes[a];
    if (inside >= group) {
      if (axis.dst % group != 0) return false;
      continue;
    }
    if (axis.dst != inside) return false;
    inside *= axis.extent;
    // A loop that continues into the next group must end a step at the boundary of the group.
    if (inside > group && (inside % group != 0 || group % axis.dst != 0)) return false;
  }
  return inside >= group;
}

void add_group_cast_jobs(FlatNest nest, const Cast& cast, Jobs& jobs) {
  const std::int64_t room = kBufferBytes / bytes_of(cast.from());
  std::vector<FlatNest> left{std::move(nest)};
  while (!left.empty()) {
    FlatNest part = std::move(left.back());
    left.pop_back();
    Blocking blocking(std::move(part), room, left);
    blocking.take_along(&Axis::dst, kTile);
    blocking.take_along(&Axis::src, kRowBytes / bytes_of(cast.from()));
    blocking.take_along(&Axis::dst, room);
    jobs.push_back(std::make_unique<GroupCastJob>(std::move(blocking).blocked(), cast));
  }
}

}  // namespace tessera::relayout
