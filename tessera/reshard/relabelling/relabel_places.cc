// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/reshard/part.h"
#include "tessera/reshard/relabelling/assignment.h"
#include "tessera/reshard/relabelling/relabel_choice.h"
#include "tessera/reshard/relabelling/seat_map.h"

namespace tessera::reshard {

std::optional<OverlapPairs> list_overlaps(const Reshard& reshard,
                                          const std::vector<Overlap>& overlaps) {
  Checked listed = 0;
  for (const Overlap& overlap : overlaps) listed += Checked(overlap.choices()) * overlap.copies();
  if (listed.saturated() > kMaxListedOverlaps) return std::nullopt;
  OverlapPairs pairs;
  for (std::size_t p = 0; p < overlaps.size(); ++p) {
    const PlaceMap& map = reshard.parts()[p].map_a;
    for_each_overlap(overlaps[p], [&](std::int64_t a, std::int64_t b, std::int64_t count) {
      for (const std::int64_t place : holders(overlaps[p], map, a)) {
        pairs.emplace_back(b, place, count);
      }
    });
  }
  std::sort(pairs.begin(), pairs.end());
  std::size_t kept = 0;
  for (std::size_t i = 1; i < pairs.size(); ++i) {
    auto& [role, place, count] = pairs[kept];
    if (std::get<0>(pairs[i]) == role && std::get<1>(pairs[i]) == place) {
      count += std::get<2>(pairs[i]);
    } else {
      pairs[++kept] = pairs[i];
    }
  }
  if (!pairs.empty()) pairs.resize(kept + 1);
  return pairs;
}

std::int64_t kept_by_place(const OverlapPairs& pairs, const PlaceMap& map) {
  std::int64_t kept = 0;
  for (const auto& [role, place, count] : pairs) kept += map.physical(role) == place ? count : 0;
  return kept;
}

Result<Choice> choose_by_place(const OverlapPairs& pairs, const PlaceMap& map,
                               const PhysicalMesh& physical, Seats seats) {
  const auto roles = static_cast<std::size_t>(map.mesh().elements());
  std::vector<std::int64_t> places;
  std::unordered_map<std::int64_t, std::int32_t> column;
  const auto seat = [&](std::int64_t place) {
    const auto [found, added] = column.emplace(place, static_cast<std::int32_t>(places.size()));
    if (added) places.push_back(place);
    return found->second;
  };
  for (std::size_t v = 0; v < roles; ++v) seat(map.physical(static_cast<std::int64_t>(v)));
  std::vector<Worth> worths;
  for (const auto& [role, place, count] : pairs) {
    if (seats == Seats::kOfB && !column.contains(place)) continue;
    worths.push_back({static_cast<std::int32_t>(role), seat(place), count});
  }
  TESSERA_TRY(const Assignment best, assign(roles, places.size(), worths));
  Choice choice;
  choice.kept = best.weight;
  choice.optimal = best.optimal;
  std::vector<std::int64_t> chosen;
  for (const std::int32_t c : best.column_of) chosen.push_back(places[static_cast<std::size_t>(c)]);
  TESSERA_TRY(choice.map, map_of_places(map.mesh(), physical.mesh, chosen));
  return choice;
}

}  // namespace tessera::reshard
