// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tessera/base/result.h"
#include "tessera/moves/rates.h"
#include "tessera/moves/way.h"
#include "tessera/reshard/reshard.h"

namespace tessera::moves {

/// The exchanges of a reshard on a fabric of wavelets that has messages: where routes are static,
/// the schedules for them (reshard/schedules), else wavelets that carry their destination, which
/// are only a bound for static routes. If no schedule applies, a way named "unknown" without a
/// time, and `rates` lacks a schedule. `cost` is that of the reshard.
Result<std::vector<Way>> wafer_exchanges(const reshard::Reshard& reshard,
                                         const reshard::ReshardCost& cost, Rates& rates);

}  // namespace tessera::moves
