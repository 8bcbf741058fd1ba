// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tessera/base/text.h"
#include "tessera/layout/regions.h"
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
  const std::vector<NaivePosition> map = naive_map(layout.form());
  for (std::int64_t i = 0; i < layout.shape().elements(); ++i) {
    const Index index = layout.shape().delinear(i);
    const Result<Location> location = layout.locate(index);
    if (!location.ok()) return cat("locate ", bracketed(index), ": ", why(location));
    std::vector<Place> places = location->places;
    std::sort(places.begin(), places.end());
    const NaivePosition& position = map[at(i)];
    if (places != position.places || location->slot != position.slot) {
      return cat("locate ", bracketed(index), " says slot ", location->slot, ", expected ",
                 position.slot, " (or other places): ");
    }
    const auto bits = dtype_bits(layout.atom().storage);
    const std::int64_t byte = bits ? position.slot * *bits / 8 : -1;
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
    failure = law_place_set(region.places, layout.mesh(), places);
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

Failure slot_laws(const Layout& layout) {
  const Picture picture = naive_picture(layout.form(), layout.slots());
  Laws laws;
  laws << law_locate(layout, picture) << law_padding(layout, picture)
       << law_padding_regions(layout, picture) << law_place_classes(layout, picture)
       << law_tile_of(layout, picture);
  return about(layout.form(), laws.failure());
}

}  // namespace tessera::test
