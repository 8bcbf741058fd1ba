// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/notation/native/text.h"
#include "tessera/notation/registry.h"

namespace tessera::notation {
namespace {

/// The digit or fill that alone exceeds its axis; otherwise the mesh, which is too small for all of
/// them together.
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

/// The item that an error of Layout::make concerns.
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

/// The layout that the text specifies for `shape`, with all defaults.
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

Result<Layout> lower(const NativeText& text, const Shape& shape, DType dtype) {
  Result<LayoutSpec> spec = resolve(text, shape, dtype);
  if (!spec) return spec.error().at(text.whole);
  Result<Layout> layout = Layout::make(*spec);
  if (!layout) return layout.error().at(blame(text, spec->form, layout.error().code));
  return layout;
}

/// A view owns no memory, so it specifies no properties of the memory.
Result<View> lower_view(const NativeText& text, const Shape& shape, DType dtype) {
  const auto refuse = [](std::string_view item, Span span) {
    return Error{ErrorCode::kNotSupported, cat("a view does not specify its memory's ", item), span,
                 "omit it, or write native<..> when no elements share a slot"};
  };
  if (text.padding) return refuse("pad", text.padding->span);
  if (text.space) return refuse("space", text.space->span);
  if (text.device) return refuse("device", text.device->span);
  Result<LayoutSpec> spec = resolve(text, shape, dtype);
  if (!spec) return spec.error().at(text.whole);
  Result<View> view = View::make(spec->form, dtype, spec->atom, spec->slots);
  if (!view) return view.error().at(blame(text, spec->form, view.error().code));
  return view;
}

Result<Piecewise> lower_pieces(const NativeAny& text, const Shape& shape, DType dtype) {
  std::vector<LayoutPiece> pieces;
  for (const NativePieceText& said : text.pieces) {
    std::vector<std::int64_t> extents;
    for (std::size_t dim = 0; dim < said.box.from.size(); ++dim) {
      const Checked extent = Checked(said.box.to[dim]) - said.box.from[dim];
      extents.push_back(extent.saturated());
    }
    const Result<Shape> own = Shape::make(std::move(extents));
    if (!own) return own.error().at(said.box_span);
    TESSERA_TRY(Layout layout, lower(said.layout, *own, dtype));
    pieces.push_back({said.box, std::move(layout)});
  }
  Result<Piecewise> whole = Piecewise::make(shape, std::move(pieces));
  if (!whole) return whole.error().at(text.whole);
  return whole;
}

Result<Tensor> read(std::string_view source, const TensorType& type) {
  TESSERA_TRY(const NativeAny text, read_native(source));
  switch (text.kind) {
    case NativeAny::Kind::kLayout: {
      TESSERA_TRY(Layout layout, lower(text.layout, type.shape, type.dtype()));
      return Tensor{std::move(layout), "native"};
    }
    case NativeAny::Kind::kView: {
      TESSERA_TRY(View view, lower_view(text.layout, type.shape, type.dtype()));
      return Tensor{std::move(view), "native"};
    }
    case NativeAny::Kind::kPieces:
      break;
  }
  TESSERA_TRY(Piecewise pieces, lower_pieces(text, type.shape, type.dtype()));
  return Tensor{std::move(pieces), "native"};
}

WrittenTensor written(const Placement& placement) {
  return {TensorType::of(placement.shape(), placement.dtype()), write_native(placement)};
}

Result<WrittenTensor> raise(const Layout& layout) { return written(layout); }
Result<WrittenTensor> raise_view(const View& view) { return written(view); }
Result<WrittenTensor> raise_pieces(const Piecewise& pieces) { return written(pieces); }

WrittenTensor write_tensor(const Tensor& tensor) { return written(tensor.placement); }

}  // namespace

Notation native_notation() {
  return {.name = "native",
          .keywords = {"native", "native."},
          .example =
              "tensor<53x63xf32, native<mesh=[3, 2], {d0} / (18 -> m0, 1 -> mem*32), "
              "{d1} / (32 -> m1, 1 -> mem)>>",
          .read = read,
          .raise = raise,
          .write = write_tensor,
          .raise_view = raise_view,
          .raise_pieces = raise_pieces,
          .scope = {.most_axes = kMaxRank,
                    .replicates = true,
                    .partial = true,
                    .tiles = true,
                    .shares = true,
                    .pieces = true}};
}

}  // namespace tessera::notation
