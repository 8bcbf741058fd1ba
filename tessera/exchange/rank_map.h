// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/placement.h"
#include "tessera/relayout/program.h"

namespace tessera::reshard {
struct PhysicalMesh;
class PlaceMap;
}  // namespace tessera::reshard

namespace tessera::exchange {

/// Maps each place of a reshard's physical mesh to its rank (physical places, numbered row-major).
class RankMap {
 public:
  static constexpr std::int64_t kMostPlaces = std::int64_t{1} << 24;

  /// kOutOfRange for zero ranks, kTooLarge for more than kMostPlaces places.
  static Status check(std::int64_t places, int ranks);

  /// Places in order, in blocks whose sizes differ by at most one: rank r has the places that
  /// ThreadPool::share would give it. Example: 10 places on 4 ranks: 0-2, 3-5, 6-7, 8-9.
  static Result<RankMap> blocks(std::int64_t places, int ranks);
  /// Place p on rank p mod ranks.
  static Result<RankMap> cyclic(std::int64_t places, int ranks);
  /// One rank per place. kOutOfRange for a rank that is not below `ranks`.
  static Result<RankMap> table(std::vector<std::int32_t> rank_of, int ranks);

  int ranks() const { return ranks_; }
  std::int64_t places() const { return static_cast<std::int64_t>(rank_of_.size()); }
  int rank_of(std::int64_t place) const { return rank_of_[static_cast<std::size_t>(place)]; }
  std::uint64_t hash() const;
  friend bool operator==(const RankMap&, const RankMap&) = default;

  RankMap() = default;  ///< no places

 private:
  RankMap(std::vector<std::int32_t> rank_of, int ranks)
      : rank_of_(std::move(rank_of)), ranks_(ranks) {}
  std::vector<std::int32_t> rank_of_;
  int ranks_ = 1;
};

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
Result<RankMap> distribute_places(const Placement& placement, const reshard::PhysicalMesh& physical,
                                  int ranks, RankOrder order = RankOrder::kBlocks);

/// Maps the (virtual) places of a placement to the physical mesh.
/// Error kNotSupported for pieces with their own device maps: no rank would hold all of a place.
Result<reshard::PlaceMap> place_map_of(const Placement& placement,
                                       const reshard::PhysicalMesh& physical);

/// The part of a placement that `rank` holds; `map` gives the physical places. Error kOverflow.
Result<RankSide> side_of(const Placement& placement, const reshard::PlaceMap& map,
                         const RankMap& ranks, int rank);

}  // namespace tessera::exchange
