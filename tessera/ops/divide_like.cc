// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/divide_like.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/ops/blocks.h"
#include "tessera/ops/supply.h"

namespace tessera::ops {

Division::Division(const Loops& loops, const Shape& mesh)
    : loops_(loops), fixed_(mesh.rank()), closed_(mesh.rank()) {
  form_.mesh = mesh;
}

namespace {

/// Blocks of a factor over an axis.
Fold blocks_over(int factor, std::int64_t extent, std::int64_t width, int axis,
                 std::int64_t stride) {
  Fold fold{{Term{factor, 1}},
            0,
            {{width, ceil_div(extent, width), Target::mesh(axis), stride, Cause::kGrid}}};
  if (width > 1) fold.cuts.push_back({1, width, Target::nothing(), 1, Cause::kAlignment});
  return fold;
}

}  // namespace

bool Division::is_driven(std::size_t axis) const {
  return std::ranges::any_of(
      driven_, [&](const Digits& digits) { return digits.axis == static_cast<int>(axis); });
}

bool Division::is_free(const Digits& digits) const {
  if (closed_[static_cast<std::size_t>(digits.axis)]) return false;
  return std::ranges::none_of(driven_, [&](const Digits& other) {
    return other.axis == digits.axis && digits.stride < other.stride * other.count &&
           other.stride < digits.stride * digits.count;
  });
}

void Division::add(Fold fold) {
  const std::vector<std::int64_t> needed = fold.needed(form_.shape);
  std::vector<Digits> digits;
  for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
    const Cut& cut = fold.cuts[k];
    if (!cut.target.is_mesh() || needed[k] <= 1) continue;
    digits.push_back({cut.target.axis(), cut.stride, needed[k]});
    if (!is_free(digits.back())) return;
  }
  if (digits.empty()) return;
  for (const Term& term : fold.terms) {
    const Factor& factor = loops_.factors[static_cast<std::size_t>(term.dim)];
    if (factor.kind == FactorKind::kWhole) return;
  }
  driven_.insert(driven_.end(), digits.begin(), digits.end());
  form_.folds.push_back(std::move(fold));
}

namespace {

/// An index may run beyond the operand, where nothing is read (pad). A line that would then leave
/// its digits goes round instead: every index inside keeps its place.
void go_round(Fold& fold, const Fold& of_operand, const Shape& iterations, const Shape& operand) {
  if (fold.cuts.empty() || operand.empty() || iterations.empty()) return;
  Checked first(fold.start);
  Checked last(fold.start);
  for (const Term& term : fold.terms) {
    const Checked step = Checked(term.coef) * (iterations[static_cast<std::size_t>(term.dim)] - 1);
    (term.coef < 0 ? first : last) += step;
  }
  const Checked period =
      Checked(of_operand.cuts[0].width) * std::max<std::int64_t>(of_operand.needed(operand)[0], 1);
  if (first.overflowed() || last.overflowed() || period.overflowed()) return;
  if (first.raw() >= 0 && last.raw() < period.raw()) return;
  fold.start += floor_mod(first.raw(), period.raw()) - first.raw();
  fold.cuts.insert(fold.cuts.begin(), Cut{period.raw(), 1, Target::nothing()});
  const std::vector<std::int64_t> needed = fold.needed(iterations);
  for (std::size_t k = 0; k < needed.size(); ++k) fold.cuts[k].count = needed[k];
}

/// Takes away folds that do not matter for places, and those that the factors cannot follow: lines
/// that begin below zero. Along the axes of the latter, coordinates are then unknown.
void keep_possible(Form& form, std::vector<bool>& unknown) {
  std::vector<Fold> kept;
  for (Fold& fold : form.folds) {
    bool matters = false;
    for (const Cut& cut : fold.cuts) matters = matters || cut.target.is_mesh();
    if (!matters) continue;
    if (fold.check(form.shape, form.mesh.rank())) {
      kept.push_back(std::move(fold));
      continue;
    }
    for (const Cut& cut : fold.cuts) {
      if (!cut.target.is_mesh()) continue;
      form.fills.push_back(Fill::fixed(cut.target.axis(), 0));
      unknown[static_cast<std::size_t>(cut.target.axis())] = true;
    }
  }
  form.folds = std::move(kept);
}

}  // namespace

void Division::divide(int factor, int axis, std::int64_t width) {
  const std::int64_t extent = loops_.factors[static_cast<std::size_t>(factor)].extent;
  const std::int64_t places = form_.mesh[static_cast<std::size_t>(axis)];
  Fold fold = blocks_over(factor, extent, width, axis, 1);
  if (fold.cuts[0].count > places) {
    fold.cuts[0].count = places;
    fold.cuts.insert(fold.cuts.begin(), Cut{width * places, ceil_div(extent, width * places),
                                            Target::nothing(), 1, Cause::kGrid});
  }
  driven_.push_back({axis, 1, places});
  form_.folds.push_back(std::move(fold));
  closed_[static_cast<std::size_t>(axis)] = true;
}

void Division::stay_at(int axis, std::int64_t coordinate) {
  fixed_[static_cast<std::size_t>(axis)] = coordinate;
  closed_[static_cast<std::size_t>(axis)] = true;
}

Status Division::follow(const Access& access, const Form& operand) {
  TESSERA_TRY(form_.shape, loops_.iterations());
  Form held = operand;
  Access narrowed = access;
  std::vector<Fold> folds;
  std::vector<bool> unknown(operand.mesh.rank());  // along these axes, coordinates are not followed
  std::vector<bool> windowed(operand.mesh.rank());  // along these, they follow a window
  for (std::size_t d = 0; d < access.dims.size(); ++d) {
    const std::optional<WindowDim> window = window_dim(loops_, access.dims[d], operand.shape[d]);
    if (!window) continue;
    Blocks blocks;
    const HowDivided how = division_of(operand, static_cast<int>(d), blocks);
    if (how == HowDivided::kOtherwise) {
      // Where windows can be whole on a place, positions are where the element of one tap is.
      narrowed.dims[d] = at(window->position, window->stride) + access.dims[d].start;
      continue;
    }
    narrowed.dims[d] = {};
    if (how != HowDivided::kBlocks) continue;
    windowed[static_cast<std::size_t>(blocks.axis)] = true;
    // As many blocks of positions as of the dim.
    const std::int64_t positions =
        loops_.factors[static_cast<std::size_t>(window->position)].extent;
    const std::int64_t count =
        ceil_div(operand.shape[d] + blocks.start, std::max<std::int64_t>(blocks.width, 1));
    const std::int64_t width = std::max<std::int64_t>(ceil_div(positions, count), 1);
    folds.push_back(blocks_over(window->position, positions, width, blocks.axis, blocks.stride));
    keep_off_mesh(held, blocks);
  }
  std::vector<Range> all;
  for (const Factor& factor : loops_.factors) all.push_back({0, factor.extent});
  TESSERA_TRY(Form pulled, pull_back(held, narrowed, all));
  for (std::size_t f = 0; f < pulled.folds.size(); ++f) {
    go_round(pulled.folds[f], held.folds[f], form_.shape, operand.shape);
  }
  keep_possible(pulled, unknown);
  TESSERA_CHECK_OK(pulled.check());
  const Result<Form> places = simplified_places(pulled);
  // Where the operand begins on each axis: the coordinate to which its digits are added.
  std::vector<std::optional<std::int64_t>> origins(operand.mesh.rank());
  for (const Fill& fill : places ? places->fills : operand.fills) {
    if (fill.kind != Fill::Kind::kFixed) continue;
    std::optional<std::int64_t>& origin = origins[static_cast<std::size_t>(fill.axis)];
    origin = origin.value_or(0) + fill.value;
  }
  std::vector<bool> decided;  // by operands before: what is driven, begins where they do
  for (std::size_t axis = 0; axis < origins.size(); ++axis) decided.push_back(is_driven(axis));
  const auto begins_elsewhere = [&](const Fold& fold) {
    return std::ranges::any_of(fold.cuts, [&](const Cut& cut) {
      if (!cut.target.is_mesh()) return false;
      const auto axis = static_cast<std::size_t>(cut.target.axis());
      return fixed_[axis].value_or(0) != 0 && *fixed_[axis] != origins[axis].value_or(0);
    });
  };
  if (places) folds.insert(folds.begin(), places->folds.begin(), places->folds.end());
  for (Fold& fold : folds) {
    if (!begins_elsewhere(fold)) add(std::move(fold));
  }
  // Without digits along an axis, all is at one coordinate, unless there are replicas.
  for (std::size_t axis = 0; axis < origins.size(); ++axis) {
    const bool is_open = !fixed_[axis] && !closed_[axis] && !decided[axis] && !unknown[axis];
    if (is_open && (!windowed[axis] || is_driven(axis))) fixed_[axis] = origins[axis];
  }
  std::vector<bool> divides = windowed;
  for (const Fold& fold : places ? places->folds : operand.folds) {
    const std::vector<std::int64_t> needed = fold.needed(places ? places->shape : operand.shape);
    for (std::size_t k = 0; k < needed.size(); ++k) {
      const Target target = fold.cuts[k].target;
      if (!target.is_mesh() || needed[k] <= 1) continue;
      divides[static_cast<std::size_t>(target.axis())] = true;
    }
  }
  for (std::size_t axis = 0; axis < origins.size(); ++axis) {
    std::vector<Home> repeated;
    bool in_shares = false;
    for (const Fill& fill : operand.fills) {
      if (fill.axis != static_cast<int>(axis) || fill.count <= 1) continue;
      if (fill.kind == Fill::Kind::kPartial) in_shares = true;
      if (fill.kind != Fill::Kind::kReplicate) continue;
      repeated.push_back({fill.axis, origins[axis].value_or(0), fill.count, fill.stride});
    }
    replicas_.insert(replicas_.end(), repeated.begin(), repeated.end());
    if (divides[axis] || unknown[axis] || in_shares || repeated.size() > 1) {
      // Where it begins counts if it is all that is known.
      if (fixed_[axis] && fixed_[axis] == origins[axis]) {
        homes_.push_back({static_cast<int>(axis), *fixed_[axis], 1, 1});
      }
    } else if (repeated.size() == 1) {
      homes_.push_back(repeated[0]);
    } else {
      homes_.push_back({static_cast<int>(axis), origins[axis].value_or(0), 1, 1});
    }
  }
  return ok_status();
}

void Division::reduce_over(const Fill& shares) {
  std::size_t best = loops_.factors.size();
  for (std::size_t f = 0; f < loops_.factors.size(); ++f) {
    const Factor& factor = loops_.factors[f];
    const bool reduces = factor.kind == FactorKind::kReduce && factor.extent > 1 &&
                         factor.reduction == shares.reduction;
    const bool is_divided = std::ranges::any_of(form_.folds, [&](const Fold& fold) {
      return std::ranges::find(fold.terms, static_cast<int>(f), &Term::dim) != fold.terms.end();
    });
    if (!reduces || is_divided) continue;
    if (best == loops_.factors.size() || factor.extent > loops_.factors[best].extent) best = f;
  }
  if (best == loops_.factors.size()) return;
  const std::int64_t extent = loops_.factors[best].extent;
  const std::int64_t width = ceil_div(extent, shares.count);
  add(blocks_over(static_cast<int>(best), extent, width, shares.axis, shares.stride));
}

/// The coordinates that are in both; empty if there are none.
std::optional<Division::Home> Division::common(const Home& a, const Home& b) {
  if (a.stride == 1 || b.stride == 1) {  // a range cuts the other off
    const Home& range = a.stride == 1 ? a : b;
    Home both = a.stride == 1 ? b : a;
    const std::int64_t from =
        std::max<std::int64_t>(-floor_div(both.first - range.first, both.stride), 0);
    const std::int64_t to = std::min(
        both.count, floor_div(range.first + range.count - 1 - both.first, both.stride) + 1);
    if (from >= to) return std::nullopt;
    both.first += from * both.stride;
    both.count = to - from;
    if (both.count == 1) both.stride = 1;
    return both;
  }
  const bool a_is_fewer = a.count < b.count;
  const Home& fewer = a_is_fewer ? a : b;
  const Home& other = a_is_fewer ? b : a;
  Home both{a.axis, 0, 0, 1};
  for (std::int64_t k = 0; k < fewer.count; ++k) {
    const std::int64_t at = fewer.first + k * fewer.stride;
    const std::int64_t from = at - other.first;
    const bool is_there =
        from >= 0 && from % other.stride == 0 && from / other.stride < other.count;
    if (!is_there) continue;
    if (both.count == 0) both.first = at;
    if (both.count == 1) both.stride = at - both.first;
    ++both.count;
  }
  return both.count > 0 ? std::optional(both) : std::nullopt;
}

/// Where all operands are that do not divide the axis; empty if there is no such coordinate, or if
/// all operands divide it.
std::optional<Division::Home> Division::common_home(std::size_t axis) const {
  std::optional<Home> found;
  for (const Home& home : homes_) {
    if (home.axis != static_cast<int>(axis)) continue;
    found = found ? common(*found, home) : home;
    if (!found) break;
  }
  return found;
}

Result<WorkMap> Division::finish() && {
  TESSERA_TRY(form_.shape, loops_.iterations());
  for (const Home& home : replicas_) {
    const Digits digits{home.axis, home.stride, home.count};
    const auto axis = static_cast<std::size_t>(home.axis);
    if (!is_driven(axis) || fixed_[axis].value_or(0) != home.first || !is_free(digits)) continue;
    driven_.push_back(digits);
    form_.fills.push_back(Fill::replicate(home.axis, home.count, home.stride));
  }
  for (std::size_t a = 0; a < form_.mesh.rank(); ++a) {
    const int axis = static_cast<int>(a);
    const std::optional<Home> home = is_driven(a) || closed_[a] ? std::nullopt : common_home(a);
    if (is_driven(a)) {
      if (fixed_[a].value_or(0) != 0) form_.fills.push_back(Fill::fixed(axis, *fixed_[a]));
    } else if (home) {
      if (home->count > 1) {
        form_.fills.push_back(Fill::replicate(axis, home->count, home->stride));
      }
      if (home->first > 0 || (home->count == 1 && form_.mesh[a] > 1)) {
        form_.fills.push_back(Fill::fixed(axis, home->first));
      }
    } else if (form_.mesh[a] > 1) {
      form_.fills.push_back(fixed_[a] ? Fill::fixed(axis, *fixed_[a])
                                      : Fill::replicate(axis, form_.mesh[a]));
    }
  }
  return WorkMap::make(loops_, std::move(form_));
}

}  // namespace tessera::ops
