// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/check/check.h"

namespace tessera::check {

/// One finding about a tensor's text; spans are byte ranges of that text.
struct Finding {
  Severity severity = Severity::kError;
  std::string code;
  Span span;
  std::string message;
  std::string help;
  std::string correction;  ///< replaces `span`; empty if there is no unique correction
};

/// The result of reading `tensor<.., LAYOUT>` with its aliases replaced.
struct Reading {
  bool known = true;  ///< false if it has content that Tessera does not know
  std::vector<Finding> findings;
};

/// Reads a tensor. If an error has a correction, applies it and reads again, at most 16 times.
/// `layout` is the position where the encoding begins. Content that Tessera does not support (a
/// newer parameter, an unknown element type, a map that is not a sum) is reported as not known,
/// never as wrong.
Reading read_mlir_tensor(std::string_view text, std::size_t layout, const CheckOptions& options);

/// Whether an encoding begins as a layout that Tessera knows: `#ttnn.ttnn_layout<`,
/// `#ttcore.metal_layout<` and its spelling with `#tt.`.
bool is_known_layout(std::string_view encoding);

}  // namespace tessera::check
