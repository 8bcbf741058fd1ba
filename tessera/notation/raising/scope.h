// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "tessera/layout/placement.h"

namespace tessera::notation {

/// What a notation has words for, whatever the numbers. A tensor outside its notation's scope is
/// refused for that reason before anything else is tried; inside it, `raise` decides.
struct Scope {
  std::size_t least_axes = 0;  ///< of the mesh; 0 is a single place
  std::size_t most_axes = 0;
  bool pads = true;         ///< slots without an element
  bool replicates = false;  ///< the same element on several places
  bool partial = false;     ///< shares of a value that are still to be reduced
  bool tiles = false;       ///< atoms of several elements, and storage in another type
  bool shares = false;      ///< elements that share a slot
  bool pieces = false;      ///< boxes with a layout each
};

/// Why no words of a notation can say a tensor, all reasons in one sentence, or nothing when its
/// scope does not exclude it.
/// Law: what is told is so: a number in the sentence is a number of the tensor.
/// Example: "morello cannot pad: dim 0 is 53, padded to 96; has one place: the tensor is on 3x2
/// places".
std::optional<std::string> outside_scope(const Placement& placement, std::string_view notation,
                                         const Scope& scope);

}  // namespace tessera::notation
