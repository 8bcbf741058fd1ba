// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/check/check.h"

namespace tessera::check {

/// One thing to say about a tensor's text; spans are bytes of it.
struct Finding {
  Severity severity = Severity::kError;
  std::string code;
  Span span;
  std::string message;
  std::string help;
  std::string correction;  ///< in the place of `span`; empty when nothing alone is right
};

/// What reading `tensor<.., LAYOUT>` with its aliases replaced tells.
struct Reading {
  bool known = true;  ///< else it says something that Tessera does not judge
  std::vector<Finding> findings;
};

/// Reads a tensor; where an error has a correction, makes it and reads on, at most 16 times.
/// `layout` is where the encoding begins. What Tessera has no words for (a newer parameter, an
/// unknown element type, a map that is no sum) is not known, never wrong.
Reading read_mlir_tensor(std::string_view text, std::size_t layout, const CheckOptions& options);

/// Whether an encoding begins as a layout that Tessera knows: `#ttnn.ttnn_layout<`,
/// `#ttcore.metal_layout<` and its spelling with `#tt.`.
bool is_known_layout(std::string_view encoding);

}  // namespace tessera::check
