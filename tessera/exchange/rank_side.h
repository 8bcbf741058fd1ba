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

/// What one rank has of a placement: its (virtual) places by rising number, one after the other in
/// memory, `slots` slots on each.
struct RankSide {
  std::vector<std::int64_t> places;
  relayout::Memory memory;  ///< of mesh [places.size()]
  std::int64_t bytes() const { return memory.bytes; }
  /// Where a place stands among `places`, which must have it.
  std::int64_t position(std::int64_t place) const;
};

/// How places are dealt out to ranks.
enum class RankOrder : std::uint8_t {
  kBlocks,  ///< in order, as many on each rank as on any other, or one less
  kCyclic,  ///< one after the other, round and round
};

/// The places that a placement has on the physical mesh, by rising number, dealt out to ranks:
/// where A and B have the same places they have the same ranks; and a row of 4 places that becomes
/// a column of 4 is on 4 ranks before and after. Places that it does not have are on rank 0.
Result<RankMap> dealt_out(const Placement& placement, const reshard::PhysicalMesh& physical,
                          int ranks, RankOrder order = RankOrder::kBlocks);

/// Where the (virtual) places of a placement are on the physical mesh.
/// Error kNotSupported for pieces with device maps of their own: no rank would have all of a place.
Result<reshard::PlaceMap> place_map_of(const Placement& placement,
                                       const reshard::PhysicalMesh& physical);

/// What `rank` has of a placement whose places are where `map` says. Error kOverflow.
Result<RankSide> side_of(const Placement& placement, const reshard::PlaceMap& map,
                         const RankMap& ranks, int rank);

}  // namespace tessera::exchange
