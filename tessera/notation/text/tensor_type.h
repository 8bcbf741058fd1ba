// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/base/dtype.h"
#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/layout/layout.h"
#include "tessera/notation/text/cursor.h"

namespace tessera::notation {

/// The type before the layout in `tensor<SHAPExELEMENT, LAYOUT>`: extents and element. The element
/// is a scalar type, or a tile of scalars as in `tensor<1x1x2x2x!ttcore.tile<32x32, f32>>`. Only
/// metal_today layouts use tiles here: their shape is the device's, not the logical one.
struct TensorType {
  Shape shape;
  Atom element;
  /// The span of the extents in the text, counted from the first byte of the layout and therefore
  /// negative. It is for errors when a layout contradicts the extents, and is not part of the type.
  std::optional<Span> extents_at = std::nullopt;

  static TensorType of(Shape shape, DType dtype);
  DType dtype() const { return element.storage; }
  friend bool operator==(const TensorType& a, const TensorType& b) {
    return a.shape == b.shape && a.element == b.element;
  }
};

/// Reads (INT 'x')* ELEMENT, as inside `tensor<..>` and `memref<..>`. `extents` is set to the span
/// of (INT 'x')*.
Result<TensorType> read_tensor_type(Cursor& cursor, Span* extents = nullptr);

/// DTYPE, or `!tt.tile<32x32, f32>` (also `!ttcore.tile`, also `32 x 32`).
Result<Atom> read_element(Cursor& cursor);

/// INT ('x' INT)*, as in `<3x2>` or `logical_shape = 32x64`; at most kMaxRank numbers. The cursor
/// must be at the first number.
Result<std::vector<std::int64_t>> read_extents(Cursor& cursor, std::string_view what);

/// "53x63xf32", "2x2x!tt.tile<32x32, f32>"; `dialect` is "tt" or "ttcore".
std::string write_tensor_type(const std::vector<std::int64_t>& extents, const Atom& element,
                              std::string_view dialect = "ttcore");

}  // namespace tessera::notation

namespace tessera {
using notation::TensorType;
}  // namespace tessera
