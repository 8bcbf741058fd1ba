// SPDX-License-Identifier: Apache-2.0
#include "tools/terminal/replicas.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

constexpr std::int64_t kMostRectangles = std::int64_t{1} << 16;

/// Fills that replicate an element, those of small strides first.
std::vector<Fill> spreading(const Form& form) {
  std::vector<Fill> fills;
  for (const Fill& fill : form.fills) {
    if (fill.kind != Fill::Kind::kFixed && fill.count > 1) fills.push_back(fill);
  }
  std::sort(fills.begin(), fills.end(),
            [](const Fill& a, const Fill& b) { return a.stride < b.stride; });
  return fills;
}

bool in_rectangles(const Form& form) { return form.replicas() > kListedReplicas; }

}  // namespace

void append_numbers(std::string& out, const std::vector<std::int64_t>& numbers) {
  out += '[';
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) out += ',';
    append_text(out, numbers[i]);
  }
  out += ']';
}

Result<std::vector<PlaceRectangle>> replica_rectangles(const Form& form, const Place& first) {
  PlaceRectangle rectangle{first, first};
  std::vector<Fill> repeats;
  Checked count = 1;
  for (const Fill& fill : spreading(form)) {
    const auto axis = static_cast<std::size_t>(fill.axis);
    const std::int64_t length = rectangle.to[axis] - rectangle.from[axis] + 1;
    if (fill.stride == length) {
      rectangle.to[axis] += (fill.count - 1) * fill.stride;
    } else {
      repeats.push_back(fill);
      count *= fill.count;
    }
  }
  if (count.saturated() > kMostRectangles) {
    return Error{ErrorCode::kTooLarge,
                 cat("the replicas of an element form more than ", kMostRectangles, " rectangles"),
                 std::nullopt, "replicate over neighbouring places"};
  }
  std::vector<PlaceRectangle> rectangles = {rectangle};
  for (const Fill& fill : repeats) {
    const auto axis = static_cast<std::size_t>(fill.axis);
    const std::size_t before = rectangles.size();
    for (std::int64_t i = 1; i < fill.count; ++i) {
      for (std::size_t k = 0; k < before; ++k) {
        PlaceRectangle moved = rectangles[k];
        moved.from[axis] += i * fill.stride;
        moved.to[axis] += i * fill.stride;
        rectangles.push_back(std::move(moved));
      }
    }
  }
  std::sort(rectangles.begin(), rectangles.end(),
            [](const PlaceRectangle& a, const PlaceRectangle& b) { return a.from < b.from; });
  return rectangles;
}

PlaceWriter::PlaceWriter(const Placement& placement, PlaceNames names, bool physical)
    : mesh_(&placement.mesh()), names_(std::move(names)), physical_(physical), layered_(false) {
  if (const Layout* layout = placement.layout()) device_map_ = layout->spec().device_map;
  for (const Fold& fold : device_map_.folds()) {
    for (const Cut& cut : fold.cuts) layered_ = layered_ || cut.target.is_memory();
  }
}

Result<PlaceWriter> PlaceWriter::make(const Placement& placement, PlaceNames names, bool physical) {
  PlaceWriter writer(placement, std::move(names), physical);
  for (const FormPiece& piece : form_pieces(placement)) {
    if (!in_rectangles(*piece.form)) continue;
    TESSERA_CHECK_OK(replica_rectangles(*piece.form, Place(placement.mesh().rank(), 0)));
    if (physical && writer.device_map_.kind() != DeviceMap::Kind::kIdentity) {
      return Error{ErrorCode::kTooLarge,
                   cat("an element has ", piece.form->replicas(),
                       " replicas, too many to list their physical places"),
                   std::nullopt, "omit --physical"};
    }
  }
  return writer;
}

std::vector<Place> PlaceWriter::listed(const Form& form, const Place& first) const {
  std::vector<Place> places = replica_places(form, first);
  std::sort(places.begin(), places.end(),
            [&](const Place& a, const Place& b) { return names_.name_of(a) < names_.name_of(b); });
  return places;
}

std::vector<PlaceRectangle> PlaceWriter::rectangles(const Form& form, const Place& first) const {
  if (names_.are_places()) {
    Result<std::vector<PlaceRectangle>> result = replica_rectangles(form, first);
    return result ? *std::move(result) : std::vector<PlaceRectangle>{};
  }
  std::vector<PlaceRectangle> runs;
  for (const Place& place : listed(form, first)) {
    const Place name = names_.name_of(place);
    if (!runs.empty() && runs.back().to[0] + 1 == name[0]) {
      runs.back().to = name;
    } else {
      runs.push_back({name, name});
    }
  }
  return runs;
}

PhysicalPlace PlaceWriter::physical_of(const Place& place) const {
  return device_map_.map(*mesh_, place);
}

void PlaceWriter::places_json(const Form& form, const Place& first, std::string& out) const {
  if (in_rectangles(form)) {
    std::string list;
    for (const PlaceRectangle& rectangle : rectangles(form, first)) {
      list += list.empty() ? "{\"from\":" : ",{\"from\":";
      append_numbers(list, rectangle.from);
      list += ",\"to\":";
      append_numbers(list, rectangle.to);
      list += '}';
    }
    out += cat("\"places\":[", list, "]");
    if (physical_) out += cat(",\"physical\":[", list, "]");
    return;
  }
  const std::vector<Place> places = listed(form, first);
  std::string physical;
  std::vector<std::int64_t> layers;
  out += "\"places\":[";
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (i > 0) out += ',';
    append_numbers(out, names_.name_of(places[i]));
    if (!physical_) continue;
    const PhysicalPlace there = physical_of(places[i]);
    if (i > 0) physical += ',';
    append_numbers(physical, there.place);
    layers.push_back(there.layer);
  }
  out += ']';
  if (!physical_) return;
  out += cat(",\"physical\":[", physical, "]");
  if (layered_) {
    out += ",\"layers\":";
    append_numbers(out, layers);
  }
}

void PlaceWriter::place_json(const Place& place, std::string& out) const {
  out += "\"place\":";
  append_numbers(out, names_.name_of(place));
  if (!physical_) return;
  const PhysicalPlace there = physical_of(place);
  out += ",\"physical\":";
  append_numbers(out, there.place);
  if (layered_) out += cat(",\"layer\":", there.layer);
}

std::string PlaceWriter::place_text(const Place& place) const {
  if (!physical_) return bracketed(names_.name_of(place));
  const PhysicalPlace there = physical_of(place);
  const std::string layer = layered_ ? cat(" layer ", there.layer) : "";
  return cat(bracketed(names_.name_of(place)), " (physical ", bracketed(there.place), layer, ")");
}

std::string PlaceWriter::places_text(const Form& form, const Place& first) const {
  std::string text;
  if (in_rectangles(form)) {
    for (const PlaceRectangle& rectangle : rectangles(form, first)) {
      text +=
          cat(text.empty() ? "" : " ", bracketed(rectangle.from), "..", bracketed(rectangle.to));
    }
    return text;
  }
  for (const Place& place : listed(form, first))
    text += cat(text.empty() ? "" : " ", place_text(place));
  return text;
}

}  // namespace tessera::tools
