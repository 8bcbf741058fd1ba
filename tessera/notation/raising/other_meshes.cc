// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/raising/other_meshes.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "tessera/layout/placement.h"

namespace tessera::notation {
namespace {

/// A step of the place number, and how many values it has.
using Digits = std::map<std::int64_t, std::int64_t, std::greater<>>;

/// The digits of the place numbers; nullopt if the same step has several numbers of values.
std::optional<Digits> place_digits(const Form& form) {
  Digits digits;
  const auto add = [&](std::int64_t stride, std::int64_t count) {
    return count <= 1 || digits.try_emplace(stride, count).second;
  };
  for (const Fold& fold : form.folds) {
    for (const Cut& cut : fold.cuts) {
      if (cut.target.is_mesh() && !add(cut.stride, cut.count)) return std::nullopt;
    }
  }
  for (const Fill& fill : form.fills) {
    if (fill.kind != Fill::Kind::kFixed && !add(fill.stride, fill.count)) return std::nullopt;
  }
  return digits;
}

/// A form on one mesh axis, with an axis per digit, and one for each factor of the place number
/// that no digit uses; nullopt if the digits are not those of a mixed radix, or are one axis
/// already.
std::optional<Form> split(const Form& form) {
  const std::optional<Digits> digits = place_digits(form);
  if (!digits) return std::nullopt;
  std::vector<std::int64_t> extents;
  std::map<std::int64_t, int> axis_of;  // by the step
  std::int64_t places = form.mesh.elements();
  for (const auto& [stride, count] : *digits) {
    const std::int64_t reach = stride * count;
    if (places % reach != 0) return std::nullopt;
    if (places > reach) extents.push_back(places / reach);
    axis_of[stride] = static_cast<int>(extents.size());
    extents.push_back(count);
    places = stride;
  }
  if (places > 1) extents.push_back(places);
  if (extents.size() < 2) return std::nullopt;
  const Result<Shape> mesh = Shape::make(std::move(extents));
  if (!mesh) return std::nullopt;
  Form other = form;
  other.mesh = *mesh;
  for (Fold& fold : other.folds) {
    for (Cut& cut : fold.cuts) {
      if (!cut.target.is_mesh()) continue;
      const bool is_digit = cut.count > 1;
      cut.target = is_digit ? Target::mesh(axis_of.at(cut.stride)) : Target::nothing();
      cut.stride = 1;
    }
  }
  std::int64_t fixed = 0;
  other.fills.clear();
  for (const Fill& fill : form.fills) {
    if (fill.kind == Fill::Kind::kFixed) {
      fixed += fill.value;
    } else if (fill.count > 1) {
      other.fills.push_back(fill);
      other.fills.back().axis = axis_of.at(fill.stride);
      other.fills.back().stride = 1;
    }
  }
  const Place first = mesh->delinear(fixed);
  for (std::size_t axis = 0; axis < first.size(); ++axis) {
    other.fills.push_back(Fill::fixed(static_cast<int>(axis), first[axis]));
  }
  return other;
}

/// A form on one mesh axis, which becomes axis `axis` of two.
std::optional<Form> beside_one(const Form& form, int axis) {
  std::vector<std::int64_t> extents = {1, 1};
  extents[static_cast<std::size_t>(axis)] = form.mesh.elements();
  const Result<Shape> mesh = Shape::make(std::move(extents));
  if (!mesh) return std::nullopt;
  Form other = form;
  other.mesh = *mesh;
  for (Fold& fold : other.folds) {
    for (Cut& cut : fold.cuts) {
      if (cut.target.is_mesh()) cut.target = Target::mesh(axis);
    }
  }
  for (Fill& fill : other.fills) fill.axis = axis;
  return other;
}

using Change = std::function<std::optional<Form>(const Form&)>;

std::optional<Layout> changed(const Layout& layout, const Change& change) {
  if (layout.spec().device_map.kind() != DeviceMap::Kind::kIdentity) return std::nullopt;
  std::optional<Form> form = change(layout.form());
  if (!form) return std::nullopt;
  LayoutSpec spec = layout.spec();
  spec.form = *std::move(form);
  spec.slots = layout.slots();
  Result<Layout> made = Layout::make(std::move(spec));
  return made ? std::optional(*std::move(made)) : std::nullopt;
}

std::optional<Placement> changed(const Placement& placement, const Change& change) {
  if (const Layout* layout = placement.layout()) {
    std::optional<Layout> other = changed(*layout, change);
    return other ? std::optional<Placement>(*std::move(other)) : std::nullopt;
  }
  if (placement.view() != nullptr) return std::nullopt;
  std::vector<LayoutPiece> pieces;
  for (const LayoutPiece& piece : placement.pieces()->pieces()) {
    std::optional<Layout> other = changed(piece.layout, change);
    if (!other) return std::nullopt;
    pieces.push_back({piece.box, *std::move(other)});
  }
  Result<Piecewise> all = Piecewise::by_rule(placement.shape(), std::move(pieces));
  return all ? std::optional<Placement>(*std::move(all)) : std::nullopt;
}

}  // namespace

std::vector<Placement> on_other_meshes(const Placement& placement) {
  std::vector<Placement> all = {placement};
  if (placement.places() == 1) return all;
  const Result<Placement> flat = on_numbered_mesh(placement);
  if (!flat) return all;
  const auto add = [&](const std::optional<Placement>& other) {
    if (other && std::find(all.begin(), all.end(), *other) == all.end()) all.push_back(*other);
  };
  add(*flat);
  add(changed(*flat, split));
  for (const int axis : {0, 1}) {
    add(changed(*flat, [axis](const Form& form) { return beside_one(form, axis); }));
  }
  return all;
}

}  // namespace tessera::notation
