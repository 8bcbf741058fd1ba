// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/notation/notation.h"
#include "tessera/target/fit.h"

namespace tessera::notation {

/// `fits` of target/fit.h, with what only the notation's words know: that a TTNN tensor is
/// interleaved and over which grid, and the span of a Spyre core.
Result<target::Fit> fits(const Tensor& tensor, const Machine& machine);

}  // namespace tessera::notation
