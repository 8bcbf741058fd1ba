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

/// The two ways of `relabel` (its essay says what they choose among).
namespace tessera::reshard {

/// A map from roles to seats, and how many elements it leaves where they are.
struct Choice {
  std::int64_t kept = 0;
  bool optimal = false;
  DeviceMap map;
};

/// Rows and columns apart, each assigned by itself. `optimal` when no map whatever keeps more:
/// every role has its best seat, or every seat its best role. Nothing when the seats of an axis are
/// too few, or a place would be dead.
Result<std::optional<Choice>> choose_by_axis(const ProductOverlap& product, const AxisSeats& own,
                                             const Shape& mesh, const PhysicalMesh& physical,
                                             Seats seats);

/// Elements that stay where they are with B as it is; nothing where it takes a listing to know.
std::optional<std::int64_t> kept_by_axis(const ProductOverlap& product, const AxisSeats& own);

/// As many overlaps as are listed.
inline constexpr std::int64_t kMaxListedOverlaps = std::int64_t{1} << 20;

/// Every (role, place, elements) of all parts, each pair once; nothing when there are too many.
using OverlapPairs = std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>>;
std::optional<OverlapPairs> list_overlaps(const Reshard& reshard,
                                          const std::vector<Overlap>& overlaps);

/// Any role on any seat; `map` says where B's roles are now.
Result<Choice> choose_by_place(const OverlapPairs& pairs, const PlaceMap& map,
                               const PhysicalMesh& physical, Seats seats);
std::int64_t kept_by_place(const OverlapPairs& pairs, const PlaceMap& map);

}  // namespace tessera::reshard
