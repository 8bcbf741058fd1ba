// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/work.h"
#include "tessera/layout/algebra/compare_pair.h"
#include "tessera/layout/algebra/replicas.h"
#include "tessera/layout/placement.h"

namespace tessera {
namespace {

constexpr std::int64_t kMaxHistogram = std::int64_t{1} << 22;
constexpr std::int64_t kStepsPerEntry = 4;  // entries are sorted

/// The number of elements for each difference of positions, in increasing order of differences.
using Histogram = std::vector<std::pair<Position, std::int64_t>>;

Error too_many_differences() {
  return Error{ErrorCode::kTooLarge,
               cat("counting what moves would take more than ", kMaxHistogram, " steps")};
}

/// The loops of a piece along which the difference changes, and the number of elements in all other
/// loops.
struct Changing {
  std::vector<std::pair<std::int64_t, Position>> loops;  // extent, change; longest last
  std::int64_t alike = 1;
  explicit Changing(const Piece& piece) {
    for (const Loop& loop : piece.loops) {
      if (difference(loop.move).is_zero()) {
        alike *= loop.extent;
      } else {
        loops.emplace_back(loop.extent, difference(loop.move));
      }
    }
    std::sort(loops.begin(), loops.end());
  }
  /// The number of combinations of all loops except the last `solved` ones.
  std::int64_t values(std::size_t solved) const {
    Checked product = 1;
    for (std::size_t l = 0; l + solved < loops.size(); ++l) product *= loops[l].first;
    return product.saturated();
  }
};

std::int64_t work_of(const Factor& factor, std::size_t solved) {
  Checked work = 0;
  for (const Piece& piece : factor.pieces) work += Changing(piece).values(solved);
  return work.saturated();
}

void merge_equal(Histogram& histogram) {
  std::sort(histogram.begin(), histogram.end());
  std::size_t kept = 0;
  for (std::size_t i = 1; i < histogram.size(); ++i) {
    if (histogram[i].first == histogram[kept].first) {
      histogram[kept].second += histogram[i].second;
    } else {
      histogram[++kept] = histogram[i];
    }
  }
  if (!histogram.empty()) histogram.resize(kept + 1);
}

Result<Histogram> histogram_of(const Factor& factor) {
  const std::int64_t entries = work_of(factor, 0);
  if (entries > kMaxHistogram) return too_many_differences();
  if (!Work::reserve(kStepsPerEntry * entries)) return Work::too_large("counting what moves");
  Histogram histogram;
  for (const Piece& piece : factor.pieces) {
    const Changing changing(piece);
    const std::size_t first = histogram.size();
    histogram.emplace_back(difference(piece.at), changing.alike);
    for (const auto& [extent, change] : changing.loops) {
      const std::size_t end = histogram.size();
      for (std::int64_t i = 1; i < extent; ++i) {
        for (std::size_t v = first; v < end; ++v) {
          histogram.emplace_back(histogram[v].first + change * i, changing.alike);
        }
      }
    }
  }
  merge_equal(histogram);
  return histogram;
}

/// How often each difference occurs over the given factors: the convolution of their histograms.
Result<Histogram> convolve(Position base, const std::vector<const Factor*>& factors) {
  Histogram total = {{base, 1}};
  for (const Factor* factor : factors) {
    TESSERA_TRY(const Histogram histogram, histogram_of(*factor));
    if ((Checked(static_cast<std::int64_t>(total.size())) *
         static_cast<std::int64_t>(histogram.size()))
            .saturated() > kMaxHistogram) {
      return too_many_differences();
    }
    if (!Work::reserve(kStepsPerEntry * std::ssize(total) * std::ssize(histogram))) {
      return Work::too_large("counting what moves");
    }
    Histogram next;
    next.reserve(total.size() * histogram.size());
    for (const auto& [x, count_x] : total) {
      for (const auto& [y, count_y] : histogram) next.emplace_back(x + y, count_x * count_y);
    }
    merge_equal(next);
    total = std::move(next);
  }
  return total;
}

/// The number of settings of the loops from l on that bring `at` to zero. The last loop is solved,
/// not iterated.
std::int64_t count_zeros(const Changing& changing, std::size_t l, Position at) {
  if (l == changing.loops.size()) return at.is_zero() ? 1 : 0;
  const auto& [extent, change] = changing.loops[l];
  if (l + 1 < changing.loops.size()) {
    std::int64_t zeros = 0;
    for (std::int64_t i = 0; i < extent; ++i) {
      zeros += count_zeros(changing, l + 1, at + change * i);
    }
    return zeros;
  }
  const std::int64_t part = change.slot != 0 ? change.slot : change.place;
  const std::int64_t rest = change.slot != 0 ? at.slot : at.place;
  // Differences of positions fit an int64, so i = -rest / part is exact if it lies in the loop.
  if (rest == INT64_MIN || rest % part != 0) return 0;
  const std::int64_t i = -rest / part;
  return i >= 0 && i < extent && (at + change * i).is_zero() ? 1 : 0;
}

/// The number of elements without a difference. For each combined difference of all factors except
/// the one with the most work, it counts how often that factor cancels the difference.
Result<std::int64_t> count_alike(const Refinement& refinement) {
  std::vector<const Factor*> factors;
  for (const Factor& factor : refinement.factors()) factors.push_back(&factor);
  if (factors.empty()) return difference(refinement.base()).is_zero() ? 1 : 0;
  std::sort(factors.begin(), factors.end(),
            [](const Factor* a, const Factor* b) { return work_of(*a, 0) < work_of(*b, 0); });
  const Factor& last = *factors.back();
  factors.pop_back();
  TESSERA_TRY(const Histogram rest, convolve(difference(refinement.base()), factors));
  if ((Checked(static_cast<std::int64_t>(rest.size())) * work_of(last, 1)).saturated() >
      kMaxHistogram) {
    return too_many_differences();
  }
  std::int64_t alike = 0;
  for (const Piece& piece : last.pieces) {
    const Changing changing(piece);
    for (const auto& [value, count] : rest) {
      alike += count * changing.alike * count_zeros(changing, 0, difference(piece.at) + value);
    }
  }
  return alike;
}

/// The smallest and the largest difference over all elements of what only one axis numbers. Both
/// occur.
struct Extremes {
  Position least;
  Position most;
};

Extremes extremes_of(const Refinement& refinement) {
  Position first = difference(refinement.base());
  for (const Factor& factor : refinement.factors()) first += difference(factor.pieces[0].at);
  Extremes all{first, first};
  // Dims of different factors are independent. What a piece adds is relative to the first one, so
  // that it is the difference of two that occur.
  for (const Factor& factor : refinement.factors()) {
    Extremes of_factor;
    for (const Piece& piece : factor.pieces) {
      const Position at = difference(piece.at) - difference(factor.pieces[0].at);
      Extremes of_piece{at, at};
      for (const Loop& loop : piece.loops) {
        const Position end = difference(loop.move) * (loop.extent - 1);
        (end < Position{} ? of_piece.least : of_piece.most) += end;
      }
      of_factor.least = std::min(of_factor.least, of_piece.least);
      of_factor.most = std::max(of_factor.most, of_piece.most);
    }
    all.least += of_factor.least;
    all.most += of_factor.most;
  }
  return all;
}

/// Whether all of `want`, shifted by `shift`, is in `have`.
bool contains_shifted(const OffsetSet& have, const OffsetSet& want, std::int64_t shift) {
  for (std::int64_t i = 0; i < want.size(); ++i) {
    if (!have.contains(shift + want.at(i))) return false;
  }
  return true;
}

/// The coordinate on one mesh axis, as a form on a mesh that has only this axis.
Form only_axis(const Form& form, int axis) {
  Form line = form;
  line.mesh = *Shape::make({form.mesh[static_cast<std::size_t>(axis)]});
  line.offset = 0;
  line.fills.clear();
  for (const Fill& fill : form.fills) {
    if (fill.axis == axis && fill.kind == Fill::Kind::kFixed) {
      line.fills.push_back(Fill::fixed(0, fill.value));
    }
  }
  for (Fold& fold : line.folds) {
    for (Cut& cut : fold.cuts) {
      const bool here = cut.target.is_mesh() && cut.target.axis() == axis;
      cut.target = here ? Target::mesh(0) : Target::nothing();
    }
  }
  return line;
}

}  // namespace

Result<std::int64_t> moved_elements(const Form& a, const Form& b) {
  TESSERA_TRY(Pair pair, number_alike(a, b));
  if (a.shape.empty()) return 0;
  if (!same_replicas(a, b)) return a.shape.elements();
  cancel_common(pair);
  TESSERA_TRY(const Refinement refinement, refine(pair.a, pair.b));
  TESSERA_TRY(const std::int64_t alike, count_alike(refinement));
  return a.shape.elements() - alike;
}

Result<bool> compatible_without_movement(const Form& from, const Form& to) {
  TESSERA_TRY(const Pair pair, number_alike(from, to));
  if (from.shape.empty()) return true;
  if (!same_partials(from, to)) return false;
  if (from.mesh.rank() != to.mesh.rank()) return true;  // both are one place
  for (int axis = 0; axis < static_cast<int>(from.mesh.rank()); ++axis) {
    const OffsetSet have = all_offsets(from.fills, axis);
    const OffsetSet want = all_offsets(to.fills, axis);
    TESSERA_TRY(Pair lines, number_alike(only_axis(to, axis), only_axis(from, axis)));
    cancel_common(lines);
    TESSERA_TRY(const Refinement refinement, refine(lines.a, lines.b));
    // Mostly the smallest and the largest shift decide for all between.
    const auto [least, most] = extremes_of(refinement);
    if (!contains_shifted(have, want, least.place)) return false;
    if (!contains_shifted(have, want, most.place)) return false;
    const bool has_all_between = have.offsets.empty() && have.stride == 1;
    if (has_all_between || least == most) continue;
    std::vector<const Factor*> factors;
    for (const Factor& factor : refinement.factors()) factors.push_back(&factor);
    TESSERA_TRY(const Histogram shifts, convolve(difference(refinement.base()), factors));
    for (const auto& [shift, count] : shifts) {
      if (!contains_shifted(have, want, shift.place)) return false;
    }
  }
  return true;
}

}  // namespace tessera
