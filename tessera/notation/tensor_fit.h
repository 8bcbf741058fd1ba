// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/notation/notation.h"
#include "tessera/target/fit.h"

namespace tessera::notation {

/// `fits` of target/fit.h, which also uses facts that only the notation's terms contain: whether a
/// TTNN tensor is interleaved and over which grid, and the address span of a Spyre core.
Result<target::Fit> fits(const Tensor& tensor, const Machine& machine);

}  // namespace tessera::notation
