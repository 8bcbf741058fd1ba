// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/exchange/rank_map.h"
#include "tessera/layout/placement.h"
#include "tessera/relayout/program.h"

namespace tessera::reshard {
struct PhysicalMesh;
class PlaceMap;
}  // namespace tessera::reshard

namespace tessera::exchange {

/// The part of a placement that one rank holds: its (virtual) places by ascending number, one after
/// the other in memory, `slots` slots on each.
struct RankSide {
  std::vector<std::int64_t> places;
  relayout::Memory memory;  ///< of mesh [places.size()]
  std::int64_t bytes() const { return memory.bytes; }
  /// The index of a place in `places`, which must contain it.
  std::int64_t position(std::int64_t place) const;
};

/// How places are distributed over ranks.
enum class RankOrder : std::uint8_t {
  kBlocks,  ///< in order, in blocks whose sizes differ by at most one
  kCyclic,  ///< round-robin
};

/// The places of a placement on the physical mesh, by ascending number, distributed over ranks. If
/// A and B have the same places, they have the same ranks; and a row of 4 places that becomes a
/// column of 4 is on 4 ranks before and after. Places that the placement does not have are on rank
/// 0.
Result<RankMap> dealt_out(const Placement& placement, const reshard::PhysicalMesh& physical,
                          int ranks, RankOrder order = RankOrder::kBlocks);

/// Maps the (virtual) places of a placement to the physical mesh.
/// Error kNotSupported for pieces with their own device maps: no rank would hold all of a place.
Result<reshard::PlaceMap> place_map_of(const Placement& placement,
                                       const reshard::PhysicalMesh& physical);

/// The part of a placement that `rank` holds; `map` gives the physical places. Error kOverflow.
Result<RankSide> side_of(const Placement& placement, const reshard::PlaceMap& map,
                         const RankMap& ranks, int rank);

}  // namespace tessera::exchange
