// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tessera/notation/notation.h"
#include "tessera/target/fit.h"

namespace tessera::notation {

/// `fits` of target/fit.h, which also uses facts that only the notation's terms contain: whether a
/// TTNN tensor is interleaved and over which grid, and the address span of a Spyre core.
Result<target::Fit> fits(const Tensor& tensor, const Machine& machine);

/// How a tensor on one place is stored: interleaved if its TTNN terms say so.
target::Spread spread_of(const Tensor& tensor);
/// The memory that the layout of a tensor names; empty if it names none.
std::string space_of(const Tensor& tensor);

}  // namespace tessera::notation
