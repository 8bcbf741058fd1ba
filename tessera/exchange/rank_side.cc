// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/exchange/resharder.h"
#include "tessera/reshard/flows/place_map.h"
#include "tessera/reshard/reshard.h"

namespace tessera::exchange {

std::int64_t RankSide::position(std::int64_t place) const {
  return std::lower_bound(places.begin(), places.end(), place) - places.begin();
}

Result<RankMap> distribute_places(const Placement& placement, const reshard::PhysicalMesh& physical,
                                  int ranks, RankOrder order) {
  TESSERA_TRY(const reshard::PlaceMap map, place_map_of(placement, physical));
  const std::int64_t places = physical.mesh.elements();
  TESSERA_CHECK_OK(RankMap::check(places, ranks));
  std::vector<bool> used(static_cast<std::size_t>(places), false);
  for (std::int64_t v = 0; v < map.mesh().elements(); ++v) {
    used[static_cast<std::size_t>(map.physical(v))] = true;
  }
  const std::int64_t count = std::count(used.begin(), used.end(), true);
  TESSERA_TRY(const RankMap distributed, order == RankOrder::kBlocks
                                             ? RankMap::blocks(count, ranks)
                                             : RankMap::cyclic(count, ranks));
  std::vector<std::int32_t> rank_of(used.size(), 0);
  std::int64_t next = 0;
  for (std::size_t p = 0; p < used.size(); ++p) {
    if (used[p]) rank_of[p] = distributed.rank_of(next++);
  }
  return RankMap::table(std::move(rank_of), ranks);
}

Result<reshard::PlaceMap> place_map_of(const Placement& placement,
                                       const reshard::PhysicalMesh& physical) {
  const DeviceMap identity;
  const DeviceMap* map = nullptr;
  for (const FormPiece& piece : form_pieces(placement)) {
    const DeviceMap* here = piece.device_map != nullptr ? piece.device_map : &identity;
    if (map != nullptr && !(*map == *here)) {
      return Error{ErrorCode::kNotSupported,
                   "pieces have separate device maps, so no rank has all of a place", std::nullopt,
                   "give all pieces the same device map"};
    }
    map = here;
  }
  return reshard::PlaceMap::make(placement.mesh(), map != nullptr ? *map : identity, physical);
}

Result<RankSide> side_of(const Placement& placement, const reshard::PlaceMap& map,
                         const RankMap& ranks, int rank) {
  RankSide side;
  for (std::int64_t v = 0; v < map.mesh().elements(); ++v) {
    if (ranks.rank_of(map.physical(v)) == rank) side.places.push_back(v);
  }
  const auto count = static_cast<std::int64_t>(side.places.size());
  TESSERA_TRY(side.memory.mesh, Shape::make({count}));
  side.memory.slots = placement.slots();
  side.memory.atom = placement.atom();
  TESSERA_TRY(const std::int64_t slots, (Checked(count) * placement.slots()).value("slots"));
  const std::optional<std::int64_t> bytes = placement.atom().bytes(slots);
  if (!bytes) {
    return Error{ErrorCode::kOverflow,
                 cat("the bytes of ", count, " places do not fit a signed 64-bit integer"),
                 std::nullopt, "use smaller extents"};
  }
  side.memory.bytes = *bytes;
  return side;
}

}  // namespace tessera::exchange
