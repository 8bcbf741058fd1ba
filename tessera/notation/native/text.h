// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/layout/placement.h"
#include "tessera/notation/native/fold_text.h"
#include "tessera/notation/text/cursor.h"

/// `native<..>`, `native.view<..>` and `native.pieces<..>` as read from the text: every item with
/// its span, in the order of the grammar and not of the text. Nothing is derived here, and no
/// layout is built. docs/native.md has the grammar.
namespace tessera::notation {

struct FillText {
  Fill fill;
  bool count_said = false;
  Span span;
};

struct DeviceText {
  DeviceMap::Kind kind = DeviceMap::Kind::kIdentity;
  Shape physical;
  std::vector<FoldText> folds;
  Place origin;
  std::vector<Place> places;
  Span span;
};

struct NativeText {
  std::optional<Said<Shape>> mesh;
  std::vector<FoldText> folds;
  std::vector<FillText> fills;
  std::optional<Said<std::int64_t>> offset;
  std::optional<Said<std::int64_t>> slots;
  std::optional<Said<Atom>> atom;
  std::optional<Said<PaddingValue>> padding;
  std::optional<Said<std::string>> space;
  std::optional<DeviceText> device;
  Span whole;
};

/// A box of a tensor and the layout of this box.
struct NativePieceText {
  Box box;
  Span box_span;
  NativeText layout;
};

/// Any of the three native texts.
struct NativeAny {
  enum class Kind : std::uint8_t { kLayout, kView, kPieces } kind = Kind::kLayout;
  NativeText layout;                    ///< of `native<..>` and `native.view<..>`
  std::vector<NativePieceText> pieces;  ///< of `native.pieces<..>`
  Span whole;
};

Result<NativeAny> read_native(std::string_view source);

/// The LAYOUT text of any placement: items in the order above, without the parts that reading
/// derives.
std::string write_native(const Placement& placement);

/// `[ints]` as the extents of a mesh.
Result<Said<Shape>> read_mesh(Cursor& cursor, std::string_view what);

/// Reads identity, folded(..) or table(..). Reading a table stops as soon as it is longer than
/// `mesh_size`, if that is known.
Result<DeviceText> read_device(Cursor& cursor, std::optional<std::int64_t> mesh_size);

}  // namespace tessera::notation
