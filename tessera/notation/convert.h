// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/notation/tensor.h"

namespace tessera::notation {

struct Notation;  // notation.h

/// A tensor in another notation.
struct Conversion {
  std::string text;  ///< the whole tensor
  /// Facts about the tensor, other than where its elements are, that the source text states and the
  /// new text does not: "the memory space l1", "the padding value", "storage in tiles of 32x32",
  /// "the reduction of one share", "the device map" where that leaves every place in its position.
  std::vector<std::string> lost;
};

/// The same tensor in another notation.
/// Law: parse_tensor(text) puts every element in the same slot of the same places (same_places.h),
/// in an allocation of the same size, and each element has the same type. Every call checks this by
/// comparing the two placements.
/// Error kNotSupported with the reason when the notation cannot express it; kTooLarge when the
/// comparison would take too long.
/// Example: tensor<4x6xf32, pyflame.SinglePE()> in strided is tensor<4x6xf32, strided<[6, 1]>>.
Result<Conversion> convert(const Tensor& tensor, const Notation& to);

/// The same, by the name of the notation (notation_names() lists them). Error kUnknownNotation with
/// the nearest name as help.
Result<Conversion> convert(const Tensor& tensor, std::string_view to);

}  // namespace tessera::notation

namespace tessera {
using notation::Conversion;
using notation::convert;
}  // namespace tessera
