// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"

/// notation/: text in, Layout out, and back. One file a notation. Nothing here decides where an
/// element lives: a notation lowers to fold, cut and place, and the core answers.
namespace tessera {

/// A tensor as it was written: its layout, and the notation that said it.
struct Tensor {
  Layout layout;
  std::string notation;  ///< "native", "strided", ..
};

/// One way of writing layouts.
struct Notation {
  std::string_view name;     ///< for people and for `--to`
  std::string_view keyword;  ///< the word that LAYOUT begins with
  std::string_view example;  ///< a whole tensor in this notation
  /// LAYOUT text → layout of a tensor of `shape` and `dtype`. Spans count from the start of `text`.
  Result<Layout> (*parse)(std::string_view text, const Shape& shape, DType dtype);
  /// Layout → LAYOUT text, or why this notation cannot say it.
  Result<std::string> (*print)(const Layout& layout);
};

/// Every notation, native first.
const std::vector<Notation>& notations();
/// The notation of this name, or kUnknownNotation with the nearest name as help.
Result<const Notation*> find_notation(std::string_view name);

/// Reads `tensor<SHAPExTYPE, LAYOUT>`. Errors carry the span of what is wrong.
/// Texts longer than 16 MiB are refused unread.
Result<Tensor> parse_tensor(std::string_view text);

/// `tensor<53x63xf32, LAYOUT>` in the given notation, or why it cannot be said.
/// Law: parse_tensor(print_tensor(t, n)) is the same function as t; for native it is t itself.
Result<std::string> print_tensor(const Layout& layout, const Notation& notation);

/// Every layout can be said natively.
std::string print_native(const Layout& layout);

}  // namespace tessera
