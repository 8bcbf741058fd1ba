// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/divide_like.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/ops/blocks.h"
#include "tessera/ops/supply.h"

namespace tessera::ops {

Division::Division(const Loops& loops, const Shape& mesh) : loops_(loops), fixed_(mesh.rank()) {
  form_.mesh = mesh;
}

bool Division::is_free(const Digits& digits) const {
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

Status Division::follow(const Access& access, const Form& operand) {
  TESSERA_TRY(form_.shape, loops_.iterations());
  Form held = operand;
  Access narrowed = access;
  std::vector<Fold> windows;
  for (std::size_t d = 0; d < access.dims.size(); ++d) {
    const std::optional<WindowDim> window = window_dim(loops_, access.dims[d], operand.shape[d]);
    if (!window) continue;
    narrowed.dims[d] = {};
    Blocks blocks;
    if (division_of(operand, static_cast<int>(d), blocks) != HowDivided::kBlocks) continue;
    // As many blocks of positions as of the dim.
    const std::int64_t positions =
        loops_.factors[static_cast<std::size_t>(window->position)].extent;
    const std::int64_t count =
        ceil_div(operand.shape[d] + blocks.start, std::max<std::int64_t>(blocks.width, 1));
    const std::int64_t width = std::max<std::int64_t>(ceil_div(positions, count), 1);
    Fold fold;
    fold.terms = {Term{window->position, 1}};
    fold.cuts = {{width, ceil_div(positions, width), Target::mesh(blocks.axis), blocks.stride,
                  Cause::kGrid}};
    if (width > 1) fold.cuts.push_back({1, width, Target::nothing(), 1, Cause::kAlignment});
    windows.push_back(std::move(fold));
    keep_off_mesh(held, blocks);
  }
  std::vector<Range> all;
  for (const Factor& factor : loops_.factors) all.push_back({0, factor.extent});
  TESSERA_TRY(const Form pulled, pull_back(held, narrowed, all));
  if (pulled.check()) {
    const Result<Form> places = simplified_places(pulled);
    if (places) {
      for (const Fold& fold : places->folds) add(fold);
    }
  }
  for (Fold& fold : windows) add(std::move(fold));
  for (const Fill& fill : operand.fills) {
    const auto axis = static_cast<std::size_t>(fill.axis);
    if (fill.kind == Fill::Kind::kFixed && !fixed_[axis]) fixed_[axis] = fill.value;
  }
  return ok_status();
}

Result<WorkMap> Division::finish() && {
  TESSERA_TRY(form_.shape, loops_.iterations());
  for (std::size_t axis = 0; axis < form_.mesh.rank(); ++axis) {
    const bool driven = std::ranges::any_of(
        driven_, [&](const Digits& digits) { return digits.axis == static_cast<int>(axis); });
    if (driven || form_.mesh[axis] <= 1) continue;
    form_.fills.push_back(fixed_[axis] ? Fill::fixed(static_cast<int>(axis), *fixed_[axis])
                                       : Fill::replicate(static_cast<int>(axis), form_.mesh[axis]));
  }
  return WorkMap::make(loops_, std::move(form_));
}

}  // namespace tessera::ops
