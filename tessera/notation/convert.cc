// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/convert.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/layout/runs.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/raising/elsewhere.h"
#include "tessera/notation/raising/one_rule.h"
#include "tessera/notation/raising/other_meshes.h"
#include "tessera/notation/raising/refusal.h"
#include "tessera/notation/same_places.h"

namespace tessera::notation {
namespace {

constexpr std::string_view kNativeCan = "the native notation can express it";

Error cannot(std::string_view notation, Obstacle what) {
  what.words = cat(notation, " ", what.words);
  Error error = as_error(std::move(what));
  error.help = kNativeCan;
  return error;
}

/// A property of a layout other than where its elements are.
struct Remark {
  std::string what;
  void (*drop)(LayoutSpec& spec);
};

/// The reduction of a single share is the share.
constexpr std::string_view kOneShare = "the reduction of one share";

bool is_one_share(const Fill& fill) { return fill.kind == Fill::Kind::kPartial && fill.count == 1; }

/// Returns whether there were any.
bool drop_one_shares(Form& form) {
  bool any = false;
  for (Fill& fill : form.fills) {
    if (!is_one_share(fill)) continue;
    fill = Fill::fixed(fill.axis, 0);
    any = true;
  }
  return any;
}

/// Whether the layout has a device map that puts every place where it would be without one.
bool has_idle_map(const LayoutSpec& spec) {
  if (spec.device_map.kind() == DeviceMap::Kind::kIdentity) return false;
  LayoutSpec bare = spec;
  bare.device_map = DeviceMap::identity();
  const Result<Layout> with = Layout::make(spec);
  const Result<Layout> without = Layout::make(std::move(bare));
  if (!with || !without) return false;
  const Result<Comparison> same = same_on_device(*with, *without);
  return same && same->equal;
}

std::vector<Remark> remarks_of(const LayoutSpec& spec) {
  std::vector<Remark> remarks;
  if (std::any_of(spec.form.fills.begin(), spec.form.fills.end(), is_one_share)) {
    remarks.push_back({std::string(kOneShare), [](LayoutSpec& s) { drop_one_shares(s.form); }});
  }
  if (spec.padding != PaddingValue::undef()) {
    remarks.push_back({"the padding value", [](LayoutSpec& s) { s.padding = {}; }});
  }
  if (!spec.space.empty()) {
    remarks.push_back({cat("the memory space ", spec.space), [](LayoutSpec& s) { s.space = {}; }});
  }
  if (has_idle_map(spec)) {
    remarks.push_back(
        {"the device map", [](LayoutSpec& s) { s.device_map = DeviceMap::identity(); }});
  }
  // The elements of a tile of block floats share exponents; any other tile is just its elements in
  // order.
  if (spec.atom.is_tile() && !is_block_float(spec.atom.storage)) {
    remarks.push_back({cat("storage in tiles of ", spec.atom.rows, "x", spec.atom.cols),
                       [](LayoutSpec& s) { s.atom = Atom::scalar(s.atom.storage); }});
  }
  return remarks;
}

/// The layout without its cuts, if they amount to one stride per dim.
std::optional<Layout> straightened(const Layout& layout) {
  if (layout.places() != 1 || layout.shape().empty()) return std::nullopt;
  const Result<std::vector<std::int64_t>> strides = strides_of(layout.form());
  if (!strides) return std::nullopt;
  Place place;
  std::int64_t first = 0;
  layout.form().evaluate(Index(layout.shape().rank(), 0), place, first);
  const Result<Form> straight = strided_form(layout.shape(), *strides, first);
  if (!straight) return std::nullopt;
  LayoutSpec spec = layout.spec();
  spec.form.folds = straight->folds;
  spec.form.offset = straight->offset;
  spec.slots = layout.slots();
  Result<Layout> again = Layout::make(std::move(spec));
  return again ? std::optional(*std::move(again)) : std::nullopt;
}

/// The layout in the notation `to`. If a description is rejected, it is tried again without
/// unnecessary cuts.
Result<std::string> raise_text(const Layout& layout, const Notation& to) {
  Result<std::string> text = print_tensor(layout, to);
  if (text) return text;
  for (const auto& simpler : {straightened(layout), one_rule(layout)}) {
    if (!simpler) continue;
    Result<std::string> again = print_tensor(*simpler, to);
    if (again) return again;
  }
  return text;
}

/// Raises and drops as few remarks as possible. When nothing helps, the reason is the one for the
/// layout without any remark.
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
      if (auto outside = outside_scope(bare, to.name, to.scope)) {
        refusal = std::move(outside);
        continue;
      }
      Result<std::string> text = raise_text(bare, to);
      if (text) {
        conversion.text = *std::move(text);
        return conversion;
      }
      refusal = text.error();
    }
  }
  return *refusal;
}

/// A view whose elements do not share slots is a layout.
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

/// The same placement by a simpler rule, if there is one: more notations can express it.
std::optional<Layout> as_layout(const Placement& placement) {
  if (placement.pieces() != nullptr) return one_rule(*placement.pieces());
  return unshared(placement);
}

Result<Conversion> raise_placement(const Placement& placement, const Notation& to) {
  if (const Layout* layout = placement.layout()) return raise_layout(*layout, to);
  if (auto outside = outside_scope(placement, to.name, to.scope)) return *std::move(outside);
  Result<std::string> text = print_tensor(placement, to);
  if (text) return Conversion{*std::move(text), {}};
  if (const View* view = placement.view()) {
    Form form = view->form();
    if (drop_one_shares(form)) {
      TESSERA_TRY(const View bare,
                  View::make(std::move(form), view->dtype(), view->atom(), view->slots()));
      TESSERA_TRY(std::string again, print_tensor(bare, to));
      return Conversion{std::move(again), {std::string(kOneShare)}};
    }
  }
  return text.error();
}

/// Raises the placement as described if possible, otherwise by a simpler rule.
Result<Conversion> raise_by_any_rule(const Placement& placement, const Notation& to) {
  if (placement.pieces() != nullptr && to.scope.pieces) {
    Result<Conversion> boxes = raise_placement(placement, to);
    if (boxes) return boxes;
  }
  const std::optional<Layout> layout = as_layout(placement);
  return raise_placement(layout ? Placement(*layout) : placement, to);
}

/// Reads the converted text. An error has no span: its position would be one in a text that the
/// caller has never seen.
Result<Tensor> read_again(const Conversion& conversion, const Notation& to) {
  Result<Tensor> tensor = parse_tensor(conversion.text);
  if (tensor) return tensor;
  return Error{
      tensor.error().code,
      cat("the tensor in ", to.name, " notation cannot be read again: ", tensor.error().message),
      std::nullopt, tensor.error().help};
}

/// Why element `index` of the converted tensor is on other places of the device.
Error elsewhere(const Placement& before, const Placement& after, const Index& index,
                const Notation& to) {
  const Result<Comparison> on_mesh = same_placement(before, after);
  if (on_mesh && on_mesh->equal) {
    return cannot(to.name,
                  obstacle(why::kDeviceMap, "puts element {index} on other places of the device",
                           {fact("index", index)}));
  }
  Error error = as_error(copies_elsewhere(to.name, before, after, index));
  error.help = kNativeCan;
  return error;
}

Status check_same(const Tensor& tensor, const Conversion& conversion, const Notation& to) {
  const Placement& before = tensor.placement;
  TESSERA_TRY(const Tensor after, read_again(conversion, to));
  TESSERA_TRY(const SamePlaces places, same_places(tensor, after));
  TESSERA_TRY(const Comparison same, same_on_device(places.a, places.b));
  if (!same.equal) return elsewhere(before, after.placement, *same.first_difference, to);
  if (before.places() != after.placement.places() ||
      (!places.by_number && before.places() > 1 && before.mesh() != after.placement.mesh())) {
    return cannot(to.name,
                  obstacle(why::kMeshShape, "has a mesh of {expected_mesh:x}, not {mesh:x}",
                           {fact("mesh", before.mesh().extents()),
                            fact("expected_mesh", after.placement.mesh().extents())}));
  }
  if (before.slots() != after.placement.slots()) {
    return cannot(
        to.name,
        obstacle(why::kAllocation, "allocates {expected_slots} slots per place, not {slots}",
                 {fact("slots", before.slots()), fact("expected_slots", after.placement.slots())}));
  }
  if (before.atom().storage != after.placement.atom().storage || before.dtype() != after.dtype()) {
    return cannot(
        to.name, obstacle(why::kStoredAs,
                          "stores {expected_dtype} as {expected_storage}, not {dtype} as {storage}",
                          {fact("dtype", dtype_name(before.dtype())),
                           fact("storage", dtype_name(before.atom().storage)),
                           fact("expected_dtype", dtype_name(after.dtype())),
                           fact("expected_storage", dtype_name(after.placement.atom().storage))}));
  }
  return ok_status();
}

}  // namespace

Result<Conversion> convert(const Tensor& tensor, const Notation& to) {
  if (tensor.notation == to.name) return Conversion{print_tensor(tensor), {}};
  std::optional<Error> refusal;  // for the mesh of the tensor itself
  for (const Placement& placement : on_other_meshes(tensor.placement)) {
    Result<Conversion> conversion = raise_by_any_rule(placement, to);
    const Status checked =
        conversion ? check_same(tensor, *conversion, to) : Status(conversion.error());
    if (checked) return conversion;
    if (!refusal) refusal = checked.error();
  }
  return *refusal;
}

Result<Conversion> convert(const Tensor& tensor, std::string_view to) {
  TESSERA_TRY(const Notation* const notation, find_notation(to));
  return convert(tensor, *notation);
}

}  // namespace tessera::notation
