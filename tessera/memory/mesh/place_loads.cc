// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/mesh/place_loads.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"

namespace tessera::memory {
namespace {

using Loads = std::vector<const PlaceLoad*>;

/// Among places whose first coordinates, up to `axis`, are in the boxes of all these loads. A sum
/// that is largest is also reached where some box begins, since none of them ends there.
void search(const Loads& loads, std::size_t axis, Place& place, FullestPlace& found) {
  Checked sum(0);
  for (const PlaceLoad* load : loads) sum += load->bytes;
  if (loads.empty() || sum.saturated() <= found.bytes) return;
  if (axis == place.size()) {
    found = {sum.saturated(), place};
    return;
  }
  std::vector<std::int64_t> starts;
  for (const PlaceLoad* load : loads) starts.push_back(load->places.from[axis]);
  std::ranges::sort(starts);
  const auto repeated = std::ranges::unique(starts);
  starts.erase(repeated.begin(), repeated.end());
  for (const std::int64_t start : starts) {
    Loads here;
    for (const PlaceLoad* load : loads) {
      if (load->places.from[axis] <= start && start < load->places.to[axis]) here.push_back(load);
    }
    place[axis] = start;
    search(here, axis + 1, place, found);
  }
}

}  // namespace

FullestPlace fullest_place(std::span<const PlaceLoad> loads) {
  Loads all;
  for (const PlaceLoad& load : loads) {
    if (load.bytes > 0 && load.places.elements() > 0) all.push_back(&load);
  }
  FullestPlace found;
  if (all.empty()) return found;
  Place place(all.front()->places.from.size());
  search(all, 0, place, found);
  return found;
}

FullestPlace fullest_place_in(const Box& within, std::span<const PlaceLoad> loads) {
  std::vector<PlaceLoad> clipped;
  for (const PlaceLoad& load : loads) {
    std::optional<Box> both = meet(load.places, within);
    if (both) clipped.push_back({*std::move(both), load.bytes});
  }
  return fullest_place(clipped);
}

}  // namespace tessera::memory
