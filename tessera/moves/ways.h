// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tessera/base/result.h"
#include "tessera/moves/price.h"
#include "tessera/moves/rates.h"
#include "tessera/moves/way.h"

namespace tessera::moves {

/// All ways, cheapest first; at least one. If nothing changes, a way without steps.
Result<std::vector<Way>> exchange_ways(const MoveModel& model, const Ends& ends, Rates& rates);

}  // namespace tessera::moves
