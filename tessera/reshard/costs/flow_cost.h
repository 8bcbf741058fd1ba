// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/base/result.h"
#include "tessera/reshard/costs/place_tables.h"
#include "tessera/reshard/flows/flow_tables.h"
#include "tessera/reshard/reshard.h"

/// costs/: what a reshard costs. In: the flow tables of a reshard (flows/), or the reshard itself
/// where it has no tables; a fabric and rates. Out: a ReshardCost and the loads of links, without
/// cycles, which cost.cc adds. It must not list messages where tables exist.
namespace tessera::reshard {

/// The rates that convert elements into bytes and wavelets.
struct Rates {
  Reshard::Rate bytes;
  Reshard::Rate wavelets;
};

/// True when the size of a message modulo a supported number of classes determines how it is
/// rounded up.
bool has_classes_for(const Rates& rates);

/// The cost of the flows in the tables, without listing messages. Only for rates accepted by
/// `has_classes_for`. The caller computes the cycles.
ReshardCost flow_cost(const FlowTables& tables, const fabric::FabricMesh& fabric,
                      const Rates& rates);

/// The load of every link.
LinkLoads flow_loads(const FlowTables& tables, const fabric::FabricMesh& fabric,
                     const Rates& rates);

/// The most elements that one place receives from other places, and one such place.
PlaceLoad busiest_destination(const FlowTables& tables, const fabric::FabricMesh& fabric);

/// Computes the cost by listing every message and multicast. For the few reshards that have no
/// product form (pieces, tables of devices with replicas, replicas that overlap). The caller
/// computes the cycles.
/// Errors: kTooLarge beyond 2^23 messages, and those of pairs_of and dispatches_of.
Result<ReshardCost> listed_cost(const Reshard& reshard);

/// The load of every link, computed in the same way.
Result<LinkLoads> listed_loads(const Reshard& reshard);

}  // namespace tessera::reshard
