// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/device_map.h"
#include "tessera/reshard/relabel.h"
#include "tessera/reshard/relabelling/overlap.h"

/// relabelling/: the two methods of `relabel` (see the essay in relabel.h). In: the overlaps of a
/// reshard's parts, the physical mesh and the allowed seats. Out: a Choice, that is, a device map
/// and the number of elements it keeps in place. It must not build the new placement: relabel.cc
/// does that.
namespace tessera::reshard {

/// A map from roles to seats, and the number of elements that it leaves where they are.
struct Choice {
  std::int64_t kept = 0;
  bool optimal = false;
  DeviceMap map;
};

/// Assigns rows and columns separately. `optimal` when no other map keeps more: every role has its
/// best seat, or every seat its best role. Empty when an axis has too few seats, or a place would
/// be dead.
Result<std::optional<Choice>> choose_by_axis(const ProductOverlap& product, const AxisSeats& own,
                                             const Shape& mesh, const PhysicalMesh& physical,
                                             Seats seats);

/// The number of elements that stay in place with the current B; empty where only a listing can
/// tell.
std::optional<std::int64_t> kept_by_axis(const ProductOverlap& product, const AxisSeats& own);

/// The maximum number of overlaps that are listed.
inline constexpr std::int64_t kMaxListedOverlaps = std::int64_t{1} << 20;

/// Every (role, place, elements) of all parts, each pair once; empty when there are too many.
using OverlapPairs = std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>>;
std::optional<OverlapPairs> list_overlaps(const Reshard& reshard,
                                          const std::vector<Overlap>& overlaps);

/// Assigns any role to any seat; `map` gives the current places of B's roles.
Result<Choice> choose_by_place(const OverlapPairs& pairs, const PlaceMap& map,
                               const PhysicalMesh& physical, Seats seats);
std::int64_t kept_by_place(const OverlapPairs& pairs, const PlaceMap& map);

}  // namespace tessera::reshard
