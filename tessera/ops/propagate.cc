// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/propagate.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "tessera/base/sort_stably.h"
#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/ops/inquiry.h"
#include "tessera/ops/layouts_for.h"
#include "tessera/ops/memory_order.h"

namespace tessera::ops {
namespace {

/// "dim 1 is divided, but factor b must stay whole; ", or "".
std::string divided_whole(const Loops& loops, std::size_t input, const Layout& layout) {
  const Form& form = layout.form();
  for (const Fold& fold : form.folds) {
    const std::vector<std::int64_t> needed = fold.needed(form.shape);
    for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
      if (!fold.cuts[k].target.is_mesh() || needed[k] <= 1) continue;
      for (const Term& term : fold.terms) {
        const auto d = static_cast<std::size_t>(term.dim);
        for (const Term& of_dim : loops.inputs[input]->dims[d].terms) {
          const Factor& factor = loops.factors[static_cast<std::size_t>(of_dim.dim)];
          if (factor.kind != FactorKind::kWhole || factor.extent <= 1) continue;
          return cat("dim ", d, " is divided over mesh axis ", fold.cuts[k].target.axis(),
                     ", but factor ", factor.name, " (", factor.extent,
                     ") must be whole on each place; ");
        }
      }
    }
  }
  return "";
}

/// Why an output does not result as asked.
std::string other_places(std::size_t o, const Layout& made, const Layout& asked) {
  const std::vector<PartialAxis> made_axes = partial_axes(made);
  const std::vector<PartialAxis> asked_axes = partial_axes(asked);
  if (!made_axes.empty() && asked_axes.empty()) {
    return cat("output ", o, " results as partial sums over mesh axis ", made_axes[0].axis,
               ", which have to be reduced");
  }
  if (made_axes.empty() && !asked_axes.empty()) {
    return cat("output ", o, " results whole, not as shares of a ",
               reduction_name(asked_axes[0].reduction), " over mesh axis ", asked_axes[0].axis);
  }
  return cat("output ", o, " results on other places than asked");
}

}  // namespace

/// An output in the order of memory that kernels or inputs give it.
Layout Inquiry::in_some_order(std::size_t o, Layout made) const {
  if (kernels_.order) {
    std::optional<Layout> ordered = kernels_.order(o, made, answer_.inputs);
    if (ordered) return *std::move(ordered);
  }
  std::vector<std::size_t> inputs;
  for (std::size_t i = 0; i < answer_.inputs.size(); ++i) {
    if (is_given(i) && answer_.loops.inputs[i]) inputs.push_back(i);
  }
  const auto rank = [&](std::size_t i) { return answer_.inputs[i]->shape().rank(); };
  sort_stably(inputs, [&](std::size_t a, std::size_t b) { return rank(a) > rank(b); });
  for (const std::size_t i : inputs) {
    std::optional<Layout> ordered =
        in_order_of(*answer_.inputs[i], *answer_.loops.inputs[i], answer_.loops.outputs[o], made);
    if (ordered) return *std::move(ordered);
  }
  const bool tiled = !inputs.empty() && answer_.inputs[inputs[0]]->atom().is_tile();
  if (!tiled) return made;
  Atom tile = answer_.inputs[inputs[0]]->atom();
  if (made.dtype() != answer_.inputs[inputs[0]]->dtype()) tile.storage = made.dtype();
  std::optional<Layout> in_those = in_tiles(made, tile);
  return in_those ? *std::move(in_those) : made;
}

/// Fills the answer for its work map. A reason why it is not legal is no error.
Status Inquiry::judge() {
  const WorkMap& work = *answer_.work;
  answer_.legal = true;
  if (has_shares() && !repeats_shares(work)) {
    answer_.legal = false;
    const auto i = std::ranges::find(partial_, true) - partial_.begin();
    answer_.reason = cat("input ", i, ": its shares over mesh axis ", shares_[0].axis,
                         " have to be reduced first, because the work is divided over that axis");
  }
  for (std::size_t i = 0; i < call().inputs(); ++i) {
    if (!answer_.loops.inputs[i]) continue;
    if (!answer_.inputs[i]) {
      TESSERA_TRY(answer_.inputs[i], input_for(i, work));
    }
    TESSERA_TRY(const Supply supply, supplies(answer_.loops, *answer_.loops.inputs[i],
                                              seen(i, *answer_.inputs[i]), work));
    answer_.halos[i] = supply.halos;
    if (supply.complete || !answer_.legal) continue;
    answer_.legal = false;
    answer_.reason =
        cat("input ", i, ": ", divided_whole(answer_.loops, i, *answer_.inputs[i]), supply.reason);
    if (!partial_axes(*answer_.inputs[i]).empty()) {
      answer_.reason += cat(": ", call().op().name(), " of shares is no share of the result");
    }
  }
  for (std::size_t o = 0; o < outputs_.size(); ++o) {
    TESSERA_TRY(const bool goes_on, judge_output(o));
    if (!goes_on) break;
  }
  if (!answer_.legal) answer_.outputs.clear();
  return ok_status();
}

/// False if no layout can say where the output is.
Result<bool> Inquiry::judge_output(std::size_t o) {
  const bool asked = o < question_.outputs.size() && question_.outputs[o].has_value();
  if (asked && kernels_.is_anywhere(o)) {
    answer_.outputs.push_back(*question_.outputs[o]);
    return true;
  }
  Result<Layout> made = on_places(
      layout_for_output(answer_.loops, answer_.loops.outputs[o], outputs_[o], *answer_.work));
  if (made && has_shares()) {
    LayoutSpec spec = made->spec();
    change_kind(spec.form.fills, shares_, Fill::Kind::kPartial, shares_[0].reduction);
    made = Layout::make(std::move(spec));
  }
  if (!made) {
    answer_.legal = false;
    if (answer_.reason.empty()) answer_.reason = cat("output ", o, ": ", made.error().message);
    return false;
  }
  if (!asked) {
    answer_.outputs.push_back(in_some_order(o, *std::move(made)));
    return true;
  }
  TESSERA_TRY(const bool same,
              compatible_without_movement(made->form(), question_.outputs[o]->form()));
  if (!same && answer_.legal) {
    answer_.legal = false;
    answer_.reason = other_places(o, *made, *question_.outputs[o]);
  }
  answer_.outputs.push_back(*question_.outputs[o]);
  return true;
}

/// Judges another division of the work. Keeps the answer as it is if that will not do either.
Status Inquiry::judge_instead(const WorkMap& work) {
  // The loops stay: operands point to them.
  auto refused = std::tuple(answer_.work, answer_.inputs, answer_.halos, answer_.reason);
  answer_.work = work;
  answer_.reason.clear();
  for (std::size_t i = 0; i < call().inputs(); ++i) {
    if (!is_given(i)) answer_.inputs[i].reset();
  }
  TESSERA_CHECK_OK(judge());
  if (!answer_.legal) {
    std::tie(answer_.work, answer_.inputs, answer_.halos, answer_.reason) = std::move(refused);
  }
  return ok_status();
}

Result<Answer> Inquiry::answer() {
  TESSERA_TRY(answer_.loops, loops_of(call(), outputs_));
  for (const int factor : kernels_.exchanged) {
    answer_.loops.factors[static_cast<std::size_t>(factor)].kind = FactorKind::kPass;
  }
  answer_.inputs.resize(call().inputs());
  answer_.halos.resize(call().inputs());
  for (std::size_t i = 0; i < std::min(call().inputs(), question_.inputs.size()); ++i) {
    if (answer_.loops.inputs[i]) answer_.inputs[i] = question_.inputs[i];
  }
  TESSERA_CHECK_OK(read());
  Result<WorkMap> work = divide_like(givens_);
  if (work) {
    answer_.work = *std::move(work);
    TESSERA_CHECK_OK(judge());
  } else {
    answer_.reason = work.error().message;
  }
  if (!answer_.legal) {
    for (const WorkMap& other : other_divisions()) {
      TESSERA_CHECK_OK(judge_instead(other));
      if (answer_.legal) break;
    }
  }
  if (!answer_.legal) find_alternatives();
  return std::move(answer_);
}

Result<Answer> propagate(const Question& question, const Kernels& kernels) {
  TESSERA_TRY(graph::Types outputs, graph::infer(*question.call));
  return Inquiry(question, kernels, std::move(outputs)).answer();
}

std::vector<PartialAxis> partial_axes(const Layout& layout) {
  std::vector<PartialAxis> axes;
  for (const Fill& fill : layout.form().fills) {
    if (fill.kind == Fill::Kind::kPartial && fill.count > 1) {
      axes.push_back({fill.axis, fill.count, fill.reduction});
    }
  }
  return axes;
}

}  // namespace tessera::ops
