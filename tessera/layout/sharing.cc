// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/sharing.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/work.h"
#include "tessera/layout/algebra/mesh_digits.h"
#include "tessera/layout/algebra/slice.h"
#include "tessera/layout/form.h"
#include "tessera/layout/placement.h"

namespace tessera {
namespace {

using Wide = __int128;

constexpr std::size_t kMaxRuns = std::size_t{1} << 22;

/// The numbers 0, stride, .., (count - 1)·stride.
struct Progression {
  std::int64_t stride = 1;
  std::int64_t count = 1;
};

/// Disjoint runs [from, to) in increasing order, with a gap between neighbours.
using Runs = std::vector<std::pair<std::int64_t, std::int64_t>>;

Error too_many_runs() {
  return Error{ErrorCode::kTooLarge,
               cat("the slots in use are more than ", kMaxRuns, " separate runs"), std::nullopt,
               "use strides that nest: each a multiple of what is below it"};
}

void append(Runs& runs, std::pair<std::int64_t, std::int64_t> run) {
  if (!runs.empty() && run.first <= runs.back().second) {
    runs.back().second = std::max(runs.back().second, run.second);
  } else {
    runs.push_back(run);
  }
}

/// The union of `a` and `b` moved by `shift`.
Result<Runs> unite(const Runs& a, const Runs& b, std::int64_t shift) {
  if (!Work::spend(static_cast<std::int64_t>(a.size() + b.size()))) {
    return Work::too_large("counting the slots in use");
  }
  Runs both;
  both.reserve(std::min(a.size() + b.size(), kMaxRuns + 1));
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() || j < b.size()) {
    if (both.size() > kMaxRuns) return too_many_runs();
    if (j == b.size() || (i < a.size() && a[i].first <= b[j].first + shift)) {
      append(both, a[i++]);
    } else {
      append(both, {b[j].first + shift, b[j].second + shift});
      ++j;
    }
  }
  return both;
}

/// All sums of a number of `runs` and a number of the progression, by doubling.
Result<Runs> add(const Runs& runs, const Progression& progression) {
  Runs sum = runs;
  std::int64_t done = 1;
  int bit = 62;
  while (bit >= 0 && (progression.count >> bit) == 0) --bit;
  for (--bit; bit >= 0; --bit) {
    TESSERA_TRY(sum, unite(sum, sum, done * progression.stride));
    done *= 2;
    if (((progression.count >> bit) & 1) == 0) continue;
    TESSERA_TRY(sum, unite(sum, runs, done * progression.stride));
    ++done;
  }
  return sum;
}

/// A set of numbers from 0 on: one progression, or runs.
struct Part {
  std::int64_t divisor = 0;  ///< of all its numbers
  Wide reach = 0;            ///< its largest number
  Progression progression;
  Runs runs;  ///< only where it is no progression
};

/// The number of different sums of one number of each part.
class SumSet {
 public:
  /// Adds {0, .., count - 1}·stride; the sign of the stride does not change the number of sums.
  void add_progression(std::int64_t stride, std::int64_t count) {
    if (stride == 0 || count <= 1) return;
    stride = std::abs(stride);
    parts_.push_back({stride, Wide(stride) * (count - 1), {stride, count}, {}});
  }

  void add_runs(Runs runs) {
    Part part;
    const std::int64_t base = runs.front().first;
    for (auto& [from, to] : runs) {
      from -= base;
      to -= base;
      part.divisor = std::gcd(part.divisor, from);
      if (to - from > 1) part.divisor = 1;
    }
    if (part.divisor == 0) return;  // a single number
    part.reach = runs.back().second - 1;
    part.runs = std::move(runs);
    parts_.push_back(std::move(part));
  }

  Result<std::int64_t> count() {
    join();
    std::sort(parts_.begin(), parts_.end(),
              [](const Part& a, const Part& b) { return a.divisor < b.divisor; });
    // Parts whose common divisor exceeds what the smaller ones reach together do not meet them.
    std::vector<std::int64_t> divisors(parts_.size() + 1, 0);
    for (std::size_t i = parts_.size(); i-- > 0;) {
      divisors[i] = std::gcd(divisors[i + 1], parts_[i].divisor);
    }
    Checked product = 1;
    Wide reach = 0;
    std::size_t first = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      reach += parts_[i].reach;
      if (i + 1 < parts_.size() && divisors[i + 1] <= reach) continue;
      TESSERA_TRY(const std::int64_t here, count_group(first, i + 1));
      product *= here;
      first = i + 1;
      reach = 0;  // the next group is divisible by more than all of this one reaches
    }
    return product.value("the number of slots in use");
  }

 private:
  /// Joins progressions that overlap or continue each other: {0 .. n-1}·s and {0 .. m-1}·(k·s) are
  /// {0 .. n-1 + k·(m-1)}·s for k <= n.
  void join() {
    for (bool joined = true; joined;) {
      joined = false;
      for (std::size_t i = 0; i < parts_.size() && !joined; ++i) {
        for (std::size_t j = 0; j < parts_.size() && !joined; ++j) {
          if (i == j || !parts_[i].runs.empty() || !parts_[j].runs.empty()) continue;
          Progression& fine = parts_[i].progression;
          const Progression& coarse = parts_[j].progression;
          if (coarse.stride % fine.stride != 0) continue;
          const std::int64_t times = coarse.stride / fine.stride;
          if (times > fine.count) continue;
          fine.count += times * (coarse.count - 1);
          parts_[i].reach += parts_[j].reach;
          parts_.erase(parts_.begin() + static_cast<std::ptrdiff_t>(j));
          joined = true;
        }
      }
    }
  }

  Result<std::int64_t> count_group(std::size_t first, std::size_t last) const {
    const Part& one = parts_[first];
    if (last - first == 1) {
      if (one.runs.empty()) return one.progression.count;
      return total(one.runs);
    }
    const Part& two = parts_[first + 1];
    if (last - first == 2 && one.runs.empty() && two.runs.empty()) return count_two(one, two);
    std::int64_t divisor = 0;
    Wide reach = 0;
    for (std::size_t i = first; i < last; ++i) {
      divisor = std::gcd(divisor, parts_[i].divisor);
      reach += parts_[i].reach;
    }
    if (reach > INT64_MAX / 2) return too_many_runs();
    Runs sums = {{0, 1}};
    for (std::size_t i = first; i < last; ++i) {
      const Part& part = parts_[i];
      if (part.runs.empty()) {
        TESSERA_TRY(sums, add(sums, {part.progression.stride / divisor, part.progression.count}));
        continue;
      }
      Runs more;
      if (i == first) {  // nothing to add to
        for (const auto& [from, to] : part.runs) {
          append(more, {from / divisor, (to - 1) / divisor + 1});
        }
        sums = std::move(more);
        continue;
      }
      for (const auto& [from, to] : part.runs) {
        Runs moved = {{from / divisor, from / divisor + 1}};
        if (to - from > 1) moved = {{from, to}};  // then the divisor is 1
        TESSERA_TRY(moved, widened(sums, moved.front()));
        TESSERA_TRY(more, unite(more, moved, 0));
      }
      sums = std::move(more);
    }
    return total(sums);
  }

  /// All sums of a number of `runs` and one in [range.first, range.second).
  static Result<Runs> widened(const Runs& runs, std::pair<std::int64_t, std::int64_t> range) {
    if (!Work::spend(static_cast<std::int64_t>(runs.size()))) {
      return Work::too_large("counting the slots in use");
    }
    Runs sums;
    sums.reserve(runs.size());
    for (const auto& [from, to] : runs) {
      append(sums, {from + range.first, to + range.second - 1});
    }
    return sums;
  }

  /// a·x + b·y with x < n and y < m, for a and b without common divisor: exactly the pairs (x, y)
  /// and (x + b, y - a) are equal, and (n - b)·(m - a) of them fit.
  static Result<std::int64_t> count_two(const Part& one, const Part& two) {
    const std::int64_t divisor = std::gcd(one.progression.stride, two.progression.stride);
    const std::int64_t a = one.progression.stride / divisor;
    const std::int64_t b = two.progression.stride / divisor;
    const std::int64_t n = one.progression.count;
    const std::int64_t m = two.progression.count;
    const Checked all = Checked(n) * m;
    const Checked twice =
        Checked(std::max<std::int64_t>(0, n - b)) * std::max<std::int64_t>(0, m - a);
    return (all - twice).value("the number of slots in use");
  }

  static std::int64_t total(const Runs& runs) {
    std::int64_t sum = 0;
    for (const auto& [from, to] : runs) sum += to - from;
    return sum;
  }

  std::vector<Part> parts_;
};

/// Places and slots as one number: place·slots + slot.
struct Key {
  std::int64_t slots;
  std::int64_t operator()(const Position& position) const {
    return (Position{0, position.place} * slots + Position{0, position.slot}).slot;
  }
};

/// The numbers that the pieces of a factor reach, from its smallest one on.
Result<Runs> runs_of(const Factor& factor, const Key& key) {
  std::vector<Runs> sets;
  for (const Piece& piece : factor.pieces) {
    std::int64_t at = key(piece.at.a - factor.pieces[0].at.a);
    std::vector<Progression> loops;
    for (const Loop& loop : piece.loops) {
      std::int64_t stride = key(loop.move.a);
      if (stride < 0) {
        at += stride * (loop.extent - 1);
        stride = -stride;
      }
      if (stride > 0 && loop.extent > 1) loops.push_back({stride, loop.extent});
    }
    std::sort(loops.begin(), loops.end(),
              [](const Progression& a, const Progression& b) { return a.stride < b.stride; });
    Runs runs = {{at, at + 1}};
    for (const Progression& loop : loops) {
      TESSERA_TRY(runs, add(runs, loop));
    }
    sets.push_back(std::move(runs));
  }
  while (sets.size() > 1) {  // pairs of neighbours, so that every run is copied a few times only
    std::vector<Runs> half;
    for (std::size_t i = 0; i < sets.size(); i += 2) {
      if (i + 1 == sets.size()) {
        half.push_back(std::move(sets[i]));
        continue;
      }
      TESSERA_TRY(Runs both, unite(sets[i], sets[i + 1], 0));
      half.push_back(std::move(both));
    }
    sets = std::move(half);
  }
  return std::move(sets.front());
}

}  // namespace

Result<std::int64_t> used_slots(const Form& form) {
  if (form.shape.empty()) return 0;
  const Key key{std::max<std::int64_t>(form.reach(), 1)};
  TESSERA_TRY(const Refinement refinement, refine(form));
  SumSet sums;
  for (const Factor& factor : refinement.factors()) {
    if (factor.pieces.size() == 1) {
      for (const Loop& loop : factor.pieces[0].loops) {
        sums.add_progression(key(loop.move.a), loop.extent);
      }
      continue;
    }
    TESSERA_TRY(Runs runs, runs_of(factor, key));
    sums.add_runs(std::move(runs));
  }
  const std::vector<std::int64_t> strides = form.mesh.row_major_strides();
  for (const Fill& fill : form.fills) {
    if (fill.kind == Fill::Kind::kFixed) continue;
    const std::int64_t places = fill.stride * strides[static_cast<std::size_t>(fill.axis)];
    sums.add_progression(key({places, 0}), fill.count);
  }
  return sums.count();
}

Result<std::optional<SharedSlot>> overlapping_elements(const Form& form) {
  if (form.shape.elements() <= 1) return std::optional<SharedSlot>();
  TESSERA_TRY(const Lines lines, canonical(form));
  std::vector<bool> matters(form.shape.rank(), false);
  for (const Line& line : lines.lines) {
    for (const LineCut& cut : line.cuts) {
      // The text says that this digit has no place. Moves that cancel are no such statement.
      if (cut.move.is_zero() && has_open_digit(form)) return std::optional<SharedSlot>();
    }
    for (const Term& term : line.terms) matters[static_cast<std::size_t>(term.dim)] = true;
  }
  Index to = form.shape.extents();
  for (std::size_t dim = 0; dim < to.size(); ++dim) {
    if (!matters[dim]) to[dim] = 1;
  }
  const Form kept = restrict_to(form, Index(to.size(), 0), to);
  TESSERA_TRY(const Injectivity found, is_injective(kept));
  if (found.injective) return std::optional<SharedSlot>();
  SharedSlot shared{found.collision->first, found.collision->second, {}, 0};
  Place other;
  form.evaluate(shared.first, other, shared.slot);
  form.evaluate(shared.second, shared.place, shared.slot);
  if (other == shared.place) return std::optional(std::move(shared));
  // They meet on a place that holds copies of both.
  if (!Work::reserve(form.replicas())) return Work::too_large("listing the copies of an element");
  std::vector<Place> places = replica_places(form, other);
  std::vector<Place> others = replica_places(form, shared.place);
  std::sort(places.begin(), places.end());
  std::sort(others.begin(), others.end());
  std::vector<Place> common;
  std::set_intersection(places.begin(), places.end(), others.begin(), others.end(),
                        std::back_inserter(common));
  shared.place = common.front();
  return std::optional(std::move(shared));
}

}  // namespace tessera
