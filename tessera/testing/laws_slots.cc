// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "tessera/base/text.h"
#include "tessera/layout/padding.h"
#include "tessera/layout/places.h"
#include "tessera/testing/laws.h"

namespace tessera::test {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

std::string content_text(const Layout& layout, std::int64_t content) {
  if (content >= 0) return "element " + bracketed(layout.shape().delinear(content));
  return cat("padding ", cause_name(static_cast<Cause>(-1 - content)));
}

std::int64_t as_content(const Layout& layout, const Slot& slot) {
  if (const Index* index = std::get_if<Index>(&slot)) {
    return layout.shape().contains(*index) ? layout.shape().linear(*index) : INT64_MAX;
  }
  return -1 - static_cast<std::int64_t>(std::get<Padding>(slot).cause);
}

PaddingCount count_padding(const Picture& picture, std::int64_t from_place, std::int64_t to_place) {
  PaddingCount count;
  for (std::int64_t q = from_place; q < to_place; ++q) {
    for (std::int64_t s = 0; s < picture.slots; ++s) {
      const std::int64_t content = picture.at(q, s);
      if (content >= 0) continue;
      ++count.total;
      ++count.by_cause[at(-1 - content)];
    }
  }
  return count;
}

std::string count_text(const PaddingCount& count) {
  return cat(count.total, " = ", bracketed(count.by_cause));
}

/// The well-formedness of a PlaceSet, and its places as numbers in `mesh`.
Failure places_of(const PlaceSet& set, const Shape& mesh, std::vector<std::int64_t>& numbers) {
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

}  // namespace

Failure law_make(const LayoutSpec& spec) {
  const Result<Layout> layout = Layout::make(spec);
  if (!spec.form.check().ok()) {
    return layout.ok() ? "make accepts a malformed form" : "";
  }
  const NaiveValidity validity = naive_validity(spec.form);
  if (layout.ok() != validity.ok()) {
    return cat("make says ", why(layout), ", by brute force indices are ",
               validity.indices_injective ? "" : "not ", "injective and digits ",
               validity.digits_injective ? "" : "not ", "injective");
  }
  if (layout.ok()) return "";
  const ErrorCode code = layout.error().code;
  if (!validity.indices_injective && code != ErrorCode::kNotInjective) {
    return cat("make says ", why(layout), " of colliding indices");
  }
  if (validity.indices_injective && code != ErrorCode::kPaddingOverlap) {
    return cat("make says ", why(layout), " of colliding padding");
  }
  return "";
}

Failure law_locate(const Layout& layout, const Picture& picture) {
  const std::vector<NaiveSpot> map = naive_map(layout.form());
  for (std::int64_t i = 0; i < layout.shape().elements(); ++i) {
    const Index index = layout.shape().delinear(i);
    const Result<Location> location = layout.locate(index);
    if (!location.ok()) return cat("locate ", bracketed(index), ": ", why(location));
    std::vector<Place> places = location->places;
    std::sort(places.begin(), places.end());
    const NaiveSpot& spot = map[at(i)];
    if (places != spot.places || location->slot != spot.slot) {
      return cat("locate ", bracketed(index), " says slot ", location->slot, ", expected ",
                 spot.slot, " (or other places): ");
    }
    const auto bits = dtype_bits(layout.atom().storage);
    const std::int64_t byte = bits ? spot.slot * *bits / 8 : -1;
    if (location->byte.value_or(-1) != byte) return cat("wrong byte of ", bracketed(index));
  }
  for (std::int64_t q = 0; q < layout.mesh().elements(); ++q) {
    const Place place = layout.mesh().delinear(q);
    for (std::int64_t s = 0; s < layout.slots(); ++s) {
      const Result<Slot> slot = layout.element_at(place, s);
      if (!slot.ok()) return cat("element_at ", bracketed(place), " ", s, ": ", why(slot));
      const std::int64_t content = as_content(layout, *slot);
      if (content != picture.at(q, s)) {
        return cat("element_at ", bracketed(place), " slot ", s, " says ",
                   content_text(layout, content), ", expected ",
                   content_text(layout, picture.at(q, s)));
      }
    }
  }
  const Place origin(layout.mesh().rank(), 0);
  for (const std::int64_t slot : {std::int64_t{-1}, layout.slots(), INT64_MAX, INT64_MIN}) {
    const Result<Slot> outside = layout.element_at(origin, slot);
    if (outside.ok() || outside.error().code != ErrorCode::kOutOfRange) {
      return cat("slot ", slot, " of ", layout.slots(), " is ", why(outside));
    }
  }
  const Result<Slot> no_place = layout.element_at(Place(layout.mesh().rank() + 1, 0), 0);
  if (no_place.ok() || no_place.error().code != ErrorCode::kOutOfRange) {
    return "a place of the wrong rank is accepted";
  }
  const Result<Location> no_index = layout.locate(layout.shape().extents());
  if (layout.shape().rank() > 0 &&
      (no_index.ok() || no_index.error().code != ErrorCode::kOutOfRange)) {
    return "an index outside the shape is accepted";
  }
  return "";
}

Failure law_padding(const Layout& layout, const Picture& picture) {
  const PaddingCount expected = count_padding(picture, 0, layout.mesh().elements());
  const Result<PaddingCount> count = padding(layout);
  if (!count.ok()) return cat("padding: ", why(count));
  if (*count != expected) {
    return cat("padding says ", count_text(*count), ", expected ", count_text(expected));
  }
  const Result<bool> exhaustive = is_exhaustive(layout);
  if (!exhaustive.ok() || *exhaustive != (expected.total == 0)) {
    return "is_exhaustive is wrong";
  }
  for (std::int64_t q = 0; q < layout.mesh().elements(); ++q) {
    const PaddingCount expected_here = count_padding(picture, q, q + 1);
    const Result<PaddingCount> here = padding_at(layout, layout.mesh().delinear(q));
    if (!here.ok()) return cat("padding_at: ", why(here));
    if (*here != expected_here) {
      return cat("padding_at ", bracketed(layout.mesh().delinear(q)), " says ", count_text(*here),
                 ", expected ", count_text(expected_here));
    }
  }
  const Result<PaddingCount> outside = padding_at(layout, Place(layout.mesh().rank() + 1, 0));
  if (outside.ok() || outside.error().code != ErrorCode::kOutOfRange) {
    return "padding_at accepts a place outside the mesh";
  }
  return "";
}

Failure law_padding_regions(const Layout& layout, const Picture& picture) {
  std::vector<std::int64_t> seen(picture.content.size(), 0);
  Failure failure;
  std::int64_t regions = 0;
  const Status status = padding_regions(layout, [&](const PaddingRegion& region) {
    ++regions;
    std::vector<std::int64_t> places;
    failure = places_of(region.places, layout.mesh(), places);
    std::vector<std::int64_t> slots = {region.first_slot};
    for (const Stride& loop : region.slots) {
      const std::size_t before = slots.size();
      for (std::int64_t i = 1; i < loop.count; ++i) {
        for (std::size_t j = 0; j < before; ++j) slots.push_back(slots[j] + i * loop.stride);
      }
      if (loop.count < 1) failure = "an empty slot loop";
    }
    if (region.slots_per_place() != static_cast<std::int64_t>(slots.size())) {
      failure = "slots_per_place is wrong";
    }
    for (const std::int64_t q : places) {
      for (const std::int64_t s : slots) {
        if (s < 0 || s >= layout.slots()) {
          failure = cat("a region holds slot ", s);
          return false;
        }
        ++seen[at(q * layout.slots() + s)];
        if (picture.at(q, s) != -1 - static_cast<std::int64_t>(region.cause)) {
          failure = cat("region says ", cause_name(region.cause), " of place number ", q, " slot ",
                        s, ", expected ", content_text(layout, picture.at(q, s)));
        }
      }
    }
    return failure.empty();
  });
  if (!failure.empty()) return cat("padding_regions: ", failure);
  if (!status.ok()) return cat("padding_regions: ", why(status));
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (seen[i] != (picture.content[i] < 0 ? 1 : 0)) {
      return cat("slot number ", i, " is in ", seen[i], " regions: ");
    }
  }
  std::int64_t visits = 0;
  const Status stopped = padding_regions(layout, [&](const PaddingRegion&) {
    ++visits;
    return false;
  });
  if (!stopped.ok() || visits != std::min<std::int64_t>(regions, 1)) {
    return "padding_regions does not stop when told to";
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
      if (const Failure bad = places_of(set, layout.mesh(), members); !bad.empty()) {
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

Failure slot_laws(const Layout& layout) {
  const Picture picture = naive_picture(layout.form(), layout.slots());
  Laws laws;
  laws << law_locate(layout, picture) << law_padding(layout, picture)
       << law_padding_regions(layout, picture) << law_place_classes(layout, picture)
       << law_tile_of(layout, picture);
  return about(layout.form(), laws.failure());
}

}  // namespace tessera::test
