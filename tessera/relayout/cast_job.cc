// SPDX-License-Identifier: Apache-2.0
#include "tessera/relayout/cast_job.h"

#include <algorithm>
#include <utility>

#include "tessera/base/text.h"

namespace tessera::relayout {
namespace {

constexpr std::int64_t kBlock = std::int64_t{1} << 14;  // elements that are cast at a time
constexpr std::int64_t kTile = 1024;                    // elements of a block-float tile
constexpr std::int64_t kShortRun = 32;                  // elements; shorter runs are packed first
constexpr std::int64_t kInARow = 512;                   // elements of a source row in a block

// Parts of the scratch memory: what the inner jobs use, then the two sides of the cast.
constexpr std::int64_t kBufferBytes = 8 * kBlock;
static_assert(Scratch::kBytes >= Scratch::kJobBytes + 2 * kBufferBytes);

/// The axes of a block, and those outside of it, in elements.
struct Blocked {
  std::int64_t src = 0;
  std::int64_t dst = 0;
  std::vector<Axis> outer;
  std::vector<Axis> inner;
};

/// Takes axes into a block: at most `most` elements of the one with step 1 on `side`.
class Blocking {
 public:
  Blocking(FlatNest nest, std::vector<FlatNest>& rests) : nest_(std::move(nest)), rests_(rests) {}

  /// The axis of the given step that is not taken yet joins, cut where it is too long.
  bool take(std::int64_t Axis::* side, std::int64_t step, std::int64_t most) {
    for (std::size_t a = 0; a < nest_.axes.size(); ++a) {
      if (nest_.axes[a].*side == step) return take(a, most);
    }
    return false;
  }

  /// Whole axes join, those of the smallest steps first, while there is room.
  void fill_up() {
    for (std::size_t a = nest_.axes.size(); a-- > 0;) {
      if (nest_.axes[a].extent <= kBlock / elements_) take(a, nest_.axes[a].extent);
    }
  }

  std::int64_t elements() const { return elements_; }
  Blocked blocked() && { return {nest_.src, nest_.dst, std::move(nest_.axes), std::move(inner_)}; }

 private:
  bool take(std::size_t axis, std::int64_t most) {
    most = std::min(most, kBlock / elements_);
    if (most < 2) return false;
    if (nest_.axes[axis].extent > most) {
      Split split = split_axis(nest_, axis, most);
      if (split.rest) {
        // What is inside already belongs to the part that is left over as well.
        split.rest->axes.insert(split.rest->axes.end(), inner_.begin(), inner_.end());
        rests_.push_back(simplified(*std::move(split.rest)));
      }
      nest_ = std::move(split.whole);
      ++axis;
    }
    inner_.push_back(nest_.axes[axis]);
    elements_ *= nest_.axes[axis].extent;
    nest_.axes.erase(nest_.axes.begin() + static_cast<std::ptrdiff_t>(axis));
    return true;
  }

  FlatNest nest_;
  std::vector<FlatNest>& rests_;
  std::vector<Axis> inner_;
  std::int64_t elements_ = 1;
};

/// The block's loops with one side replaced by a buffer that holds its elements without gaps, in
/// the order of the other side: the one with the largest step first.
std::vector<Axis> compact(std::vector<Axis> axes, std::int64_t Axis::* kept,
                          std::int64_t Axis::* replaced, std::vector<std::int64_t>* steps) {
  std::vector<std::size_t> order(axes.size());
  for (std::size_t a = 0; a < order.size(); ++a) order[a] = a;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return axes[a].*kept != axes[b].*kept ? axes[a].*kept > axes[b].*kept : a < b;
  });
  std::int64_t step = 1;
  steps->assign(axes.size(), 0);
  for (std::size_t i = order.size(); i-- > 0;) {
    Axis& axis = axes[order[i]];
    axis.*replaced = step;
    (*steps)[order[i]] = step;
    step *= axis.extent;
  }
  return axes;
}

std::int64_t bits_of(DType dtype) { return dtype_bits(dtype).value_or(0); }

void run_all(const Jobs& jobs, const Arrays& arrays) {
  for (const auto& job : jobs) job->run(0, job->items(1), 1, arrays);
}

class CastJob final : public Job {
 public:
  CastJob(Blocked block, const Cast& cast, bool streaming)
      : src_(block.src), dst_(block.dst), outer_(std::move(block.outer)), cast_(cast) {
    std::vector<std::int64_t> steps;
    loads_.axes = compact(block.inner, &Axis::src, &Axis::dst, &steps);
    loads_ = simplified(std::move(loads_));
    elements_ = loads_.steps();
    const Axis run = loads_.axes.empty() ? Axis{1, 1, 1} : loads_.axes.back();
    run_ = run.src == 1 && run.dst == 1 ? run.extent : 1;
    packed_ = run_ < kShortRun && bits_of(cast.from()) >= 8;
    if (packed_) {
      add_jobs(loads_, bits_of(cast.from()), false, packing_);
    } else if (run_ > 1) {
      loads_.axes.pop_back();
    }
    FlatNest moves;
    moves.axes = block.inner;
    for (std::size_t a = 0; a < moves.axes.size(); ++a) moves.axes[a].src = steps[a];
    add_jobs(simplified(std::move(moves)), bits_of(cast.to()), streaming, moves_);
  }

  std::int64_t items(int) const override { return steps_of(outer_); }

  void run(std::int64_t first, std::int64_t last, int, const Arrays& arrays) const override {
    std::byte* cast = arrays.scratch + Scratch::kJobBytes;
    std::byte* packed = cast + kBufferBytes;
    const std::int64_t to_bytes = bits_of(cast_.to()) / 8;
    for (std::int64_t i = first; i < last; ++i) {
      const Offsets at = offsets_at(outer_, i);
      load(src_ + at.src, cast, packed, arrays);
      run_all(moves_, {cast, elements_ * to_bytes, arrays.to + (dst_ + at.dst) * to_bytes,
                       arrays.streaming, arrays.scratch, arrays.misfit});
    }
  }

  std::string describe() const override {
    return cat("cast from ", dtype_name(cast_.from()), " to ", dtype_name(cast_.to()), " in ",
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
      if (const auto misfit = cast_.run(packed, 0, cast, 0, elements_)) {
        arrays.report_misfit(src + source_of(*misfit));
      }
      return;
    }
    const std::int64_t runs = loads_.steps();
    for (std::int64_t r = 0; r < runs; ++r) {
      const Offsets at = offsets_at(loads_.axes, r);
      const std::int64_t from = src + loads_.src + at.src;
      if (const auto misfit = cast_.run(arrays.from, from, cast, at.dst, run_)) {
        arrays.report_misfit(from + *misfit);
      }
    }
  }

  /// Where element number n of the packed buffer came from.
  std::int64_t source_of(std::int64_t n) const {
    std::int64_t src = loads_.src;
    for (const Axis& axis : loads_.axes) {
      const std::int64_t digit = n / axis.dst % axis.extent;
      src += digit * axis.src;
    }
    return src;
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

class TileCastJob final : public Job {
 public:
  TileCastJob(Blocked block, const Cast& cast)
      : src_(block.src), dst_(block.dst), outer_(std::move(block.outer)), cast_(cast) {
    FlatNest moves;
    moves.axes = std::move(block.inner);
    elements_ = moves.steps();
    add_jobs(simplified(std::move(moves)), bits_of(cast.from()), false, moves_);
  }

  std::int64_t items(int) const override { return steps_of(outer_); }

  void run(std::int64_t first, std::int64_t last, int, const Arrays& arrays) const override {
    std::byte* moved = arrays.scratch + Scratch::kJobBytes;
    const std::int64_t from_bytes = bits_of(cast_.from()) / 8;
    for (std::int64_t i = first; i < last; ++i) {
      const Offsets at = offsets_at(outer_, i);
      const std::int64_t src = (src_ + at.src) * from_bytes;
      run_all(moves_, {arrays.from + src, arrays.from_bytes - src, moved, false, arrays.scratch,
                       arrays.misfit});
      if (cast_.run(moved, 0, arrays.to, dst_ + at.dst, elements_)) {
        arrays.report_misfit(src_ + at.src);
      }
    }
  }

  std::string describe() const override {
    return cat("cast from ", dtype_name(cast_.from()), " to tiles of ", dtype_name(cast_.to()),
               " in ", steps_of(outer_), " blocks; after ",
               moves_.empty() ? "" : moves_.front()->describe());
  }

 private:
  std::int64_t src_, dst_;
  std::vector<Axis> outer_;
  Cast cast_;
  std::int64_t elements_ = 1;
  Jobs moves_;
};

}  // namespace

void add_cast_jobs(FlatNest nest, const Cast& cast, bool streaming, Jobs& jobs) {
  std::vector<FlatNest> left{std::move(nest)};
  while (!left.empty()) {
    FlatNest part = std::move(left.back());
    left.pop_back();
    Blocking blocking(std::move(part), left);
    const bool run = blocking.take(&Axis::src, 1, kInARow);
    blocking.take(&Axis::dst, 1, run ? kBlock / kInARow : kBlock);
    blocking.fill_up();
    jobs.push_back(std::make_unique<CastJob>(std::move(blocking).blocked(), cast, streaming));
  }
}

bool fills_tiles(const FlatNest& nest, std::int64_t tile) {
  if (nest.dst % tile != 0) return false;
  std::int64_t inside = 1;
  for (std::size_t a = nest.axes.size(); a-- > 0;) {
    const Axis& axis = nest.axes[a];
    if (inside >= tile) {
      if (axis.dst % tile != 0) return false;
      continue;
    }
    if (axis.dst != inside) return false;
    inside *= axis.extent;
    if (inside > tile && inside % tile != 0) return false;
  }
  return inside >= tile;
}

void add_tile_cast_jobs(FlatNest nest, const Cast& cast, Jobs& jobs) {
  // Loops that run through several tiles are cut at their ends.
  for (std::size_t a = nest.axes.size(); a-- > 0;) {
    const Axis axis = nest.axes[a];
    if (axis.dst < kTile && axis.dst * axis.extent > kTile) {
      nest = split_axis(nest, a, kTile / axis.dst).whole;  // leaves nothing over
    }
  }
  Blocked block{nest.src, nest.dst, {}, {}};
  for (const Axis& axis : nest.axes) {
    (axis.dst < kTile ? block.inner : block.outer).push_back(axis);
  }
  jobs.push_back(std::make_unique<TileCastJob>(std::move(block), cast));
}

}  // namespace tessera::relayout
