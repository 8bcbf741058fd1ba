// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "tessera/base/text.h"
#include "tessera/layout/regions.h"
#include "tessera/testing/laws.h"

namespace tessera::test {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

Failure law_place_set(const PlaceSet& set, const Shape& mesh, std::vector<std::int64_t>& numbers) {
  const std::vector<Place> places = set.places();
  if (static_cast<std::int64_t>(places.size()) != set.count()) return "PlaceSet::count is wrong";
  for (const PlaceLoop& loop : set.loops) {
    if (loop.count <= 1) return cat("a place loop of count ", loop.count);
  }
  std::set<Place> distinct(places.begin(), places.end());
  if (distinct.size() != places.size()) return "a PlaceSet names a place twice";
  for (std::int64_t q = 0; q < mesh.elements(); ++q) {
    const Place place = mesh.delinear(q);
    if (set.contains(place) != distinct.contains(place)) return "PlaceSet::contains is wrong";
  }
  for (const Place& place : places) {
    if (!mesh.contains(place)) return cat("place ", bracketed(place), " is outside the mesh");
    numbers.push_back(mesh.linear(place));
  }
  return "";
}

Failure law_place_classes(const Layout& layout, const Picture& picture) {
  const Result<std::vector<PlaceClass>> classes = place_classes(layout);
  if (!classes.ok()) return cat("place_classes: ", why(classes));
  const std::int64_t places = layout.mesh().elements();
  std::vector<std::vector<bool>> data(at(places));
  for (std::int64_t q = 0; q < places; ++q) {
    for (std::int64_t s = 0; s < layout.slots(); ++s) data[at(q)].push_back(picture.at(q, s) >= 0);
  }
  std::map<std::vector<bool>, std::size_t> class_of_data;
  std::vector<int> seen(at(places), 0);
  for (std::size_t c = 0; c < classes->size(); ++c) {
    const PlaceClass& one = (*classes)[c];
    std::vector<std::int64_t> members;
    for (const PlaceSet& set : one.sets) {
      if (const Failure bad = law_place_set(set, layout.mesh(), members); !bad.empty()) {
        return cat("place_classes: ", bad);
      }
    }
    if (members.empty()) return "a class without places";
    if (one.places != static_cast<std::int64_t>(members.size())) {
      return cat("a class of ", members.size(), " places says ", one.places);
    }
    const std::vector<bool>& held = data[at(members.front())];
    if (!class_of_data.emplace(held, c).second) return "two classes hold the same slots";
    const auto elements = std::count(held.begin(), held.end(), true);
    const auto needed = held.rend() - std::find(held.rbegin(), held.rend(), true);
    if (one.elements != elements || one.needed_slots != needed) {
      return cat("a class says ", one.elements, " elements in ", one.needed_slots,
                 " slots, expected ", elements, " in ", needed);
    }
    if (elements == 0 && c + 1 != classes->size()) return "the empty class is not last";
    for (const std::int64_t q : members) {
      ++seen[at(q)];
      if (data[at(q)] != held) return "places of one class hold different slots";
    }
  }
  if (std::any_of(seen.begin(), seen.end(), [](int times) { return times != 1; })) {
    return "a place is in no class, or in two";
  }
  return "";
}

Failure law_tile_of(const Layout& layout, const Picture& picture) {
  for (std::int64_t q = 0; q < layout.mesh().elements(); ++q) {
    const Place place = layout.mesh().delinear(q);
    const Result<Tile> tile = tile_of(layout, place);
    if (!tile.ok()) return cat("tile_of ", bracketed(place), ": ", why(tile));
    std::vector<int> expected(at(layout.shape().elements()), 0);
    std::int64_t needed = 0;
    std::int64_t elements = 0;
    for (std::int64_t s = 0; s < layout.slots(); ++s) {
      if (picture.at(q, s) < 0) continue;
      ++expected[at(picture.at(q, s))];
      ++elements;
      needed = s + 1;
    }
    if (tile->elements != elements || tile->needed_slots != needed ||
        tile->allocated_slots != layout.slots()) {
      return cat("tile_of ", bracketed(place), " has wrong sizes: ");
    }
    for (const Box& box : tile->boxes) {
      std::int64_t inside = 0;
      for (std::int64_t i = 0; i < layout.shape().elements(); ++i) {
        if (!box.contains(layout.shape().delinear(i))) continue;
        --expected[at(i)];
        ++inside;
      }
      if (inside != box.elements() || inside == 0) return "a box has wrong elements";
    }
    if (std::any_of(expected.begin(), expected.end(), [](int left) { return left != 0; })) {
      return cat("the boxes of tile_of ", bracketed(place), " are not its tile: ");
    }
  }
  const Result<Tile> outside = tile_of(layout, layout.mesh().extents());
  if (layout.mesh().rank() > 0 &&
      (outside.ok() || outside.error().code != ErrorCode::kOutOfRange)) {
    return "tile_of accepts a place outside the mesh";
  }
  return "";
}

}  // namespace tessera::test
