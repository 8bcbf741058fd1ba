// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tessera/base/result.h"
#include "tessera/reshard/reshard.h"
#include "tessera/target/machine.h"

namespace tessera::reshard {

/// What a reshard needs of the memory of one place, and what there is.
///
/// A's shard and B's shard are there at once (no place is assumed to be written over while it is
/// read), each in whole units of the memory's alignment and once for each virtual place that is
/// stacked on the physical one. What arrives is staged beside them, in as many rounds as it takes.
struct Feasibility {
  std::string space;            ///< the memory that B is in
  Place place;                  ///< a place that needs the most
  std::int64_t from_bytes = 0;  ///< A's shard there; 0 where A is elsewhere or in another memory
  std::int64_t to_bytes = 0;    ///< B's shard there
  /// The most that one place receives, and the rounds in which it then fits what is left of the
  /// budget: 1 unless staging has to be cut (chunks.h). Nothing where the budget is not published.
  std::int64_t received_bytes = 0;
  std::int64_t rounds = 1;
  std::optional<std::int64_t> available_bytes;  ///< the data budget, where it is published

  std::int64_t resident_bytes() const { return from_bytes + to_bytes; }
};

/// The needs of a reshard that fits, or kDoesNotFit.
///
/// The error names what is needed, what there is and the place, and its help the ways out with
/// their figures: through the host (bytes), in chunks (how many, so that one fits beside A), or a
/// layout that spreads B (over how many places).
/// Example: [1024, 1024] f32 gathered from Grid(32, 32) on wse2: "place [0, 0] needs 4100 KB (4 KB
/// of A, 4 MB of B), and sram has 36 KB for data".
///
/// `machine` is the one that the reshard's physical mesh was made of. Memories that are not one a
/// place (banks, shared) hold what A and B hold of them as target/fit.h counts it, and nothing is
/// staged there. Where A is in another memory than B it takes no room. A and B that are one
/// description are one memory. Figures are in closed form; places are visited only where a device
/// map is a table. Errors besides: those of chunk() for the rounds, kOverflow.
Result<Feasibility> feasible(const Reshard& reshard, const Machine& machine);

}  // namespace tessera::reshard
