// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/inquiry.h"

#include <algorithm>
#include <utility>

#include "tessera/base/sort_stably.h"
#include "tessera/ops/alternatives.h"
#include "tessera/ops/divide_like.h"
#include "tessera/ops/divide_parts.h"
#include "tessera/ops/layouts_for.h"
#include "tessera/ops/shares_of_sums.h"

namespace tessera::ops {
namespace {

/// Shares of a value on coordinates of mesh axes.
std::vector<Fill> shares_of_form(const Form& form) {
  std::vector<Fill> shares;
  for (const Fill& fill : form.fills) {
    if (fill.kind == Fill::Kind::kPartial && fill.count > 1) shares.push_back(fill);
  }
  return shares;
}

/// The coordinate on an axis of the first element that is read of an operand.
std::int64_t first_coordinate(const Loops& loops, const Access& access, const Form& form,
                              std::size_t axis) {
  Index first;
  for (const Range& range : reading_ranges(loops, access, form.shape)) first.push_back(range.from);
  Index x = access.index(first);
  for (std::size_t d = 0; d < x.size(); ++d) {
    x[d] = std::clamp<std::int64_t>(x[d], 0, form.shape[d] - 1);
  }
  Place place;
  std::int64_t slot = 0;
  form.evaluate(x, place, slot);
  return place[axis];
}

}  // namespace

void change_kind(std::vector<Fill>& fills, const std::vector<Fill>& these, Fill::Kind kind,
                 Reduction reduction) {
  for (Fill& fill : fills) {
    const bool is_one = std::ranges::any_of(these, [&](const Fill& one) {
      return one.axis == fill.axis && one.count == fill.count && one.stride == fill.stride;
    });
    if (!is_one || fill.kind == Fill::Kind::kFixed) continue;
    fill.kind = kind;
    fill.reduction = reduction;
  }
}

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

/// The work map in which every operand decides for its own part of a factor; empty if operands do
/// not have parts of one.
std::optional<WorkMap> Inquiry::divide_like_parts() const {
  std::vector<PlacedOperand> operands;
  for (const Given& given : givens_) operands.push_back({given.access, &given.form});
  Division division(answer_.loops, mesh_);
  if (!ops::divide_like_parts(answer_.loops, mesh_, operands, division)) return std::nullopt;
  for (const Given& given : givens_) {
    if (!division.follow(*given.access, given.form)) return std::nullopt;
  }
  Result<WorkMap> made = std::move(division).finish();
  return made ? std::optional(*std::move(made)) : std::nullopt;
}

/// The same work, but along axes on which it is repeated although some operand is not, only where
/// that operand begins; empty if there are none. It does where an operand is divided, but all that
/// is read of it is at one coordinate.
std::optional<WorkMap> Inquiry::not_repeated(const WorkMap& work) const {
  Form form = work.form();
  bool changes = false;
  for (Fill& fill : form.fills) {
    const auto axis = static_cast<std::size_t>(fill.axis);
    const bool repeats = fill.kind == Fill::Kind::kReplicate && fill.count > 1;
    if (!repeats || fill.count != form.mesh[axis]) continue;
    const auto given = std::ranges::find_if(givens_, [&](const Given& each) {
      return !each.form.shape.empty() &&
             std::ranges::none_of(each.form.fills, [&](const Fill& other) {
               return other.axis == fill.axis && other.kind != Fill::Kind::kFixed &&
                      other.count > 1;
             });
    });
    if (given == givens_.end()) continue;
    fill =
        Fill::fixed(fill.axis, first_coordinate(answer_.loops, *given->access, given->form, axis));
    changes = true;
  }
  if (!changes) return std::nullopt;
  Result<WorkMap> made = WorkMap::make(answer_.loops, std::move(form));
  return made ? std::optional(*std::move(made)) : std::nullopt;
}

/// Divisions that may do where the first one does not; none if an output decides.
std::vector<WorkMap> Inquiry::other_divisions() const {
  std::vector<WorkMap> others;
  const auto add = [&](const std::optional<WorkMap>& work) {
    if (work) others.push_back(*work);
  };
  if (std::ranges::any_of(givens_, &Given::is_output)) return others;
  if (answer_.work) add(not_repeated(*answer_.work));
  if (const std::optional<WorkMap> parts = divide_like_parts()) {
    add(parts);
    add(not_repeated(*parts));
  }
  return others;
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

}  // namespace tessera::ops
