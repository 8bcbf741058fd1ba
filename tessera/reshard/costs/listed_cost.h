// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/base/result.h"
#include "tessera/reshard/cost.h"
#include "tessera/reshard/reshard.h"

namespace tessera::reshard {

/// Computes the cost by listing every message and multicast. For the few reshards that have no
/// product form (pieces, tables of devices with replicas, replicas that overlap). The caller
/// computes the cycles.
/// Errors: kTooLarge beyond 2^23 messages, and those of pairs_of and dispatches_of.
Result<ReshardCost> listed_cost(const Reshard& reshard);

/// The load of every link, computed in the same way.
Result<LinkLoads> listed_loads(const Reshard& reshard);

}  // namespace tessera::reshard
