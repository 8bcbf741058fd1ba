// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/shares.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/dtype.h"
#include "tessera/base/text.h"
#include "tessera/layout/layout.h"
#include "tessera/layout/regions.h"
#include "tessera/ops/supply.h"
#include "tessera/ops/touched.h"

namespace tessera::ops {
namespace {

constexpr std::size_t kMostBoxes = std::size_t{1} << 16;
constexpr std::size_t kMostPieces = std::size_t{1} << 16;

Error too_many(std::string_view what, std::size_t most) {
  return Error{ErrorCode::kTooLarge, cat("the work is in more than ", most, " ", what),
               std::nullopt, "divide it into larger blocks"};
}

/// The form of a work map, in which each iteration also has a slot on its places. Digits that are
/// nowhere become slots, and so do factors without a fold; `own_slots`: only every factor by
/// itself.
Result<Layout> with_slots(Form form, bool own_slots) {
  std::vector<bool> has_fold(form.shape.rank());
  for (const Fold& fold : form.folds) {
    for (const Term& term : fold.terms) {
      has_fold[static_cast<std::size_t>(term.dim)] = !own_slots;
    }
  }
  for (std::size_t d = 0; d < has_fold.size(); ++d) {
    if (has_fold[d]) continue;
    form.folds.push_back({{Term{static_cast<int>(d), 1}}, 0, {{1, 1, Target::memory(), 1}}});
  }
  Checked stride(1);
  for (std::size_t f = form.folds.size(); f-- > 0;) {
    Fold& fold = form.folds[f];
    const std::vector<std::int64_t> needed = fold.needed(form.shape);
    for (std::size_t k = fold.cuts.size(); k-- > 0;) {
      Cut& cut = fold.cuts[k];
      cut.count = needed[k];
      if (cut.target.is_nothing() && !own_slots) cut.target = Target::memory();
      if (!cut.target.is_memory()) continue;
      TESSERA_TRY(cut.stride, stride.value("a stride"));
      stride *= std::max<std::int64_t>(cut.count, 1);
    }
  }
  LayoutSpec spec;
  spec.form = std::move(form);
  spec.dtype = DType::kI8;
  spec.atom = Atom::scalar(DType::kI8);
  return Layout::make(std::move(spec));
}

/// Joins boxes that are equal but for one dim, in which they touch or overlap.
void join(std::vector<Box>& boxes) {
  if (boxes.size() <= 1) return;
  for (std::size_t d = boxes[0].from.size(); d-- > 0;) {
    const auto others_of = [d](const Box& box) {
      std::vector<std::int64_t> key;
      for (std::size_t e = 0; e < box.from.size(); ++e) {
        if (e != d) key.insert(key.end(), {box.from[e], box.to[e]});
      }
      return key;
    };
    std::map<std::vector<std::int64_t>, std::vector<Box>> groups;
    for (Box& box : boxes) groups[others_of(box)].push_back(std::move(box));
    boxes.clear();
    for (auto& [key, group] : groups) {
      std::ranges::sort(group, {}, [d](const Box& box) { return box.from[d]; });
      std::size_t last = boxes.size();
      for (Box& box : group) {
        if (last < boxes.size() && box.from[d] <= boxes[last].to[d]) {
          boxes[last].to[d] = std::max(boxes[last].to[d], box.to[d]);
        } else {
          last = boxes.size();
          boxes.push_back(std::move(box));
        }
      }
    }
    if (boxes.size() == 1) return;
  }
  // A scalar has no dims to join along.
  if (boxes[0].from.empty()) boxes.resize(1);
}

/// An interval that moves with the place. While it is inside its bounds, or outside, its extent
/// within them does not depend on the place.
struct Moving {
  Range at;
  Range bounds;
  std::vector<std::int64_t> steps;  ///< per loop over places

  /// The bounds of `at` over a range of every loop.
  std::pair<Range, Range> over(const std::vector<Range>& loops) const {
    Range from{at.from, at.from};
    Range to{at.to, at.to};
    for (std::size_t l = 0; l < steps.size(); ++l) {
      const std::int64_t a = steps[l] * loops[l].from;
      const std::int64_t b = steps[l] * (loops[l].to - 1);
      for (Range* range : {&from, &to}) {
        range->from += std::min(a, b);
        range->to += std::max(a, b);
      }
    }
    return {from, to};
  }
  /// Bits: always inside, always before, always after; or it does not move.
  int state(const std::vector<Range>& loops) const {
    const auto [from, to] = over(loops);
    const bool inside = from.from >= bounds.from && to.to <= bounds.to;
    const bool still = from.from == from.to;
    return (inside ? 1 : 0) | (to.to <= bounds.from ? 2 : 0) | (from.from >= bounds.to ? 4 : 0) |
           (still ? 8 : 0);
  }
};

/// Divides places that perform iterations in one pattern by the extents of what they read.
class Sorter {
 public:
  Sorter(const Layout& layout, const Loops& loops, std::vector<TouchedOperand> operands)
      : layout_(layout),
        loops_(loops),
        operands_(std::move(operands)),
        inputs_(loops.inputs.size()) {}

  Status add(const PlaceSet& joined, std::int64_t iterations) {
    const PlaceSet set = by_digits(joined);
    TESSERA_TRY(Tile tile, tile_of(layout_, set.first));
    join(tile.boxes);
    if (tile.boxes.size() > kMostBoxes) return too_many("blocks on a place", kMostBoxes);
    const Index corner = corner_of(tile);
    std::vector<std::vector<std::int64_t>> shifts;
    for (std::size_t l = 0; l < set.loops.size(); ++l) {
      const PlaceLoop& loop = set.loops[l];
      TESSERA_TRY(const Index second, corner_at(set, loop, 1));
      TESSERA_TRY(const Index last, corner_at(set, loop, loop.count - 1));
      shifts.push_back(minus(second, corner));
      for (std::size_t f = 0; f < corner.size(); ++f) {
        if (last[f] - corner[f] == shifts[l][f] * (loop.count - 1)) continue;
        // Digits of several sizes along this loop: its places one by one.
        for (std::int64_t i = 0; i < loop.count; ++i) {
          PlaceSet one = set;
          one.loops.erase(one.loops.begin() + static_cast<std::ptrdiff_t>(l));
          one.first[static_cast<std::size_t>(loop.axis)] += loop.stride * i;
          TESSERA_CHECK_OK(add(one, iterations));
        }
        return ok_status();
      }
    }
    std::vector<Moving> moving;
    for (const TouchedOperand& operand : operands_) {
      for (const Box& box : tile.boxes) watch(operand, box, shifts, moving);
    }
    std::vector<Range> loops;
    for (const PlaceLoop& loop : set.loops) loops.push_back({0, loop.count});
    return divide({set, tile.boxes, shifts, iterations}, moving, std::move(loops));
  }

  void add_idle(const std::vector<PlaceSet>& sets) {
    Share idle;
    idle.places = sets;
    idle.example = sets.front().first;
    idle.inputs.resize(inputs_);
    idle.outputs.resize(operands_.size() - inputs_);
    idle.input_elements.resize(idle.inputs.size());
    idle.output_elements.resize(idle.outputs.size());
    idle.scratch_bytes.resize(loops_.scratch.size());
    shares_.push_back(std::move(idle));
  }

  std::vector<Share> take() && { return std::move(shares_); }

 private:
  struct Pattern {
    const PlaceSet& set;
    const std::vector<Box>& boxes;                         ///< of the first place
    const std::vector<std::vector<std::int64_t>>& shifts;  ///< per loop
    std::int64_t iterations = 0;
  };

  /// The same places, with a loop for each digit: along one loop, iterations move by equal steps.
  PlaceSet by_digits(const PlaceSet& set) const {
    PlaceSet out{set.first, {}};
    for (const PlaceLoop& loop : set.loops) {
      PlaceLoop rest = loop;
      for (const std::int64_t stride : strides_on(loop.axis)) {  // the smallest last
        if (stride % loop.stride != 0) continue;
        const std::int64_t inner = stride / loop.stride;
        if (inner <= 1 || rest.count <= inner || rest.count % inner != 0) continue;
        out.loops.push_back({loop.axis, rest.count / inner, stride});
        rest.count = inner;
      }
      out.loops.push_back(rest);
    }
    return out;
  }

  /// The strides of the digits on a mesh axis, falling.
  std::vector<std::int64_t> strides_on(int axis) const {
    std::vector<std::int64_t> strides;
    for (const Fold& fold : layout_.form().folds) {
      for (const Cut& cut : fold.cuts) {
        if (cut.target == Target::mesh(axis)) strides.push_back(cut.stride);
      }
    }
    for (const Fill& fill : layout_.form().fills) {
      if (fill.axis == axis && fill.count > 1) strides.push_back(fill.stride);
    }
    std::ranges::sort(strides, std::greater<>());
    return strides;
  }

  static Index corner_of(const Tile& tile) {
    Index corner = tile.boxes.front().from;
    for (const Box& box : tile.boxes) {
      for (std::size_t f = 0; f < corner.size(); ++f) corner[f] = std::min(corner[f], box.from[f]);
    }
    return corner;
  }

  Result<Index> corner_at(const PlaceSet& set, const PlaceLoop& loop, std::int64_t step) const {
    Place place = set.first;
    place[static_cast<std::size_t>(loop.axis)] += loop.stride * step;
    TESSERA_TRY(const Tile tile, tile_of(layout_, place));
    return corner_of(tile);
  }

  static void watch(const TouchedOperand& operand, const Box& box,
                    const std::vector<std::vector<std::int64_t>>& shifts,
                    std::vector<Moving>& moving) {
    if (operand.access == nullptr) return;
    const auto add = [&](const DimAccess& dim, const Range& bounds) {
      Moving made{interval_of(dim, box), bounds, {}};
      bool moves = false;
      for (const std::vector<std::int64_t>& shift : shifts) {
        std::int64_t step = 0;
        for (const Term& term : dim.terms) {
          step += term.coef * shift[static_cast<std::size_t>(term.dim)];
        }
        made.steps.push_back(step);
        moves = moves || step != 0;
      }
      if (moves) moving.push_back(std::move(made));
    };
    for (std::size_t f = 0; f < operand.reading.size(); ++f) {
      add(at(static_cast<int>(f)), operand.reading[f]);
    }
    for (std::size_t d = 0; d < operand.access->dims.size(); ++d) {
      if (operand.access->dims[d].terms.size() < 2) continue;
      add(operand.access->dims[d], {0, operand.type->shape[d]});
    }
  }

  /// Divides ranges of the loops until no interval crosses its bounds on the way.
  Status divide(const Pattern& pattern, const std::vector<Moving>& moving,
                std::vector<Range> loops) {
    for (const Moving& interval : moving) {
      if (interval.state(loops) != 0) continue;
      for (std::size_t l = 0; l < loops.size(); ++l) {
        if (interval.steps[l] == 0 || loops[l].to - loops[l].from <= 1) continue;
        return divide_along(pattern, moving, std::move(loops), l, interval);
      }
    }
    return emit(pattern, loops);
  }

  Status divide_along(const Pattern& pattern, const std::vector<Moving>& moving,
                      std::vector<Range> loops, std::size_t l, const Moving& interval) {
    const Range all = loops[l];
    for (std::int64_t from = all.from; from < all.to;) {
      loops[l] = {from, from + 1};
      const int state = interval.state(loops) & 7;
      std::int64_t to = from + 1;
      if (state != 0) {
        // The state of a step holds up to some step, because the interval moves in one direction.
        std::int64_t beyond = all.to;
        while (beyond - to > 0) {
          const std::int64_t middle = to + (beyond - to) / 2;
          loops[l] = {middle, middle + 1};
          ((interval.state(loops) & 7) == state ? to : beyond) =
              (interval.state(loops) & 7) == state ? middle + 1 : middle;
        }
      }
      loops[l] = {from, to};
      TESSERA_CHECK_OK(divide(pattern, moving, loops));
      from = to;
    }
    return ok_status();
  }

  /// The values of the buffer's factors in some box of iterations.
  static std::int64_t scratch_of(const Buffer& buffer, const std::vector<Box>& boxes) {
    std::set<std::vector<std::int64_t>> different;
    Checked elements(0);
    for (const Box& box : boxes) {
      std::vector<std::int64_t> range;
      Checked here(1);
      for (const int factor : buffer.factors) {
        const auto f = static_cast<std::size_t>(factor);
        range.insert(range.end(), {box.from[f], box.to[f]});
        here *= box.to[f] - box.from[f];
      }
      if (different.insert(std::move(range)).second) elements += here;
    }
    return dtype_bytes(buffer.dtype, elements.saturated()).value_or(INT64_MAX);
  }

  Status emit(const Pattern& pattern, const std::vector<Range>& loops) {
    if (++pieces_ > kMostPieces) return too_many("pieces", kMostPieces);
    PlaceSet places{pattern.set.first, {}};
    Index shift(layout_.shape().rank(), 0);
    for (std::size_t l = 0; l < loops.size(); ++l) {
      const PlaceLoop& loop = pattern.set.loops[l];
      places.first[static_cast<std::size_t>(loop.axis)] += loop.stride * loops[l].from;
      places.loops.push_back({loop.axis, loops[l].to - loops[l].from, loop.stride});
      for (std::size_t f = 0; f < shift.size(); ++f) {
        shift[f] += pattern.shifts[l][f] * loops[l].from;
      }
    }
    places.simplify();
    Share share;
    share.iterations = pattern.iterations;
    share.example = places.first;
    std::vector<std::int64_t> key = {pattern.iterations};
    for (std::size_t o = 0; o < operands_.size(); ++o) {
      const TouchedOperand& operand = operands_[o];
      std::vector<Box> touched;
      Checked elements(0);
      for (std::size_t b = 0; operand.access != nullptr && b < pattern.boxes.size(); ++b) {
        const Box box{plus(pattern.boxes[b].from, shift), plus(pattern.boxes[b].to, shift)};
        if (std::optional<Touched> made = operand.touched(box)) {
          touched.push_back(std::move(made->box));
          elements += made->elements;
        }
      }
      // Boxes of several boxes of iterations may share elements; their union then is what counts.
      const bool is_one = touched.size() <= 1;
      join(touched);
      if (!is_one) elements = Checked(0);
      key.push_back(static_cast<std::int64_t>(touched.size()));
      for (const Box& box : touched) {
        for (std::size_t d = 0; d < box.from.size(); ++d) key.push_back(box.to[d] - box.from[d]);
        if (!is_one) elements += box.elements();
      }
      key.push_back(elements.saturated());
      (o < inputs_ ? share.input_elements : share.output_elements).push_back(elements.saturated());
      if (operand.access != nullptr) {
        std::int64_t& bytes = o < inputs_ ? share.read_bytes : share.made_bytes;
        const auto more = dtype_bytes(operand.type->dtype, elements.saturated());
        bytes = (Checked(bytes) + more.value_or(INT64_MAX)).saturated();
      }
      (o < inputs_ ? share.inputs : share.outputs).push_back(std::move(touched));
    }
    for (const Buffer& buffer : loops_.scratch) {
      share.scratch_bytes.push_back(scratch_of(buffer, pattern.boxes));
      key.push_back(share.scratch_bytes.back());
    }
    const auto [found, is_new] = known_.try_emplace(std::move(key), shares_.size());
    if (is_new) shares_.push_back(std::move(share));
    shares_[found->second].places.push_back(std::move(places));
    return ok_status();
  }

  const Layout& layout_;
  const Loops& loops_;
  std::vector<TouchedOperand> operands_;  ///< inputs, then outputs
  std::size_t inputs_;
  std::vector<Share> shares_;
  std::map<std::vector<std::int64_t>, std::size_t> known_;  ///< by work and extents
  std::size_t pieces_ = 0;
};

}  // namespace

std::int64_t Share::count() const {
  std::int64_t sum = 0;
  for (const PlaceSet& set : places) sum += set.count();
  return sum;
}

Result<Layout> iterations_layout(const WorkMap& work) {
  Result<Layout> layout = with_slots(work.form(), false);
  // The digits of a fold over several factors may not tell them apart.
  return layout ? std::move(layout) : with_slots(work.form(), true);
}

Result<std::vector<Share>> shares_of(const graph::Call& call, const graph::Types& outputs,
                                     const Loops& loops, const WorkMap& work) {
  std::vector<TouchedOperand> operands;
  for (std::size_t i = 0; i < loops.inputs.size(); ++i) {
    operands.emplace_back();
    if (!loops.inputs[i]) continue;
    const graph::TensorType& type = call.type(i);
    operands.back() = {&*loops.inputs[i], &type,
                       reading_ranges(loops, *loops.inputs[i], type.shape)};
  }
  for (std::size_t o = 0; o < loops.outputs.size(); ++o) {
    const graph::TensorType& type = outputs[o];
    operands.push_back(
        {&loops.outputs[o], &type, reading_ranges(loops, loops.outputs[o], type.shape)});
  }
  TESSERA_TRY(const Layout layout, iterations_layout(work));
  TESSERA_TRY(const std::vector<PlaceClass> classes, place_classes(layout));
  Sorter sorter(layout, loops, std::move(operands));
  for (const PlaceClass& each : classes) {
    if (each.elements == 0) {
      sorter.add_idle(each.sets);
      continue;
    }
    for (const PlaceSet& set : each.sets) TESSERA_CHECK_OK(sorter.add(set, each.elements));
  }
  std::vector<Share> shares = std::move(sorter).take();
  const std::int64_t flops = graph::flops_of(call, outputs);
  const std::int64_t all = layout.shape().elements();
  for (Share& share : shares) {
    if (all == 0) break;
    share.flops = static_cast<std::int64_t>(static_cast<__int128>(flops) * share.iterations / all);
  }
  return shares;
}

}  // namespace tessera::ops
