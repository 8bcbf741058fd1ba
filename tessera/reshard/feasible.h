// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tessera/base/result.h"
#include "tessera/reshard/reshard.h"
#include "tessera/target/machine.h"

namespace tessera::reshard {

/// The memory that a reshard needs on one place, and the memory available there.
///
/// A's shard and B's shard exist at the same time (no place is overwritten while it is read). Each
/// takes whole units of the memory's alignment, once for each virtual place that is stacked on the
/// physical one. Incoming data are staged beside them, in as many rounds as necessary.
struct Feasibility {
  std::string space;            ///< the memory that B is in
  Place place;                  ///< a place that needs the most memory
  std::int64_t from_bytes = 0;  ///< A's shard there; 0 where A is elsewhere or in another memory
  std::int64_t to_bytes = 0;    ///< B's shard there
  /// The most that one place receives, and the number of rounds in which it fits in the rest of the
  /// budget: 1 unless staging has to be cut (chunks.h), and 1 where the budget is not published.
  std::int64_t received_bytes = 0;
  std::int64_t rounds = 1;
  std::optional<std::int64_t> available_bytes;  ///< the budget for data, where it is published

  std::int64_t resident_bytes() const { return from_bytes + to_bytes; }
};

/// The memory needs of a reshard that fits, or kDoesNotFit.
///
/// The error names what is needed, what is available and the place. Its help lists the alternatives
/// with their figures: through the host (bytes), in chunks (how many, so that one fits beside A),
/// or a layout that spreads B (over how many places).
/// Example: [1024, 1024] f32 gathered from Grid(32, 32) on wse2: "place [0, 0] needs 4100 KB (4 KB
/// of A, 4 MB of B), and sram has 36 KB for data".
///
/// `machine` is the machine from which the reshard's physical mesh was made. Memories that are not
/// one per place (banks, shared) hold what A and B hold of them as counted by target/fit.h, and
/// nothing is staged there. If A is in a different memory than B, it takes no room. If A and B are
/// the same description, they are one memory. Figures are in closed form; places are visited only
/// where a device map is a table. Other errors: those of chunk() for the rounds, kOverflow.
Result<Feasibility> feasible(const Reshard& reshard, const Machine& machine);

}  // namespace tessera::reshard
