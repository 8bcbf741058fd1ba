// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/propagate.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/sort_stably.h"
#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/ops/alternatives.h"
#include "tessera/ops/divide_like.h"
#include "tessera/ops/layouts_for.h"
#include "tessera/ops/memory_order.h"
#include "tessera/ops/shares_of_sums.h"

namespace tessera::ops {
namespace {

/// An operand whose layout is given.
struct Given {
  bool is_output = false;
  std::size_t number = 0;
  const Access* access = nullptr;
  const Layout* layout = nullptr;
  Form form;  ///< where the work finds it

  std::string text() const { return cat(is_output ? "output " : "input ", number); }
};

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

/// Shares of a value on coordinates of mesh axes.
std::vector<Fill> shares_of_form(const Form& form) {
  std::vector<Fill> shares;
  for (const Fill& fill : form.fills) {
    if (fill.kind == Fill::Kind::kPartial && fill.count > 1) shares.push_back(fill);
  }
  return shares;
}

/// The same fills with another kind for these.
void change_kind(std::vector<Fill>& fills, const std::vector<Fill>& these, Fill::Kind kind,
                 Reduction reduction = Reduction::kSum) {
  for (Fill& fill : fills) {
    const bool is_one = std::ranges::any_of(these, [&](const Fill& one) {
      return one.axis == fill.axis && one.count == fill.count && one.stride == fill.stride;
    });
    if (!is_one || fill.kind == Fill::Kind::kFixed) continue;
    fill.kind = kind;
    fill.reduction = reduction;
  }
}

/// A question while it is answered.
class Inquiry {
 public:
  Inquiry(const Question& question, const Kernels& kernels, graph::Types outputs)
      : question_(question), kernels_(kernels), outputs_(std::move(outputs)) {}

  Result<Answer> answer();

 private:
  const graph::Call& call() const { return *question_.call; }
  bool is_given(std::size_t i) const {
    return i < question_.inputs.size() && question_.inputs[i].has_value();
  }

  Status read();
  void find_shares();
  bool has_shares() const { return std::ranges::find(partial_, true) != partial_.end(); }
  bool repeats_shares(const WorkMap& work) const;
  Form seen(std::size_t i, const Layout& layout) const;
  Result<WorkMap> divide_like(const std::vector<Given>& givens) const;
  Result<Layout> on_places(Result<Layout> layout) const;
  Result<Layout> input_for(std::size_t i, const WorkMap& work) const;
  Layout in_some_order(std::size_t o, Layout made) const;
  Status judge();
  Result<bool> judge_output(std::size_t o);
  std::optional<Alternative> alternative(const WorkMap& work) const;
  void find_alternatives();

  const Question& question_;
  const Kernels& kernels_;
  graph::Types outputs_;
  Answer answer_;
  Shape mesh_;
  const Layout* first_ = nullptr;  ///< whose places new layouts lie on
  std::vector<Given> givens_;      ///< that decide, in their order
  std::vector<bool> partial_;      ///< inputs that are shares, and on which the op runs
  std::vector<Fill> shares_;       ///< of those
};

/// The operands that decide how the work is divided.
Status Inquiry::read() {
  const auto add = [&](bool is_output, std::size_t i, const Access& access, const Shape& shape,
                       const Layout& layout, bool decides) -> Status {
    Given given{is_output, i, &access, &layout, {}};
    if (!(layout.shape() == shape)) {
      return Error{ErrorCode::kShapeMismatch,
                   cat(given.text(), " has the shape ", bracketed(shape.extents()), ", its layout ",
                       bracketed(layout.shape().extents()))};
    }
    if (!decides) {
      if (first_ == nullptr) first_ = &layout;
      return ok_status();
    }
    if (givens_.empty()) first_ = &layout;
    const Layout& first = *first_;
    if (!(first.mesh() == layout.mesh()) ||
        !(first.spec().device_map == layout.spec().device_map)) {
      return Error{
          ErrorCode::kMeshMismatch,
          cat(givens_.front().text(), " is on a mesh of ", bracketed(first.mesh().extents()), ", ",
              given.text(), " on one of ", bracketed(layout.mesh().extents()),
              first.mesh() == layout.mesh() ? " that has other places" : ""),
          std::nullopt, "reshard the operands to one mesh"};
    }
    givens_.push_back(std::move(given));
    return ok_status();
  };
  for (std::size_t o = 0; o < question_.outputs.size(); ++o) {
    if (!question_.outputs[o]) continue;
    TESSERA_CHECK_OK(add(true, o, answer_.loops.outputs[o], outputs_[o].shape,
                         *question_.outputs[o], !kernels_.is_anywhere(o)));
  }
  for (std::size_t i = 0; i < question_.inputs.size(); ++i) {
    if (!question_.inputs[i] || !answer_.loops.inputs[i]) continue;
    TESSERA_CHECK_OK(add(false, i, *answer_.loops.inputs[i], call().shape(i), *question_.inputs[i],
                         !kernels_.of_input(i).everywhere));
  }
  if (first_ == nullptr) {
    return Error{ErrorCode::kUsage, "no layout of an operand is given", std::nullopt,
                 "give the layouts of the inputs, or that of the output"};
  }
  mesh_ = first_->mesh();
  find_shares();
  for (Given& given : givens_) {
    given.form = given.is_output ? given.layout->form() : seen(given.number, *given.layout);
  }
  // Outputs decide before inputs, and what is spread over more places before the rest.
  sort_stably(givens_, [](const Given& a, const Given& b) {
    if (a.is_output != b.is_output) return a.is_output;
    return spread(a.form) > spread(b.form);
  });
  return ok_status();
}

/// The inputs that are shares, if the op runs on them; if an output is asked that only shares of
/// inputs give, those.
void Inquiry::find_shares() {
  partial_.assign(call().inputs(), false);
  bool any = false;
  for (std::size_t i = 0; i < question_.inputs.size(); ++i) {
    if (!question_.inputs[i]) continue;
    const std::vector<Fill> fills = shares_of_form(question_.inputs[i]->form());
    if (fills.empty()) continue;
    if (any && fills != shares_) return partial_.assign(call().inputs(), false);
    partial_[i] = any = true;
    shares_ = fills;
  }
  const auto is_one_kind = [&] {
    return std::ranges::all_of(
        shares_, [&](const Fill& fill) { return fill.reduction == shares_[0].reduction; });
  };
  if (any) {
    const bool runs = is_one_kind() && runs_on_shares(call(), partial_, shares_[0].reduction);
    if (!runs) partial_.assign(call().inputs(), false);
    return;
  }
  const bool asks = !question_.outputs.empty() && question_.outputs[0].has_value();
  if (!asks) return;
  shares_ = shares_of_form(question_.outputs[0]->form());
  if (shares_.empty() || !is_one_kind()) return;
  const bool reduces = std::ranges::any_of(answer_.loops.factors, [&](const Factor& factor) {
    return factor.kind == FactorKind::kReduce && factor.extent > 1 &&
           factor.reduction == shares_[0].reduction;
  });
  if (reduces) return;
  partial_ = shares_that_do(call(), shares_[0].reduction);
  partial_.resize(call().inputs(), false);
}

/// Whether the places that have shares perform the same iterations, each on its own.
bool Inquiry::repeats_shares(const WorkMap& work) const {
  return std::ranges::all_of(shares_, [&](const Fill& share) {
    return std::ranges::any_of(work.form().fills, [&](const Fill& fill) {
      return fill.kind == Fill::Kind::kReplicate && fill.axis == share.axis &&
             fill.count == share.count && fill.stride == share.stride;
    });
  });
}

/// Where the work finds an input: where it is, where kernels bring it, and a share where an op runs
/// on shares.
Form Inquiry::seen(std::size_t i, const Layout& layout) const {
  Form form = as_brought(layout.form(), kernels_.of_input(i), mesh_);
  if (partial_[i]) change_kind(form.fills, shares_, Fill::Kind::kReplicate);
  return form;
}

/// The work map in which the first operands decide, and why not if there is none.
Result<WorkMap> Inquiry::divide_like(const std::vector<Given>& givens) const {
  Division division(answer_.loops, mesh_);
  for (const Given& given : givens) {
    TESSERA_CHECK_OK(division.follow(*given.access, given.form));
  }
  for (const Given& given : givens) {
    if (!given.is_output || has_shares()) continue;
    for (const Fill& share : shares_of_form(given.form)) division.reduce_over(share);
  }
  return std::move(division).finish();
}

/// Layouts of new operands lie on the same places as those that are given.
Result<Layout> Inquiry::on_places(Result<Layout> layout) const {
  if (!layout || first_->spec().device_map.kind() == DeviceMap::Kind::kIdentity) return layout;
  LayoutSpec spec = layout->spec();
  spec.device_map = first_->spec().device_map;
  return Layout::make(std::move(spec));
}

/// What the work needs of an input.
Result<Layout> Inquiry::input_for(std::size_t i, const WorkMap& work) const {
  TESSERA_TRY(Layout made, on_places(layout_for_input(answer_.loops, *answer_.loops.inputs[i],
                                                      call().type(i), work)));
  if (!partial_[i] || !repeats_shares(work)) return made;
  LayoutSpec spec = made.spec();
  change_kind(spec.form.fills, shares_, Fill::Kind::kPartial, shares_[0].reduction);
  return Layout::make(std::move(spec));
}

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
  if (!answer_.legal) find_alternatives();
  return std::move(answer_);
}

}  // namespace

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
