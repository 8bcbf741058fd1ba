// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "tessera/base/result.h"
#include "tessera/layout/placement.h"

/// raising/: code that notations share to express a Layout in their terms. A placement comes in;
/// digits, steps and reasons for refusal go out. It does not know any particular notation.
namespace tessera::notation {

/// The kinds of tensors that a notation can express, independent of the numbers. A tensor outside
/// the scope is rejected for that reason before anything else is tried; inside the scope, `raise`
/// decides.
struct Scope {
  std::size_t least_axes = 0;  ///< of the mesh; 0 is a single place
  std::size_t most_axes = 0;
  bool pads = true;         ///< slots without an element
  bool replicates = false;  ///< the same element on several places
  bool partial = false;     ///< partial values that must still be reduced
  bool tiles = false;       ///< atoms of several elements, and storage in another type
  bool shares = false;      ///< elements that share a slot
  bool pieces = false;      ///< boxes with one layout each
};

/// Why a notation cannot express a tensor (kNotSupported), all reasons in one sentence, or nullopt
/// when its scope does not exclude the tensor.
/// Law: the reasons are true: a number in a reason is a number of the tensor.
/// Example: "morello cannot pad: dim 0 is 53, padded to 96; has one place: the tensor is on 3x2
/// places", with the reasons padded_dim and mesh_rank.
std::optional<Error> outside_scope(const Placement& placement, std::string_view notation,
                                   const Scope& scope);

}  // namespace tessera::notation
