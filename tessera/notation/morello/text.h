// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"
#include "tessera/notation/morello/morello.h"

namespace tessera::notation {

/// Like `lower`, but errors point at the physical dim that does not fit. `spans` has one entry for
/// each of `words.dims`, or none.
Result<Layout> lower_said(const MorelloLayout& words, const Shape& shape, DType dtype,
                          std::span<const Span> spans);

}  // namespace tessera::notation
