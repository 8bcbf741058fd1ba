// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <charconv>
#include <string>

#include "tessera/base/text.h"
#include "tessera/notation/native/fold_text.h"
#include "tessera/notation/native/text.h"

namespace tessera::notation {
namespace {

std::string print_fill(const Fill& fill, const Shape& mesh) {
  if (fill.kind == Fill::Kind::kFixed) return cat("fixed(m", fill.axis, "=", fill.value, ")");
  const bool partial = fill.kind == Fill::Kind::kPartial;
  std::string out = cat(partial ? "partial" : "replicate", "(m", fill.axis);
  if (fill.count != mesh[static_cast<std::size_t>(fill.axis)]) out += cat("#", fill.count);
  if (fill.stride != 1) out += cat("*", fill.stride);
  if (partial) out += cat(", ", reduction_name(fill.reduction));
  return out + ")";
}

std::string print_atom(const Atom& atom) {
  if (!atom.is_tile()) return std::string(dtype_name(atom.storage));
  return cat("tile(", atom.rows, "x", atom.cols, ", ", dtype_name(atom.storage), ")");
}

/// The shortest digits that read back as the same double.
std::string print_number(double number) {
  std::array<char, 32> digits;
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  return std::string(digits.data(), result.ptr);
}

std::string print_device(const DeviceMap& map, const Shape& mesh) {
  if (map.kind() == DeviceMap::Kind::kTable) {
    std::string out = cat("table(", bracketed(map.physical().extents()), ", [");
    for (std::size_t i = 0; i < map.places().size(); ++i) {
      out += cat(i == 0 ? "" : ", ", bracketed(map.places()[i]));
    }
    return out + "])";
  }
  std::string out = cat("folded(", bracketed(map.physical().extents()));
  for (const Fold& fold : map.folds()) out += cat(", ", print_fold(fold, mesh));
  if (!map.origin().empty()) out += cat(", origin=", bracketed(map.origin()));
  return out + ")";
}

std::string items_of(const LayoutSpec& spec) {
  std::vector<std::string> items;
  if (spec.form.mesh.rank() > 0) items.push_back(cat("mesh=", bracketed(spec.form.mesh.extents())));
  for (const Fold& fold : spec.form.folds) items.push_back(print_fold(fold, spec.form.shape));
  for (const Fill& fill : spec.form.fills) items.push_back(print_fill(fill, spec.form.mesh));
  if (spec.form.offset != 0) items.push_back(cat("offset=", spec.form.offset));
  if (spec.slots) items.push_back(cat("slots=", *spec.slots));
  if (spec.atom != Atom::scalar(spec.dtype)) items.push_back(cat("atom=", print_atom(spec.atom)));
  if (spec.padding.kind == PaddingValue::Kind::kNumber) {
    items.push_back(cat("pad=", print_number(spec.padding.number)));
  }
  if (!spec.space.empty()) items.push_back(cat("space=", spec.space));
  if (spec.device_map.kind() != DeviceMap::Kind::kIdentity) {
    items.push_back(cat("device=", print_device(spec.device_map, spec.form.mesh)));
  }
  return join(items, ", ");
}

std::string print_box(const Box& box) {
  std::string out;
  for (std::size_t dim = 0; dim < box.from.size(); ++dim) {
    out += cat(dim == 0 ? "" : ", ", box.from[dim], ":", box.to[dim]);
  }
  return cat("[", out, "]");
}

}  // namespace

std::string write_native(const Placement& placement) {
  if (const Layout* layout = placement.layout())
    return cat("native<", items_of(layout->spec()), ">");
  if (const View* view = placement.view()) {
    LayoutSpec spec;
    spec.form = view->form();
    spec.dtype = view->dtype();
    spec.atom = view->atom();
    if (view->slots() != view->form().reach()) spec.slots = view->slots();
    return cat("native.view<", items_of(spec), ">");
  }
  std::string out;
  for (const LayoutPiece& piece : placement.pieces()->pieces()) {
    out += cat(out.empty() ? "" : ", ", print_box(piece.box), " native<",
               items_of(piece.layout.spec()), ">");
  }
  return cat("native.pieces<", out, ">");
}

}  // namespace tessera::notation
