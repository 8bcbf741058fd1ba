// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/reshard/collectives/axis_table.h"
#include "tessera/reshard/collectives/collective.h"

namespace tessera::reshard {

/// Along which axes places are already those of B. The others are still those of A.
using Stage = std::vector<bool>;

/// A step of a sequence: how the axes in `axes` change from one stage to the next.
struct Change {
  CollectiveKind kind = CollectiveKind::kSlice;
  std::vector<std::size_t> axes;    ///< ascending
  std::vector<std::int32_t> moves;  ///< of a permute, as in Collective
  Stage before;
  Stage after;
};

/// The steps from A to B; empty where an exchange is neither an all_to_all nor a permute.
std::optional<std::vector<Change>> changes_of(const AxisTable& table);

/// Whether whole shards go from member to member along `axes` (ascending), in the same way in every
/// group, and where each goes. No axis may be partial before or after. Shards that have several
/// copies stay where they can.
std::optional<std::vector<std::int32_t>> permutation(const AxisTable& table,
                                                     const std::vector<std::size_t>& axes,
                                                     const Stage& before, const Stage& after);

/// Whether, in every group, each member that has something has a part for each member that needs
/// something.
bool exchanges_all(const AxisTable& table, const std::vector<std::size_t>& axes,
                   const Stage& before, const Stage& after);

}  // namespace tessera::reshard
