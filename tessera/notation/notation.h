// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/raising/scope.h"
#include "tessera/notation/tensor.h"
#include "tessera/notation/text/tensor_type.h"

namespace tessera::notation {

/// A tensor ready to print: the type (before the comma) and the layout text (after it).
struct WrittenTensor {
  TensorType type;
  std::string layout;
};

/// One notation: a way to write layouts as text.
struct Notation {
  std::string_view name;                   ///< for people and for `--to`
  std::vector<std::string_view> keywords;  ///< what LAYOUT begins with: "native", "pyflame."
  std::string_view example;                ///< a whole tensor in this notation
  /// Reads the LAYOUT text that follows `type`. Spans count from the start of `text`, so spans in
  /// the type are negative; an error without a span concerns the whole layout.
  /// Law: write(read(text)) is `text` in its canonical spelling.
  Result<Tensor> (*read)(std::string_view text, const TensorType& type);
  /// Expresses a layout in this notation, or states why that is impossible (kNotSupported with the
  /// reason).
  /// Law: the result reads back as the same function, with the same allocation and atom.
  Result<WrittenTensor> (*raise)(const Layout& layout);
  /// The text of a tensor that this notation has read.
  WrittenTensor (*write)(const Tensor& tensor);
  /// Whether the elements of `type` may be tiles. If false, a type with tiles is rejected before
  /// `read` is called.
  bool takes_tiles = false;
  /// Like `raise`, for views (elements that share slots) and for piecewise placements (boxes with
  /// one layout each). Null in notations that cannot express such tensors.
  Result<WrittenTensor> (*raise_view)(const View& view) = nullptr;
  Result<WrittenTensor> (*raise_pieces)(const Piecewise& pieces) = nullptr;
  /// The kinds of tensors that this notation can express at all; others are rejected before
  /// `raise`, `raise_view` or `raise_pieces` is called.
  Scope scope = {};
  /// Whether places are numbers of devices, counted row-major over the mesh. The places of other
  /// notations are coordinates (same_places.h).
  bool numbers_places = false;
};

/// Every notation, native first.
const std::vector<Notation>& notations();
/// The notation of this name, or kUnknownNotation with the nearest name as help.
Result<const Notation*> find_notation(std::string_view name);

/// `tensor<53x63xf32, LAYOUT>` in the given notation, or why the notation cannot express it.
/// Law: parse_tensor(print_tensor(t, n)) is the same function as t; for native it is t itself.
Result<std::string> print_tensor(const Placement& placement, const Notation& notation);

}  // namespace tessera::notation

namespace tessera {
using notation::find_notation;
using notation::Notation;
using notation::notations;
using notation::print_tensor;
}  // namespace tessera
