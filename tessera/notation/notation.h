// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/raising/scope.h"
#include "tessera/notation/text/tensor_type.h"
#include "tessera/notation/words.h"

/// notation/: text in, Layout out, and back. One file a notation. Nothing here decides where an
/// element lives: a notation lowers to fold, cut and place, and the core answers.
namespace tessera::notation {

/// A tensor as it was written: where its elements are, the notation that said it, and the
/// notation's own words, from which it prints as it was written and from which facts that only the
/// notation knows (device sizes, memrefs, packs) are read.
struct Tensor {
  Placement placement;
  std::string notation;  ///< "native", "strided", "pyflame", ..
  Words words;

  const Shape& shape() const { return placement.shape(); }
  DType dtype() const { return placement.dtype(); }
  /// Only for tensors whose placement is a Layout: all of them, but in the notations that have
  /// `raise_view` or `raise_pieces`.
  const Layout& layout() const { return *placement.layout(); }
};

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

/// Reads `tensor<SHAPExTYPE, LAYOUT>`. Errors carry the span of what is wrong.
/// Texts longer than 16 MiB are refused unread.
Result<Tensor> parse_tensor(std::string_view text);

/// The tensor in its own notation's words.
/// Law: parse_tensor(print_tensor(t)) says the same words as t.
std::string print_tensor(const Tensor& tensor);

/// `tensor<53x63xf32, LAYOUT>` in the given notation, or why it cannot be said.
/// Law: parse_tensor(print_tensor(t, n)) is the same function as t; for native it is t itself.
Result<std::string> print_tensor(const Placement& placement, const Notation& notation);

/// Everything can be said natively.
std::string print_native(const Placement& placement);

}  // namespace tessera::notation

namespace tessera {
using notation::find_notation;
using notation::Notation;
using notation::notations;
using notation::parse_tensor;
using notation::print_native;
using notation::print_tensor;
using notation::Tensor;
}  // namespace tessera
