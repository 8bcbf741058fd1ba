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

/// The phase and the colour of a message.
struct PhaseColour {
  std::int32_t phase = 0;
  std::int32_t colour = 0;
};

struct ColourPhases {
  std::vector<PhaseColour> messages;
  std::int32_t phases = 0;
  std::int32_t colours = 0;  ///< the most colours that one phase uses
};

/// Assigns messages to phases so that no router sees one colour used by two trees in one phase.
/// Messages are taken in `order` (message_order.h). Each goes to the first phase in which one
/// colour is free at every router of its tree, but not before the phase of the previous message of
/// its source or of a message that it waits for. Messages of one tree in one phase share a colour.
///
/// `tree_of` is the tree of each message, `budget` is 1 to 63 colours, the trees are on a mesh of
/// rows x cols. kTooLarge if this would take more than 2^31 router checks or 2^25 pairs of router
/// and phase.
Result<ColourPhases> deal_to_phases(const Traffic& traffic, std::span<const std::uint32_t> order,
                                    const XyTrees& trees, std::span<const std::uint32_t> tree_of,
                                    std::int32_t rows, std::int32_t cols, std::int64_t budget);

}  // namespace tessera::fabric
