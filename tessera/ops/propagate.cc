// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/propagate.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/sort_stably.h"
#include "tessera/base/text.h"
#include "tessera/layout/compare.h"
#include "tessera/ops/divide_like.h"
#include "tessera/ops/layouts_for.h"

namespace tessera::ops {
namespace {

/// An operand whose layout is given.
struct Given {
  bool is_output = false;
  std::size_t number = 0;
  const Access* access = nullptr;
  const Layout* layout = nullptr;

  std::string text() const { return cat(is_output ? "output " : "input ", number); }
};

/// The places that hold some element, without replicas.
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

Result<std::vector<Given>> givens_of(const Question& question, const Loops& loops,
                                     const graph::Types& outputs) {
  std::vector<Given> givens;
  const auto add = [&](bool is_output, std::size_t i, const Access& access, const Shape& shape,
                       const Layout& layout) -> Status {
    const Given given{is_output, i, &access, &layout};
    if (!(layout.shape() == shape)) {
      return Error{ErrorCode::kShapeMismatch,
                   cat(given.text(), " has the shape ", bracketed(shape.extents()), ", its layout ",
                       bracketed(layout.shape().extents()))};
    }
    givens.push_back(given);
    const Layout& first = *givens.front().layout;
    if (!(first.mesh() == layout.mesh()) ||
        !(first.spec().device_map == layout.spec().device_map)) {
      return Error{
          ErrorCode::kMeshMismatch,
          cat(givens.front().text(), " is on a mesh of ", bracketed(first.mesh().extents()), ", ",
              given.text(), " on one of ", bracketed(layout.mesh().extents()),
              first.mesh() == layout.mesh() ? " that has other places" : ""),
          std::nullopt, "reshard the operands to one mesh"};
    }
    return ok_status();
  };
  for (std::size_t o = 0; o < question.outputs.size(); ++o) {
    if (!question.outputs[o]) continue;
    TESSERA_CHECK_OK(add(true, o, loops.outputs[o], outputs[o].shape, *question.outputs[o]));
  }
  for (std::size_t i = 0; i < question.inputs.size(); ++i) {
    if (!question.inputs[i] || !loops.inputs[i]) continue;
    TESSERA_CHECK_OK(add(false, i, *loops.inputs[i], question.call->shape(i), *question.inputs[i]));
  }
  // Outputs decide before inputs, and what is spread over more places before the rest.
  sort_stably(givens, [](const Given& a, const Given& b) {
    if (a.is_output != b.is_output) return a.is_output;
    return spread(a.layout->form()) > spread(b.layout->form());
  });
  return givens;
}

/// The work map in which the first operands decide, and why not if there is none.
Result<WorkMap> divide_like(const Loops& loops, const std::vector<Given>& givens) {
  Division division(loops, givens.front().layout->mesh());
  for (const Given& given : givens) {
    TESSERA_CHECK_OK(division.follow(*given.access, given.layout->form()));
  }
  return std::move(division).finish();
}

/// Layouts of new operands lie on the same places as those that are given.
Result<Layout> on_places_of(Result<Layout> layout, const Layout& given) {
  if (!layout || given.spec().device_map.kind() == DeviceMap::Kind::kIdentity) return layout;
  LayoutSpec spec = layout->spec();
  spec.device_map = given.spec().device_map;
  return Layout::make(std::move(spec));
}

graph::TensorType input_type(const graph::Call& call, std::size_t i) { return call.type(i); }

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

/// Fills `answer` for this work map. A reason why it is not legal is no error.
Status judge(const Question& question, const graph::Types& outputs,
             const std::vector<Given>& givens, Answer& answer) {
  const WorkMap& work = *answer.work;
  const graph::Call& call = *question.call;
  answer.legal = true;
  for (std::size_t i = 0; i < call.inputs(); ++i) {
    if (!answer.loops.inputs[i]) continue;
    const Access& access = *answer.loops.inputs[i];
    if (!answer.inputs[i]) {
      TESSERA_TRY(answer.inputs[i],
                  on_places_of(layout_for_input(answer.loops, access, input_type(call, i), work),
                               *givens.front().layout));
    }
    TESSERA_TRY(const Supply supply,
                supplies(answer.loops, access, answer.inputs[i]->form(), work));
    answer.halos[i] = supply.halos;
    if (!supply.complete && answer.legal) {
      answer.legal = false;
      answer.reason =
          cat("input ", i, ": ", divided_whole(answer.loops, i, *answer.inputs[i]), supply.reason);
    }
  }
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    Result<Layout> made =
        on_places_of(layout_for_output(answer.loops, answer.loops.outputs[o], outputs[o], work),
                     *givens.front().layout);
    if (!made) {
      answer.legal = false;
      if (answer.reason.empty()) answer.reason = cat("output ", o, ": ", made.error().message);
      answer.outputs.clear();
      return ok_status();
    }
    const bool asked = o < question.outputs.size() && question.outputs[o].has_value();
    if (asked) {
      TESSERA_TRY(const bool same,
                  compatible_without_movement(made->form(), question.outputs[o]->form()));
      if (!same && answer.legal) {
        answer.legal = false;
        answer.reason = partial_axes(*made).empty()
                            ? cat("output ", o, " results on other places than asked")
                            : cat("output ", o, " results as partial sums over mesh axis ",
                                  partial_axes(*made)[0].axis, ", which have to be reduced");
      }
      if (same) made = *question.outputs[o];
    }
    answer.outputs.push_back(*std::move(made));
  }
  if (!answer.legal) answer.outputs.clear();
  return ok_status();
}

/// What a layout takes on the places that hold some of it.
std::int64_t held_bytes(const Layout& layout) {
  const Checked places = Checked(spread(layout.form())) * layout.form().replicas();
  return (places * layout.shard_bytes()).saturated();
}

/// What would do instead in this division of the work.
std::optional<Alternative> alternative(const Question& question, const Answer& answer,
                                       const WorkMap& work, const Given& seed) {
  Alternative other;
  Checked bytes(0);
  for (std::size_t i = 0; i < question.call->inputs(); ++i) {
    other.inputs.emplace_back();
    other.changed.push_back(false);
    if (!answer.loops.inputs[i]) continue;
    const Access& access = *answer.loops.inputs[i];
    const bool given = i < question.inputs.size() && question.inputs[i].has_value();
    if (given) {
      const Result<Supply> supply =
          supplies(answer.loops, access, question.inputs[i]->form(), work);
      if (supply && supply->complete) {
        other.inputs[i] = question.inputs[i];
        continue;
      }
    }
    Result<Layout> made = on_places_of(
        layout_for_input(answer.loops, access, input_type(*question.call, i), work), *seed.layout);
    if (!made) return std::nullopt;
    other.inputs[i] = *std::move(made);
    other.changed[i] = given;
    if (given) bytes += held_bytes(*other.inputs[i]);
  }
  other.bytes = bytes.saturated();
  return other;
}

}  // namespace

Result<Answer> propagate(const Question& question) {
  const graph::Call& call = *question.call;
  TESSERA_TRY(const graph::Types outputs, graph::infer(call));
  Answer answer;
  TESSERA_TRY(answer.loops, loops_of(call, outputs));
  answer.inputs.resize(call.inputs());
  answer.halos.resize(call.inputs());
  for (std::size_t i = 0; i < std::min(call.inputs(), question.inputs.size()); ++i) {
    if (answer.loops.inputs[i]) answer.inputs[i] = question.inputs[i];
  }
  TESSERA_TRY(const std::vector<Given> givens, givens_of(question, answer.loops, outputs));
  if (givens.empty()) {
    return Error{ErrorCode::kUsage, "no layout of an operand is given", std::nullopt,
                 "give the layouts of the inputs, or that of the output"};
  }
  Result<WorkMap> work = divide_like(answer.loops, givens);
  if (work) {
    answer.work = *std::move(work);
    TESSERA_CHECK_OK(judge(question, outputs, givens, answer));
  } else {
    answer.reason = work.error().message;
  }
  if (answer.legal) return answer;
  std::vector<WorkMap> divisions;
  if (answer.work) divisions.push_back(*answer.work);
  for (const Given& seed : givens) {
    // If an output is asked, a division like an input would give another one.
    if (seed.is_output != givens.front().is_output) break;
    Result<WorkMap> alone = divide_like(answer.loops, {seed});
    if (alone && std::ranges::find(divisions, *alone) == divisions.end()) {
      divisions.push_back(*std::move(alone));
    }
  }
  for (const WorkMap& division : divisions) {
    std::optional<Alternative> other = alternative(question, answer, division, givens.front());
    const auto is_changed = [](bool changed) { return changed; };
    if (!other || std::ranges::none_of(other->changed, is_changed)) continue;
    const bool known = std::ranges::any_of(
        answer.alternatives, [&](const Alternative& a) { return a.inputs == other->inputs; });
    if (!known) answer.alternatives.push_back(*std::move(other));
  }
  sort_stably(answer.alternatives,
              [](const Alternative& a, const Alternative& b) { return a.bytes < b.bytes; });
  return answer;
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
