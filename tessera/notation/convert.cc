// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/convert.h"

#include <bit>
#include <optional>
#include <utility>

#include "tessera/base/text.h"

namespace tessera {
namespace {

Error cannot(std::string reason) {
  return Error{ErrorCode::kNotSupported, std::move(reason), std::nullopt,
               "the native notation can say it"};
}

/// Something that a layout says besides where its elements are.
struct Remark {
  std::string what;
  void (*drop)(LayoutSpec& spec);
};

std::vector<Remark> remarks_of(const LayoutSpec& spec) {
  std::vector<Remark> remarks;
  if (spec.padding != PaddingValue::undef()) {
    remarks.push_back({"the padding value", [](LayoutSpec& s) { s.padding = {}; }});
  }
  if (!spec.space.empty()) {
    remarks.push_back({cat("the memory space ", spec.space), [](LayoutSpec& s) { s.space = {}; }});
  }
  if (spec.device_map.kind() != DeviceMap::Kind::kIdentity) {
    remarks.push_back(
        {"the device map", [](LayoutSpec& s) { s.device_map = DeviceMap::identity(); }});
  }
  // Exponents are shared inside a tile of block floats; any other tile is its elements in a row.
  if (spec.atom.is_tile() && !is_block_float(spec.atom.storage)) {
    remarks.push_back({cat("storage in tiles of ", spec.atom.rows, "x", spec.atom.cols),
                       [](LayoutSpec& s) { s.atom = Atom::scalar(s.atom.storage); }});
  }
  return remarks;
}

/// Raises with as few remarks dropped as possible. When nothing helps, the reason is the one that
/// stands without any remark.
Result<Conversion> raise_layout(const Layout& layout, const Notation& to) {
  const std::vector<Remark> remarks = remarks_of(layout.spec());
  std::optional<Error> refusal;
  for (std::size_t dropped = 0; dropped <= remarks.size(); ++dropped) {
    for (unsigned set = 0; set < 1U << remarks.size(); ++set) {
      if (static_cast<std::size_t>(std::popcount(set)) != dropped) continue;
      Conversion conversion;
      LayoutSpec spec = layout.spec();
      for (std::size_t i = 0; i < remarks.size(); ++i) {
        if ((set >> i & 1U) == 0) continue;
        remarks[i].drop(spec);
        conversion.lost.push_back(remarks[i].what);
      }
      TESSERA_TRY(const Layout bare, Layout::make(std::move(spec)));
      if (auto reason = outside_scope(bare, to.name, to.scope)) {
        refusal = cannot(*std::move(reason));
        continue;
      }
      Result<std::string> text = print_tensor(bare, to);
      if (text) {
        conversion.text = *std::move(text);
        return conversion;
      }
      refusal = text.error();
    }
  }
  return *refusal;
}

/// A view whose elements do not share after all is a layout, which more notations can say.
std::optional<Layout> unshared(const Placement& placement) {
  const View* view = placement.view();
  if (view == nullptr) return std::nullopt;
  LayoutSpec spec;
  spec.form = view->form();
  spec.dtype = view->dtype();
  spec.atom = view->atom();
  spec.slots = view->slots();
  Result<Layout> layout = Layout::make(std::move(spec));
  return layout ? std::optional(*std::move(layout)) : std::nullopt;
}

Result<Conversion> raise_placement(const Placement& placement, const Notation& to) {
  if (const Layout* layout = placement.layout()) return raise_layout(*layout, to);
  if (auto reason = outside_scope(placement, to.name, to.scope)) {
    return cannot(*std::move(reason));
  }
  TESSERA_TRY(std::string text, print_tensor(placement, to));
  return Conversion{std::move(text), {}};
}

Status check_same(const Placement& before, const Conversion& conversion, const Notation& to) {
  TESSERA_TRY(const Tensor after, parse_tensor(conversion.text));
  TESSERA_TRY(const Comparison same, same_placement(before, after.placement));
  if (!same.equal) {
    return cannot(cat(to.name, " puts element ", bracketed(*same.first_difference), " elsewhere"));
  }
  if (before.slots() != after.placement.slots()) {
    return cannot(cat(to.name, " allocates ", after.placement.slots(), " slots a place, not ",
                      before.slots()));
  }
  if (before.atom().storage != after.placement.atom().storage || before.dtype() != after.dtype()) {
    return cannot(cat(to.name, " stores ", dtype_name(after.dtype()), " as ",
                      dtype_name(after.placement.atom().storage), ", not ",
                      dtype_name(before.dtype()), " as ", dtype_name(before.atom().storage)));
  }
  return ok_status();
}

}  // namespace

Result<Conversion> convert(const Tensor& tensor, const Notation& to) {
  if (tensor.notation == to.name) return Conversion{print_tensor(tensor), {}};
  const std::optional<Layout> layout = unshared(tensor.placement);
  TESSERA_TRY(Conversion conversion,
              raise_placement(layout ? Placement(*layout) : tensor.placement, to));
  TESSERA_CHECK_OK(check_same(tensor.placement, conversion, to));
  return conversion;
}

}  // namespace tessera
