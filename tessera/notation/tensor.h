// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/placement.h"

/// notation/: converts text to a Layout and back; one folder per notation. Nothing here decides
/// where an element is stored: a notation only lowers its text to folds, cuts and places, and
/// layout/ computes the positions.
namespace tessera::notation {

struct Terms;  // terms.h

/// A tensor as it was written: where its elements are, the notation of its text, and the layout in
/// that notation's own terms. From these terms the tensor prints as it was written, and facts that
/// only the notation knows (device sizes, memrefs, packs) are computed.
struct Tensor {
  Placement placement;
  std::string notation;  ///< "native", "strided", "pyflame", ..
  /// Null for native tensors: the placement holds everything that their text states.
  std::shared_ptr<const Terms> terms = nullptr;

  const Shape& shape() const { return placement.shape(); }
  DType dtype() const { return placement.dtype(); }
  /// Only for tensors whose placement is a Layout: not for views (elements that share slots) and
  /// not for piecewise placements.
  const Layout& layout() const { return *placement.layout(); }
};

/// Reads `tensor<SHAPExTYPE, LAYOUT>` in any notation. Errors carry the span of the invalid part.
/// Texts longer than 16 MiB are rejected without being read.
/// Example: parse_tensor("tensor<4x6xf32, strided<[6, 1]>>")->layout().locate({1, 2})->slot is 8.
Result<Tensor> parse_tensor(std::string_view text);

/// The text of the tensor in its own notation.
/// Law: parse_tensor(print_tensor(t)) has the terms of t.
std::string print_tensor(const Tensor& tensor);

/// The whole tensor in the native notation, which has a text for every placement.
/// Law: parse_tensor(print_native(p)) is the same function as p, with the same allocation.
std::string print_native(const Placement& placement);

/// The names of all notations, native first. `convert` accepts these names.
std::vector<std::string_view> notation_names();

}  // namespace tessera::notation

namespace tessera {
using notation::notation_names;
using notation::parse_tensor;
using notation::print_native;
using notation::print_tensor;
using notation::Tensor;
}  // namespace tessera
