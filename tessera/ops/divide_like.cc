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
  for (const Fill& fill : operand.fills) {
    if (fill.kind == Fill::Kind::kReplicate && fill.count > 1) replicas_.push_back(fill);
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

/// The replicas on some coordinates of an axis from the first on, those of the operand with the
/// fewest; null if each operand with replicas has them on the whole axis.
const Fill* Division::replicas_on_some(std::size_t axis) const {
  const Fill* fewest = nullptr;
  for (const Fill& fill : replicas_) {
    const bool is_some = fill.axis == static_cast<int>(axis) && fill.count < form_.mesh[axis];
    if (is_some && (fewest == nullptr || fill.count < fewest->count)) fewest = &fill;
  }
  return fewest;
}

Result<WorkMap> Division::finish() && {
  TESSERA_TRY(form_.shape, loops_.iterations());
  for (const Fill& fill : replicas_) {
    const Digits digits{fill.axis, fill.stride, fill.count};
    const auto axis = static_cast<std::size_t>(fill.axis);
    if (!is_driven(axis) || fixed_[axis] || !is_free(digits)) continue;
    driven_.push_back(digits);
    form_.fills.push_back(fill);
  }
  for (std::size_t axis = 0; axis < form_.mesh.rank(); ++axis) {
    const bool driven = is_driven(axis);
    if (const Fill* some = driven || fixed_[axis] ? nullptr : replicas_on_some(axis)) {
      form_.fills.push_back(*some);
      continue;
    }
    if (driven ? fixed_[axis].value_or(0) == 0 : form_.mesh[axis] <= 1) continue;
    form_.fills.push_back(fixed_[axis] ? Fill::fixed(static_cast<int>(axis), *fixed_[axis])
                                       : Fill::replicate(static_cast<int>(axis), form_.mesh[axis]));
  }
  return WorkMap::make(loops_, std::move(form_));
}

}  // namespace tessera::ops
