// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/reshard/cost.h"
#include "tessera/reshard/costs/place_tables.h"
#include "tessera/reshard/flows/flow_tables.h"

namespace tessera::reshard {

/// How bits become bytes and wavelets.
struct Rates {
  Reshard::Rate bytes;
  Reshard::Rate wavelets;
};

/// Whether the sizes of messages modulo a number of classes that is made for tell how they round.
bool has_classes_for(const Rates& rates);

/// The cost of what the tables say, without listing messages; only for rates that
/// `has_classes_for`. Cycles are left to the caller.
ReshardCost flow_cost(const FlowTables& tables, const fabric::FabricMesh& fabric,
                      const Rates& rates);

/// The load of every link.
LinkLoads flow_loads(const FlowTables& tables, const fabric::FabricMesh& fabric,
                     const Rates& rates);

/// The most elements that one place receives from others, and such a place.
PlaceLoad busiest_destination(const FlowTables& tables, const fabric::FabricMesh& fabric);

}  // namespace tessera::reshard
