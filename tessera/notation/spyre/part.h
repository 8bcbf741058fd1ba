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

/// Everything, as a part.
std::vector<SpyreRange> whole(const Shape& shape);

/// Sticks that a part of one line runs through: distinct settings of its digits outside the stick.
Result<std::int64_t> sticks_of_line(const DeviceLine& line, std::size_t device_rank,
                                    const std::vector<SpyreRange>& part,
                                    const std::vector<std::int64_t>& counts);

}  // namespace tessera::notation::spyre
