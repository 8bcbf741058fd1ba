// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/notation/native_text.h"
#include "tessera/notation/registry.h"

namespace tessera {
namespace {

/// The digit or fill that alone runs past the end of its axis; else the mesh, which is too small
/// for all of them together.
Span blame_reach(const NativeText& text, const Form& form) {
  const auto runs_past = [&](int axis, std::int64_t count, std::int64_t stride) {
    return (Checked(count > 0 ? count - 1 : 0) * stride).saturated() >=
           form.mesh[static_cast<std::size_t>(axis)];
  };
  for (std::size_t f = 0; f < form.folds.size(); ++f) {
    for (std::size_t k = 0; k < form.folds[f].cuts.size(); ++k) {
      const Cut& cut = form.folds[f].cuts[k];
      if (cut.target.is_mesh() && runs_past(cut.target.axis(), cut.count, cut.stride)) {
        return text.folds[f].cuts[k].whole;
      }
    }
  }
  for (std::size_t f = 0; f < form.fills.size(); ++f) {
    const Fill& fill = form.fills[f];
    const bool past = fill.kind == Fill::Kind::kFixed
                          ? fill.value >= form.mesh[static_cast<std::size_t>(fill.axis)]
                          : runs_past(fill.axis, fill.count, fill.stride);
    if (past) return text.fills[f].span;
  }
  return text.mesh ? text.mesh->span : text.whole;
}

Span blame_fill(const NativeText& text, const Form& form) {
  for (std::size_t f = 0; f < form.fills.size(); ++f) {
    const Fill& fill = form.fills[f];
    const bool fixed = fill.kind == Fill::Kind::kFixed;
    if (static_cast<std::size_t>(fill.axis) >= form.mesh.rank() ||
        (fixed ? fill.value < 0 : fill.count < 1 || fill.stride < 1)) {
      return text.fills[f].span;
    }
  }
  return text.whole;
}

template <typename T>
Span span_of(const std::optional<T>& item, Span otherwise) {
  return item ? item->span : otherwise;
}

/// The item that an error of Layout::make speaks of.
Span blame(const NativeText& text, const Form& form, ErrorCode code) {
  switch (code) {
    case ErrorCode::kAxisUnsaid:
    case ErrorCode::kBadShape:
      return span_of(text.mesh, text.whole);
    case ErrorCode::kMeshTooSmall:
      return blame_reach(text, form);
    case ErrorCode::kBadFill:
      return blame_fill(text, form);
    case ErrorCode::kBadFold:
      return form.offset < 0 ? span_of(text.offset, text.whole) : text.whole;
    case ErrorCode::kUnknownName:
      return span_of(text.space, text.whole);
    case ErrorCode::kSlotsTooFew:
      return span_of(text.slots, text.whole);
    case ErrorCode::kBadAtom:
    case ErrorCode::kBadDType:
      return span_of(text.atom, text.whole);
    case ErrorCode::kBadDeviceMap:
      return span_of(text.device, text.whole);
    default:
      return text.whole;
  }
}

Result<DeviceMap> resolve_device(const DeviceText& text, const Shape& mesh) {
  if (text.kind == DeviceMap::Kind::kIdentity) return DeviceMap::identity();
  if (text.kind == DeviceMap::Kind::kTable) return DeviceMap::table(text.physical, text.places);
  std::vector<Fold> folds;
  for (const FoldText& said : text.folds) {
    TESSERA_TRY(Fold fold, resolve_fold(said, mesh, text.physical.rank()));
    folds.push_back(std::move(fold));
  }
  return DeviceMap::folded(text.physical, std::move(folds), text.origin);
}

/// What the text says about `shape`, with every default filled in.
Result<LayoutSpec> resolve(const NativeText& text, const Shape& shape, DType dtype) {
  LayoutSpec spec;
  spec.dtype = dtype;
  spec.atom = text.atom ? text.atom->value : Atom::scalar(dtype);
  spec.form.shape = shape;
  if (text.mesh) spec.form.mesh = text.mesh->value;
  const Shape& mesh = spec.form.mesh;
  for (const FoldText& said : text.folds) {
    TESSERA_TRY(Fold fold, resolve_fold(said, shape, mesh.rank()));
    spec.form.folds.push_back(std::move(fold));
  }
  for (const FillText& said : text.fills) {
    Fill fill = said.fill;
    const auto axis = static_cast<std::size_t>(fill.axis);
    const bool whole_axis = fill.kind != Fill::Kind::kFixed && !said.count_said;
    if (whole_axis && axis < mesh.rank()) fill.count = mesh[axis];
    spec.form.fills.push_back(fill);
  }
  if (text.offset) spec.form.offset = text.offset->value;
  if (text.slots) spec.slots = text.slots->value;
  if (text.padding) spec.padding = text.padding->value;
  if (text.space) spec.space = text.space->value;
  if (text.device) {
    TESSERA_TRY(spec.device_map, resolve_device(*text.device, mesh));
  }
  return spec;
}

Result<Tensor> read(std::string_view source, const TensorType& type) {
  TESSERA_TRY(const NativeText text, read_native(source));
  Result<LayoutSpec> spec = resolve(text, type.shape, type.dtype());
  if (!spec) return spec.error().at(text.whole);
  Result<Layout> layout = Layout::make(*spec);
  if (!layout) return layout.error().at(blame(text, spec->form, layout.error().code));
  return Tensor{*std::move(layout), "native", {}};
}

WrittenTensor written(const Layout& layout) {
  return {TensorType::of(layout.shape(), layout.dtype()), write_native(layout)};
}

Result<WrittenTensor> raise(const Layout& layout) { return written(layout); }

WrittenTensor write_tensor(const Tensor& tensor) { return written(tensor.layout); }

}  // namespace

Notation native_notation() {
  return {"native",
          {"native"},
          "tensor<53x63xf32, native<mesh=[3, 2], {d0} / (18 -> m0, 1 -> mem*32), "
          "{d1} / (32 -> m1, 1 -> mem)>>",
          read,
          raise,
          write_tensor};
}

}  // namespace tessera
