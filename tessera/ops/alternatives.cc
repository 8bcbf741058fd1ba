// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/alternatives.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"

namespace tessera::ops {
namespace {

/// Divides the block of a factor that is left to a place over `count` coordinates of an axis.
struct LargestBlock {
  std::size_t factor = 0;
  std::int64_t block = 0;
};

/// The factor of an output with the largest blocks.
std::optional<LargestBlock> largest_block(const Loops& loops, const Form& form) {
  std::optional<LargestBlock> best;
  for (std::size_t f = 0; f < loops.factors.size(); ++f) {
    const Factor& factor = loops.factors[f];
    const bool of_output = std::ranges::any_of(
        loops.outputs, [&](const Access& output) { return output.has(static_cast<int>(f)); });
    if (factor.kind != FactorKind::kPass || !of_output) continue;
    std::int64_t block = factor.extent;
    for (const Fold& fold : form.folds) {
      const auto is_factor = [&](const Term& term) { return term.dim == static_cast<int>(f); };
      if (std::ranges::none_of(fold.terms, is_factor)) continue;
      // A fold with a single cut over places: blocks.
      const bool blocks = fold.terms.size() == 1 && fold.terms[0].coef == 1 && fold.start == 0 &&
                          fold.cuts.size() == 2 && fold.cuts[0].target.is_mesh();
      block = blocks ? fold.cuts[0].width : 0;
    }
    if (block > (best ? best->block : 1)) best = LargestBlock{f, block};
  }
  return best;
}

}  // namespace

std::int64_t spread(const Form& form) {
  std::int64_t places = 1;
  for (const Fold& fold : form.folds) {
    const std::vector<std::int64_t> needed = fold.needed(form.shape);
    for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
      if (fold.cuts[k].target.is_mesh()) {
        places = (Checked(places) * std::max<std::int64_t>(needed[k], 1)).saturated();
      }
    }
  }
  return places;
}

std::int64_t held_bytes(const Layout& layout) {
  const Checked places = Checked(spread(layout.form())) * layout.form().replicas();
  return (places * layout.shard_bytes()).saturated();
}

std::optional<WorkMap> spread_out(const Loops& loops, const WorkMap& work) {
  Form form = work.form();
  std::vector<Fill> fills;
  for (const Fill& fill : work.form().fills) {
    const std::optional<LargestBlock> by = largest_block(loops, form);
    const bool repeats = fill.kind == Fill::Kind::kReplicate && fill.count > 1;
    if (!repeats || !by || by->block < fill.count) {
      fills.push_back(fill);
      continue;
    }
    const std::int64_t width = ceil_div(by->block, fill.count);
    const Cut over{width, ceil_div(by->block, width), Target::mesh(fill.axis), fill.stride,
                   Cause::kGrid};
    const auto found = std::ranges::find_if(form.folds, [&](const Fold& fold) {
      return fold.terms.size() == 1 && fold.terms[0].dim == static_cast<int>(by->factor);
    });
    Fold& fold =
        found != form.folds.end()
            ? *found
            : form.folds.emplace_back(Fold{{Term{static_cast<int>(by->factor), 1}}, 0, {}});
    if (!fold.cuts.empty()) fold.cuts.pop_back();
    fold.cuts.push_back(over);
    if (width > 1) fold.cuts.push_back({1, width, Target::nothing(), 1, Cause::kAlignment});
  }
  if (fills.size() == form.fills.size()) return std::nullopt;
  form.fills = std::move(fills);
  Result<WorkMap> made = WorkMap::make(loops, std::move(form));
  return made ? std::optional(*std::move(made)) : std::nullopt;
}

}  // namespace tessera::ops
