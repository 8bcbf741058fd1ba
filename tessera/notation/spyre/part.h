// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/notation/spyre/lines.h"
#include "tessera/notation/spyre/nests.h"

namespace tessera::notation::spyre {

/// How many elements each range covers; kContradiction or kOutOfRange for ranges that do not fit.
Result<std::vector<std::int64_t>> counts_of(const std::vector<SpyreRange>& part,
                                            const Shape& shape);

/// The part that covers the whole tensor.
std::vector<SpyreRange> whole(const Shape& shape);

/// The number of sticks that a part of one line touches: distinct values of its digits outside the
/// stick.
Result<std::int64_t> sticks_of_line(const DeviceLine& line, std::size_t device_rank,
                                    const std::vector<SpyreRange>& part,
                                    const std::vector<std::int64_t>& counts);

}  // namespace tessera::notation::spyre
