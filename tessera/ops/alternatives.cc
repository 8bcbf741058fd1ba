// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/alternatives.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/sort_stably.h"
#include "tessera/ops/inquiry.h"

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

/// What would do instead in this division of the work.
std::optional<Alternative> Inquiry::alternative(const WorkMap& work) const {
  Alternative other;
  Checked bytes(0);
  for (std::size_t i = 0; i < call().inputs(); ++i) {
    other.inputs.emplace_back();
    other.changed.push_back(false);
    if (!answer_.loops.inputs[i]) continue;
    if (is_given(i)) {
      const Result<Supply> supply =
          supplies(answer_.loops, *answer_.loops.inputs[i], seen(i, *question_.inputs[i]), work);
      const bool is_share = partial_[i] && !repeats_shares(work);
      if (supply && supply->complete && !is_share) {
        other.inputs[i] = question_.inputs[i];
        continue;
      }
    }
    Result<Layout> made = input_for(i, work);
    if (!made) return std::nullopt;
    other.inputs[i] = *std::move(made);
    other.changed[i] = is_given(i);
    if (is_given(i)) bytes += held_bytes(*other.inputs[i]);
  }
  other.bytes = bytes.saturated();
  return other;
}

void Inquiry::find_alternatives() {
  std::vector<WorkMap> divisions;
  const auto add = [&](const WorkMap& work) {
    if (std::ranges::find(divisions, work) == divisions.end()) divisions.push_back(work);
  };
  if (answer_.work) add(*answer_.work);
  for (const Given& seed : givens_) {
    // If an output is asked, a division like an input would give another one.
    if (seed.is_output != givens_.front().is_output) break;
    if (const Result<WorkMap> alone = divide_like({seed})) add(*alone);
  }
  const bool asks_output = !givens_.empty() && givens_.front().is_output;
  for (std::size_t d = 0, known = divisions.size(); d < known && !asks_output; ++d) {
    if (const std::optional<WorkMap> more = spread_out(answer_.loops, divisions[d])) add(*more);
  }
  for (const WorkMap& division : divisions) {
    std::optional<Alternative> other = alternative(division);
    const auto is_changed = [](bool changed) { return changed; };
    if (!other || std::ranges::none_of(other->changed, is_changed)) continue;
    const bool known = std::ranges::any_of(
        answer_.alternatives, [&](const Alternative& a) { return a.inputs == other->inputs; });
    if (!known) answer_.alternatives.push_back(*std::move(other));
  }
  sort_stably(answer_.alternatives,
              [](const Alternative& a, const Alternative& b) { return a.bytes < b.bytes; });
}

}  // namespace tessera::ops
