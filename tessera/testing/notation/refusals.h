// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/testing/notation/positions.h"

/// The reasons why a notation cannot express a tensor, checked against the tensor's elements one by
/// one. There is no default: a reason without a known check is a mistake, and so is a refusal
/// without a reason.
namespace tessera::test {

/// A tensor that `notation` refused.
struct Refused {
  const Tensor& tensor;
  const Positions& positions;
  std::string_view notation;
};

/// Checks by counting whether every reason of a refusal is true; empty when they are. A reason that
/// concerns the numbers of the tensor, not its kind, is also compared with a search for a text
/// (sayable.h): it is a mistake when the search finds one.
std::string refusal_mistake(const Refused& refused, std::span<const Reason> reasons);

}  // namespace tessera::test
