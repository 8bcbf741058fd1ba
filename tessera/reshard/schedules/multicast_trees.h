// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/fabric/mesh.h"
#include "tessera/reshard/flows/flow_tables.h"
#include "tessera/reshard/schedules/program.h"
#include "tessera/reshard/simulation/dispatch.h"

namespace tessera::reshard {

// =================================================================================================
// multicast_trees
//
// Each multicast, and each message, has a colour of its own: its words go along its row, and down
// and up the columns of its destinations, all at the same time. This needs no store on the way and
// only one round, but as many colours as there are multicasts. It takes
//
//     2·T_R + the largest, over all links and ramps, of the words over it
//                                               + the longest route of the multicasts that use it
// =================================================================================================

/// A multicast to a rectangle of places, its own place excepted if it is one of them.
struct MulticastTree {
  std::int32_t row = 0;
  std::int32_t col = 0;
  Span1D rows;
  Span1D cols;
  std::int64_t elements = 0;
};

/// The multicasts of the tables; empty if there are more than `most`, or more than 2^16 choices of
/// flows, most of which move nothing.
std::optional<std::vector<MulticastTree>> multicast_trees(const FlowTables& tables,
                                                          std::int64_t most);

/// The cycles of at most 64 multicasts.
std::int64_t tree_cycles(const std::vector<MulticastTree>& trees, const Reshard::Rate& rate,
                         const fabric::FabricMesh& mesh);
/// The same from a list, with sets of any form.
std::int64_t tree_cycles(const Dispatches& dispatches, const Reshard::Rate& rate,
                         const fabric::FabricMesh& mesh);

/// One round, one colour per dispatch.
Round tree_round(const Dispatches& dispatches, const Reshard::Rate& rate);

}  // namespace tessera::reshard
