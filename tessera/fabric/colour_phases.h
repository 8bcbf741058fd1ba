// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/fabric/traffic.h"
#include "tessera/fabric/xy_trees.h"

namespace tessera::fabric {

/// When a message is sent, and by which colour.
struct PhaseColour {
  std::int32_t phase = 0;
  std::int32_t colour = 0;
};

struct ColourPhases {
  std::vector<PhaseColour> messages;
  std::int32_t phases = 0;
  std::int32_t colours = 0;  ///< the most that one phase uses
};

/// Deals messages to phases so that no router sees one colour used by two trees in one phase.
/// Messages are taken in `order` (message_order.h); each goes to the first phase, not before that
/// of its source's message before it and of those it waits for, in which one colour is free at
/// every router of its tree. Messages of one tree share a colour where they share a phase.
///
/// `tree_of` names each message's tree, `budget` is 1 to 63 colours, the trees stand on a mesh of
/// rows x cols. kTooLarge when this would take more than 2^31 looks at a router or 2^25 pairs of
/// router and phase.
Result<ColourPhases> deal_to_phases(const Traffic& traffic, std::span<const std::uint32_t> order,
                                    const XyTrees& trees, std::span<const std::uint32_t> tree_of,
                                    std::int32_t rows, std::int32_t cols, std::int64_t budget);

}  // namespace tessera::fabric
