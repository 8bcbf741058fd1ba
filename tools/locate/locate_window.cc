// SPDX-License-Identifier: Apache-2.0
#include "tools/locate/locate_window.h"

#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/regions.h"
#include "tessera/notation/same_places.h"
#include "tools/command/window.h"
#include "tools/json/json.h"
#include "tools/terminal/replicas.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

Error outside(std::string message) {
  return Error{ErrorCode::kOutOfRange, std::move(message), std::nullopt,
               "ask for a part of the tensor"};
}

std::int64_t named_number(const Shape& mesh, const PlaceNames& names, const Place& place) {
  return names.are_places() ? mesh.linear(place) : names.name_of(place)[0];
}

/// Where a notation numbers devices, every place is a set of its own, under its number.
Result<Json> sets_json(const std::vector<PlaceSet>& sets, const PlaceNames& names) {
  Json json = Json::array();
  for (const PlaceSet& set : sets) {
    if (names.are_places()) {
      Json loops = Json::array();
      for (const PlaceLoop& loop : set.loops) {
        loops.push_back({{"axis", loop.axis}, {"count", loop.count}, {"stride", loop.stride}});
      }
      json.push_back({{"first", set.first}, {"loops", loops}});
      continue;
    }
    if (set.count() > kMostInWindow) {
      return Error{ErrorCode::kTooLarge, cat("a class of ", set.count(), " numbered places"),
                   std::nullopt, "use a notation with coordinates"};
    }
    for (const Place& place : set.places()) {
      json.push_back({{"first", names.name_of(place)}, {"loops", Json::array()}});
    }
  }
  return json;
}

}  // namespace

Result<Verdict> locate_elements_window(const Request& request, Console& console) {
  const Tensor& tensor = request.tensor("tensor");
  const Placement& placement = tensor.placement;
  TESSERA_TRY(const Window window, read_window(request, placement.shape()));
  const PlaceNames names = PlaceNames::of(tensor);
  std::vector<std::int64_t> places;
  std::vector<std::int64_t> slots;
  Place place;
  for (std::int64_t k = 0; k < window.counts.elements(); ++k) {
    const Index index = window.element(k);
    const auto [form, local] = placement.form_at(index);
    std::int64_t slot = 0;
    form->evaluate(local, place, slot);
    if (!console.json) {
      console.out << bracketed(index) << "  place " << bracketed(names.name_of(place)) << "  slot "
                  << slot << '\n';
    }
    places.push_back(named_number(placement.mesh(), names, place));
    slots.push_back(slot);
  }
  if (console.json) {
    std::string line = "{\"places\":";
    append_numbers(line, places);
    line += ",\"slots\":";
    append_numbers(line, slots);
    console.out << line << "}\n";
  }
  return Verdict::kYes;
}

Result<Verdict> locate_slots_window(const Request& request, Console& console) {
  const Tensor& tensor = request.tensor("tensor");
  const Placement& placement = tensor.placement;
  const std::int64_t first = request.number("slot");
  const std::int64_t count = request.number("count");
  const std::int64_t step = request.has("step") ? request.number("step") : 1;
  if (count < 0 || step < 1) {
    return outside(cat("--count is ", count, " and --step ", step));
  }
  if (count > kMostInWindow) {
    return Error{ErrorCode::kTooLarge, cat(count, " slots; at most ", kMostInWindow), std::nullopt,
                 "take larger steps"};
  }
  const Checked last = Checked(first) + Checked(count - 1) * step;
  if (first < 0 || (count > 0 && (last.overflowed() || last.saturated() >= placement.slots()))) {
    return outside(cat("the last of ", count, " slots from ", first, " in steps of ", step,
                       " is outside of the ", placement.slots(), " slots of a place"));
  }
  const Place place = PlaceNames::of(tensor).place_of(request.numbers("place"));
  const bool may_share = placement.view() != nullptr;
  std::string line = "{\"contents\":[";
  std::string text;
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t slot = first + k * step;
    TESSERA_TRY(const SlotContent content, placement.contents_at(place, slot));
    if (k > 0) line += ',';
    const auto* const indices = std::get_if<std::vector<Index>>(&content);
    if (indices == nullptr) {
      const std::string_view cause = cause_name(std::get<Padding>(content).cause);
      line += cat("\"", cause, "\"");
      text += cat("slot ", slot, "  padding (", cause, ")\n");
      continue;
    }
    text += cat("slot ", slot, " ");
    if (may_share) line += '[';
    for (std::size_t i = 0; i < indices->size(); ++i) {
      if (i > 0) line += ',';
      append_numbers(line, (*indices)[i]);
      text += cat(" ", bracketed((*indices)[i]));
    }
    if (may_share) line += ']';
    text += '\n';
  }
  console.out << (console.json ? line + "]}\n" : text);
  return Verdict::kYes;
}

Result<Verdict> locate_classes(const Request& request, Console& console) {
  const Tensor& tensor = request.tensor("tensor");
  const Placement& placement = tensor.placement;
  if (placement.layout() == nullptr) {
    return Error{ErrorCode::kNotSupported, "the places of views and of boxes have no classes",
                 std::nullopt, "use --slots"};
  }
  TESSERA_TRY(const std::vector<PlaceClass> classes, place_classes(*placement.layout()));
  Json json;
  json["mesh"] = placement.mesh().extents();
  json["slots"] = placement.slots();
  json["classes"] = Json::array();
  for (const PlaceClass& one : classes) {
    TESSERA_TRY(const Json sets, sets_json(one.sets, PlaceNames::of(tensor)));
    json["classes"].push_back({{"places", one.places},
                               {"elements", one.elements},
                               {"needed_slots", one.needed_slots},
                               {"sets", sets}});
    if (console.json) continue;
    console.out << count_of(one.places, "place") << ": " << one.elements << " of "
                << count_of(placement.slots(), "slot") << ", the first at "
                << bracketed(one.sets.front().first) << '\n';
  }
  if (console.json) console.out << dump(json) << '\n';
  return Verdict::kYes;
}

}  // namespace tessera::tools
