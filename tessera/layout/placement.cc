// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/placement.h"

#include <optional>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/algebra/slice.h"

namespace tessera {
namespace {

Form form_in(const FormPiece& piece, const Box& box) {
  if (box == piece.box) return *piece.form;
  return restrict_to(*piece.form, minus(box.from, piece.box.from), minus(box.to, piece.box.from));
}

}  // namespace

const Shape& Placement::shape() const {
  return std::visit([](const auto& rule) -> const Shape& { return rule.shape(); }, rule_);
}

const Shape& Placement::mesh() const {
  return std::visit([](const auto& rule) -> const Shape& { return rule.mesh(); }, rule_);
}

DType Placement::dtype() const {
  return std::visit([](const auto& rule) { return rule.dtype(); }, rule_);
}

const Atom& Placement::atom() const {
  return std::visit([](const auto& rule) -> const Atom& { return rule.atom(); }, rule_);
}

std::int64_t Placement::slots() const {
  return std::visit([](const auto& rule) { return rule.slots(); }, rule_);
}

std::int64_t Placement::shard_bytes() const {
  return std::visit([](const auto& rule) { return rule.shard_bytes(); }, rule_);
}

std::pair<const Form*, Index> Placement::form_at(const Index& index) const {
  if (const Layout* whole = layout()) return {&whole->form(), index};
  if (const View* whole = view()) return {&whole->form(), index};
  for (const LayoutPiece& piece : pieces()->pieces()) {
    if (piece.box.contains(index)) return {&piece.layout.form(), minus(index, piece.box.from)};
  }
  return {nullptr, index};  // not inside the shape
}

Result<Location> Placement::locate(const Index& index) const {
  return std::visit([&](const auto& rule) { return rule.locate(index); }, rule_);
}

Result<SlotContent> Placement::contents_at(const Place& place, std::int64_t slot) const {
  if (const View* aliased = view()) {
    TESSERA_TRY(std::vector<Index> indices, aliased->elements_at(place, slot));
    if (indices.empty()) return SlotContent{Padding{Cause::kGap}};
    return SlotContent{std::move(indices)};
  }
  Result<Slot> held =
      layout() != nullptr ? layout()->element_at(place, slot) : pieces()->element_at(place, slot);
  if (!held) return held.error();
  if (Index* index = std::get_if<Index>(&*held)) {
    return SlotContent{std::vector<Index>{std::move(*index)}};
  }
  return SlotContent{std::get<Padding>(*held)};
}

std::vector<FormPiece> form_pieces(const Placement& placement) {
  if (const Layout* layout = placement.layout()) {
    return {{Box::whole(layout->shape()), &layout->form(), &layout->spec().device_map}};
  }
  if (const View* view = placement.view())
    return {{Box::whole(view->shape()), &view->form(), nullptr}};
  std::vector<FormPiece> pieces;
  for (const LayoutPiece& piece : placement.pieces()->pieces()) {
    pieces.push_back({piece.box, &piece.layout.form(), &piece.layout.spec().device_map});
  }
  return pieces;
}

Status for_each_meeting(const Placement& a, const Placement& b,
                        const std::function<Status(const Meeting&)>& visit) {
  if (a.shape() != b.shape()) {
    return Error{ErrorCode::kShapeMismatch,
                 cat("shapes ", bracketed(a.shape().extents()), " and ",
                     bracketed(b.shape().extents()), " differ"),
                 std::nullopt, "both must have the same shape"};
  }
  const std::vector<FormPiece> of_b = form_pieces(b);
  for (const FormPiece& x : form_pieces(a)) {
    for (const FormPiece& y : of_b) {
      // Two rules for a whole tensor meet even if it is empty: their meshes may still disagree.
      const std::optional<Box> both = x.box == y.box ? x.box : meet(x.box, y.box);
      if (!both) continue;
      TESSERA_CHECK_OK(
          visit(Meeting{*both, form_in(x, *both), form_in(y, *both), x.device_map, y.device_map}));
    }
  }
  return ok_status();
}

Result<Comparison> same_placement(const Placement& a, const Placement& b) {
  Comparison result;
  TESSERA_CHECK_OK(for_each_meeting(a, b, [&](const Meeting& meeting) -> Status {
    TESSERA_TRY(const Comparison here, same_function(meeting.a, meeting.b));
    if (here.equal) return ok_status();
    Index index = plus(*here.first_difference, meeting.box.from);
    if (result.equal || index < *result.first_difference) {
      result.equal = false;
      result.first_difference = std::move(index);
    }
    return ok_status();
  }));
  return result;
}

Result<std::int64_t> moved_elements_between(const Placement& a, const Placement& b) {
  Checked moved = 0;
  TESSERA_CHECK_OK(for_each_meeting(a, b, [&](const Meeting& meeting) -> Status {
    TESSERA_TRY(const std::int64_t here, moved_elements(meeting.a, meeting.b));
    moved += here;
    return ok_status();
  }));
  return moved.value("the number of elements");
}

Result<bool> placed_compatibly(const Placement& from, const Placement& to) {
  bool compatible = true;
  TESSERA_CHECK_OK(for_each_meeting(from, to, [&](const Meeting& meeting) -> Status {
    TESSERA_TRY(const bool here, compatible_without_movement(meeting.a, meeting.b));
    compatible = compatible && here;
    return ok_status();
  }));
  return compatible;
}

}  // namespace tessera
