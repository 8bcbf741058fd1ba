// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/slots/decode.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/work.h"

namespace tessera {
namespace {

constexpr int kMaxSteps = 1 << 22;
constexpr int kStepsToBegin = 16;  // memory for the digits of a search

Error too_entangled() {
  if (Work::is_spent()) return Work::too_large("finding what a slot holds");
  return Error{ErrorCode::kTooLarge, "strides are too entangled to find what a slot holds",
               std::nullopt, "use strides that nest: each a multiple of what is below it"};
}

/// The cause of the innermost test that a fold's digits fail, or empty if they are the digits of a
/// point p < E. `p` is that point.
std::optional<Cause> failed_test(const Fold& fold, const std::vector<std::int64_t>& digits,
                                 std::int64_t extent, std::int64_t& p) {
  Checked sum = 0;
  for (std::size_t k = fold.cuts.size(); k-- > 0;) {
    sum += Checked(digits[k]) * fold.cuts[k].width;
    const std::int64_t limit = k == 0 ? extent : fold.cuts[k - 1].width;
    if (sum.saturated() >= limit) return fold.cuts[k].cause;
  }
  p = sum.raw();
  return std::nullopt;
}

}  // namespace

Decoder::Decoder(const Form& form)
    : axes_(form.mesh.rank()), open_(form.folds.size()), fixed_(form.mesh.rank(), 0) {
  std::vector<bool> folded(form.shape.rank(), false);
  for (std::size_t f = 0; f < form.folds.size(); ++f) {
    const Fold& fold = form.folds[f];
    const std::vector<std::int64_t> needed = fold.needed(form.shape);
    for (const Term& term : fold.terms) folded[static_cast<std::size_t>(term.dim)] = true;
    for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
      const Cut& cut = fold.cuts[k];
      const Weight weight{cut.count, cut.stride, 0, 0, static_cast<int>(f), static_cast<int>(k)};
      if (cut.target.is_memory()) memory_.push_back(weight);
      if (cut.target.is_mesh())
        axes_[static_cast<std::size_t>(cut.target.axis())].push_back(weight);
      if (cut.target.is_nothing() && needed[k] > 1) {
        open_[f].push_back({needed[k], 0, 0, 0, weight.fold, weight.cut});
      }
    }
  }
  for (const Fill& fill : form.fills) {
    const auto axis = static_cast<std::size_t>(fill.axis);
    if (fill.kind == Fill::Kind::kFixed) {
      fixed_[axis] += fill.value;
    } else {
      axes_[axis].push_back({fill.count, fill.stride, 0, 0, -1, 0});
    }
  }
  const auto sort = [](std::vector<Weight>& weights) {
    std::sort(weights.begin(), weights.end(),
              [](const Weight& a, const Weight& b) { return a.stride > b.stride; });
    std::int64_t below = 0;
    std::int64_t divisor = 0;
    for (std::size_t i = weights.size(); i-- > 0;) {
      weights[i].below = below;
      if (weights[i].count > 1) {
        below += (weights[i].count - 1) * weights[i].stride;
        divisor = std::gcd(divisor, weights[i].stride);
      }
      weights[i].divisor = divisor;
    }
  };
  sort(memory_);
  for (std::vector<Weight>& axis : axes_) sort(axis);
  for (std::size_t dim = 0; dim < folded.size(); ++dim) {
    if (!folded[dim]) free_dims_.push_back(static_cast<int>(dim));
  }
  order_.resize(form.folds.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::vector<std::int64_t> values;
  for (const std::vector<Weight>& digits : open_) {
    Checked product = 1;
    for (const Weight& digit : digits) product *= digit.count;
    values.push_back(product.saturated());
  }
  std::sort(order_.begin(), order_.end(), [&](std::size_t f, std::size_t g) {
    return values[f] != values[g] ? values[f] < values[g] : f < g;
  });
}

/// The state of one search: the digits found so far, in nested stages (memory, each mesh axis, then
/// fold by fold the open digits and the dims), each of which may have to try several values.
struct Decoder::Search {
  const Decoder& decoder;
  const Form& form;
  const Place& place;
  std::int64_t slot;
  std::function<bool(const Index&)> visit;

  std::vector<std::vector<std::int64_t>> digits = {};
  std::vector<std::int64_t> lines = {};
  Index index = {};
  std::vector<bool> settled = {};
  bool want_cause = false;
  int steps = 0;
  int found = 0;
  bool stopped = false;
  bool reached_memory = false;
  bool reached_mesh = false;
  std::optional<Cause> cause = {};  // the cause nearest to data among the settings tried

  void run() {
    for (const Fold& fold : form.folds) digits.emplace_back(fold.cuts.size(), 0);
    lines.assign(form.folds.size(), 0);
    index.assign(form.shape.rank(), 0);
    settled.assign(form.shape.rank(), false);
    if (!spent(kStepsToBegin) && slot >= form.offset) stage(0);
  }

  bool spent(int more = 1) {
    steps += more;
    if (!Work::spend(more)) steps = kMaxSteps + 1;
    if (steps > kMaxSteps) stopped = true;
    return stopped;
  }

  /// Stage 0 is memory, then one stage per mesh axis, then the folds.
  void stage(std::size_t number) {
    if (number == 0) {
      weights(decoder.memory_, 0, slot - form.offset, [&] {
        reached_memory = true;
        stage(1);
      });
    } else if (number <= decoder.axes_.size()) {
      const std::size_t axis = number - 1;
      weights(decoder.axes_[axis], 0, place[axis] - decoder.fixed_[axis],
              [&] { stage(number + 1); });
    } else {
      reached_mesh = true;
      if (!form.shape.empty()) solve(0);
      if (found == 0 && !stopped && want_cause) note_cause();
    }
  }

  /// Whether the index has the placed digits of a fold.
  bool agrees(std::size_t f) const {
    const Fold& fold = form.folds[f];
    std::int64_t left = fold.start;
    for (const Term& term : fold.terms) {
      left += term.coef * index[static_cast<std::size_t>(term.dim)];
    }
    for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
      const std::int64_t digit = left / fold.cuts[k].width;
      left %= fold.cuts[k].width;
      if (!fold.cuts[k].target.is_nothing() && digit != digits[f][k]) return false;
    }
    return true;
  }

  template <typename Next>
  void weights(const std::vector<Weight>& list, std::size_t i, std::int64_t rest,
               const Next& next) {
    if (spent() || rest < 0) return;
    if (i == list.size()) {
      if (rest == 0) next();
      return;
    }
    const Weight& weight = list[i];
    if (weight.divisor == 0 ? rest != 0 : rest % weight.divisor != 0) return;
    const std::int64_t low = rest > weight.below ? ceil_div(rest - weight.below, weight.stride) : 0;
    const std::int64_t high = std::min(weight.count - 1, rest / weight.stride);
    for (std::int64_t digit = low; digit <= high && !stopped; ++digit) {
      if (weight.fold >= 0) digit_of(weight) = digit;
      weights(list, i + 1, rest - digit * weight.stride, next);
    }
  }

  std::int64_t& digit_of(const Weight& weight) {
    return digits[static_cast<std::size_t>(weight.fold)][static_cast<std::size_t>(weight.cut)];
  }

  /// Calls `next` for every setting of the open digits of fold f from digit i on; false to stop.
  template <typename Next>
  bool open(std::size_t f, std::size_t i, const Next& next) {
    const std::vector<Weight>& list = decoder.open_[f];
    if (i == list.size()) return next();
    for (std::int64_t digit = 0; digit < list[i].count; ++digit) {
      digit_of(list[i]) = digit;
      if (spent() || !open(f, i + 1, next)) return false;
    }
    return true;
  }

  /// The cause of a slot without element: of all settings of the open digits, the one nearest to
  /// data; for one setting, the first cause of any fold. Folds have open digits of their own, so
  /// it is enough to know for each fold the best outcome, and the best one that is a failure.
  void note_cause() {
    constexpr int kPass = static_cast<int>(kCauses);
    int best = kPass;  // of the folds so far: the best first cause
    int failure = -1;  // the same if at least one fold fails
    for (std::size_t f = 0; f < form.folds.size(); ++f) {
      const Fold& fold = form.folds[f];
      const std::int64_t extent = fold.extent(form.shape);
      int fold_best = -1;
      int fold_failure = -1;
      open(f, 0, [&] {
        if (spent(8)) return false;
        int outcome = kPass;
        if (const auto failed = failed_test(fold, digits[f], extent, lines[f])) {
          outcome = static_cast<int>(*failed);
        } else if (!is_point(fold, lines[f])) {
          outcome = static_cast<int>(Cause::kGap);
        }
        fold_best = std::max(fold_best, outcome);
        if (outcome != kPass) fold_failure = std::max(fold_failure, outcome);
        return true;
      });
      if (stopped) return;
      failure = std::max(std::min(failure, fold_best), std::min(best, fold_failure));
      best = std::min(best, fold_best);
    }
    // Folds that pass alone but not together are a gap.
    const auto gap = static_cast<int>(Cause::kGap);
    const auto here = static_cast<Cause>(best == kPass ? std::max(failure, gap) : failure);
    if (!cause || here > *cause) cause = here;
  }

  bool is_point(const Fold& fold, std::int64_t p) {
    bool any = false;
    const std::vector<bool> none(form.shape.rank(), false);
    std::vector<bool> saved = std::exchange(settled, none);
    terms(fold, order_of(fold), 0, p - fold.start, [&] {
      any = true;
      return false;
    });
    settled = std::move(saved);
    return any;
  }

  /// Terms of a fold by decreasing coefficient, so that superincreasing ones are found greedily.
  static std::vector<Term> order_of(const Fold& fold) {
    std::vector<Term> ordered = fold.terms;
    std::sort(ordered.begin(), ordered.end(),
              [](const Term& a, const Term& b) { return std::abs(a.coef) > std::abs(b.coef); });
    return ordered;
  }

  /// Finds the dims of fold number i in order, then of the next folds. A fold whose dims are all
  /// found is only compared, whatever values its open digits may have.
  void solve(std::size_t i) {
    if (spent()) return;
    if (i == decoder.order_.size()) return free_dims(0);
    const std::size_t f = decoder.order_[i];
    const Fold& fold = form.folds[f];
    const bool known = std::all_of(fold.terms.begin(), fold.terms.end(), [&](const Term& term) {
      return settled[static_cast<std::size_t>(term.dim)];
    });
    if (known && !fold.terms.empty()) {
      if (agrees(f)) solve(i + 1);
      return;
    }
    const std::vector<Term> list = order_of(fold);
    const std::int64_t extent = fold.extent(form.shape);
    open(f, 0, [&] {
      if (failed_test(fold, digits[f], extent, lines[f])) return true;
      return terms(fold, list, 0, lines[f] - fold.start, [&] {
        solve(i + 1);
        return !stopped;
      });
    });
  }

  /// Calls `next` for every setting of the terms from i on that adds up to `rest`; false to stop.
  template <typename Next>
  bool terms(const Fold& fold, const std::vector<Term>& list, std::size_t i, std::int64_t rest,
             const Next& next) {
    if (spent()) return false;
    if (i == list.size()) return rest == 0 ? next() : true;
    const auto dim = static_cast<std::size_t>(list[i].dim);
    const std::int64_t coef = list[i].coef;
    if (settled[dim]) return terms(fold, list, i + 1, rest - coef * index[dim], next);
    std::int64_t low_rest = 0;
    std::int64_t high_rest = 0;
    for (std::size_t j = i + 1; j < list.size(); ++j) {
      const auto other = static_cast<std::size_t>(list[j].dim);
      const std::int64_t reach =
          list[j].coef * (settled[other] ? index[other] : form.shape[other] - 1);
      if (settled[other] || reach < 0) low_rest += reach;
      if (settled[other] || reach > 0) high_rest += reach;
    }
    // rest - coef·x must lie in [low_rest, high_rest].
    const std::int64_t size = std::abs(coef);
    const std::int64_t a = coef > 0 ? rest - high_rest : low_rest - rest;
    const std::int64_t b = coef > 0 ? rest - low_rest : high_rest - rest;
    const std::int64_t low = std::max<std::int64_t>(0, -floor_div(-a, size));
    const std::int64_t high = std::min(form.shape[dim] - 1, floor_div(b, size));
    settled[dim] = true;
    bool go_on = true;
    for (std::int64_t x = low; x <= high && go_on; ++x) {
      index[dim] = x;
      go_on = terms(fold, list, i + 1, rest - coef * x, next);
    }
    settled[dim] = false;
    return go_on;
  }

  void free_dims(std::size_t i) {
    if (spent()) return;
    if (i == decoder.free_dims_.size()) {
      ++found;
      if (!visit(index)) stopped = true;
      return;
    }
    const auto dim = static_cast<std::size_t>(decoder.free_dims_[i]);
    for (std::int64_t x = 0; x < form.shape[dim] && !stopped; ++x) {
      index[dim] = x;
      free_dims(i + 1);
    }
    index[dim] = 0;
  }
};

Result<Slot> Decoder::element_at(const Form& form, const Place& place, std::int64_t slot) const {
  std::optional<Index> found;
  Search search{*this, form, place, slot, [&](const Index& index) {
                  found = index;
                  return false;
                }};
  search.want_cause = true;
  search.run();
  if (found) return Slot{*std::move(found)};
  if (search.steps > kMaxSteps) return too_entangled();
  if (!search.reached_memory) return Slot{Padding{Cause::kGap}};
  if (!search.reached_mesh) return Slot{Padding{Cause::kGrid}};
  return Slot{Padding{search.cause.value_or(Cause::kGap)}};
}

Status Decoder::for_each_element(const Form& form, const Place& place, std::int64_t slot,
                                 const std::function<bool(const Index&)>& visit) const {
  if (form.shape.empty()) return ok_status();
  Search search{*this, form, place, slot, visit};
  search.run();
  if (search.steps > kMaxSteps) return too_entangled();
  return ok_status();
}

}  // namespace tessera
