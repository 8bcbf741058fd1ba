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

/// A tensor ready to print: what stands before and after the comma.
struct WrittenTensor {
  TensorType type;
  std::string layout;
};

/// One way of writing layouts.
struct Notation {
  std::string_view name;                   ///< for people and for `--to`
  std::vector<std::string_view> keywords;  ///< what LAYOUT begins with: "native", "pyflame."
  std::string_view example;                ///< a whole tensor in this notation
  /// LAYOUT text after `type` → tensor. Spans count from the start of `text` (the type stands below
  /// 0); an error without one speaks of the whole layout. Law: write(read(text)) is `text`, spelled
  /// canonically.
  Result<Tensor> (*read)(std::string_view text, const TensorType& type);
  /// Layout → the words of this notation, or why it cannot be said (kNotSupported with the reason).
  /// Law: what is raised reads back as the same function, with the same allocation and atom.
  Result<WrittenTensor> (*raise)(const Layout& layout);
  /// The words of a tensor that this notation read.
  WrittenTensor (*write)(const Tensor& tensor);
  /// Whether `type` may have tiles for elements; everywhere else they are refused before `read`.
  bool takes_tiles = false;
  /// As `raise`, for elements that share slots, and for boxes with a layout each; none in notations
  /// that have no words for such tensors.
  Result<WrittenTensor> (*raise_view)(const View& view) = nullptr;
  Result<WrittenTensor> (*raise_pieces)(const Piecewise& pieces) = nullptr;
  /// What `raise` and its kin need not be asked for.
  Scope scope = {};
};

/// Every notation, native first.
const std::vector<Notation>& notations();
/// The notation of this name, or kUnknownNotation with the nearest name as help.
Result<const Notation*> find_notation(std::string_view name);

/// `tensor<53x63xf32, LAYOUT>` in the given notation, or why it cannot be said.
/// Law: parse_tensor(print_tensor(t, n)) is the same function as t; for native it is t itself.
Result<std::string> print_tensor(const Placement& placement, const Notation& notation);

}  // namespace tessera::notation

namespace tessera {
using notation::find_notation;
using notation::Notation;
using notation::notations;
using notation::print_tensor;
}  // namespace tessera
