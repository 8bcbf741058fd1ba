// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"
#include "tessera/ops/propagate.h"
#include "tessera/run/elements.h"

namespace tessera::run {

/// The layouts of the shares of a layout that keeps some, in row-major order of its partial fills;
/// the layout itself if it keeps none.
Result<std::vector<Layout>> shares_of(const Layout& layout);
/// The layout of the first replica of every element.
Result<Layout> without_replicas(const Layout& layout);

/// The number that leaves others as they are.
Neutral neutral_of(Reduction reduction);
/// to[i] = to[i] combined with from[i], for numbers of the compute type of `dtype`.
void combine_compute(std::byte* to, const std::byte* from, DType dtype, std::int64_t count,
                     Reduction reduction);

}  // namespace tessera::run
