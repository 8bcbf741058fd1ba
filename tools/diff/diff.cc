// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <ostream>

#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tools/command/command.h"
#include "tools/json/json.h"
#include "tools/terminal/replicas.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

/// "place [2, 1], slot 129".
std::string location_text(const Placement& placement, const Index& index) {
  const Result<PlaceWriter> writer = PlaceWriter::make(placement, /*physical=*/false);
  const auto [form, local] = placement.form_at(index);
  Place first;
  std::int64_t slot = 0;
  form->evaluate(local, first, slot);
  const std::string places =
      writer ? writer->places_text(*form, first) : cat(bracketed(first), " and its replicas");
  return cat("place ", places, ", slot ", slot);
}

/// A place that has another device position in B than in A; only the first 2^12 are examined.
std::optional<Place> moved_place(const Placement& a, const Placement& b) {
  constexpr std::int64_t kMostPlaces = 1 << 12;
  if (a.mesh() != b.mesh()) return std::nullopt;
  const auto map_of = [](const Placement& placement) {
    const Layout* layout = placement.layout();
    return layout != nullptr ? layout->spec().device_map : DeviceMap::identity();
  };
  const DeviceMap map_a = map_of(a);
  const DeviceMap map_b = map_of(b);
  for (std::int64_t i = 0; i < std::min(a.places(), kMostPlaces); ++i) {
    const Place place = a.mesh().delinear(i);
    if (map_a.map(a.mesh(), place) != map_b.map(b.mesh(), place)) return place;
  }
  return std::nullopt;
}

Result<Verdict> run(const Request& request, Console& console) {
  const Placement& a = request.tensor("a").placement;
  const Placement& b = request.tensor("b").placement;
  TESSERA_TRY(const Comparison comparison, same_placement(a, b));
  const Result<std::int64_t> moved =
      comparison.equal ? Result<std::int64_t>(0) : moved_elements_between(a, b);
  if (!moved && moved.error().code != ErrorCode::kTooLarge) return moved.error();
  const std::int64_t bytes = moved ? dtype_bytes(b.atom().storage, *moved).value_or(INT64_MAX) : 0;
  const Verdict verdict = comparison.equal ? Verdict::kYes : Verdict::kNo;
  if (console.json) {
    Json json;
    json["equal"] = comparison.equal;
    json["first_difference"] = comparison.first_difference;
    json["moved_elements"] = moved ? Json(*moved) : Json();
    json["moved_bytes"] = moved ? Json(bytes) : Json();
    console.out << dump(json) << '\n';
    return verdict;
  }
  if (comparison.equal) {
    console.out << "equal: every element is in the same slot of the same places\n";
    if (const std::optional<Place> place = moved_place(a, b)) {
      console.out << "but the device maps differ: place " << bracketed(*place)
                  << " is at another position on the device (locate --physical)\n";
    }
    return verdict;
  }
  if (comparison.first_difference) {
    const Index& index = *comparison.first_difference;
    console.out << "different: first at " << bracketed(index)  //
                << "\n  A: " << location_text(a, index)        //
                << "\n  B: " << location_text(b, index) << '\n';
  }
  if (moved) {
    console.out << "moved: " << *moved << " of " << count_of(a.shape().elements(), "element")
                << ", " << count_of(bytes, "byte") << '\n';
  } else {
    console.out << "moved: too many kinds of elements to count\n";
  }
  const Result<bool> local = placed_compatibly(a, b);
  if (local) {
    console.out << (*local
                        ? "no data move between places: every place already holds what it needs\n"
                        : "data move between places\n");
  }
  return verdict;
}

}  // namespace

Verb diff_verb() {
  Verb verb;
  verb.name = "diff";
  verb.summary = "whether two layouts put every element in the same place";
  verb.description =
      "Compares two layouts of one shape as functions, independent of their notations: the same "
      "slot of the same places for every element. Padding value, memory space and allocation are "
      "ignored; replicas are compared as sets. Prints the first element that differs, in row-major "
      "order, and how many elements move from A to B, in bytes of B's storage type. Exit status: 0 "
      "when equal, 1 otherwise.";
  verb.positionals = {{"a", Positional::Kind::kTensor, "the first tensor", {}, false},
                      {"b", Positional::Kind::kTensor, "the second tensor", {}, false}};
  verb.examples = {
      "tessera diff 'tensor<4x6xf32, strided<[6, 1]>>' 'tensor<4x6xf32, strided<[1, 4]>>'"};
  verb.answers_json = true;
  verb.answers_batch = true;
  verb.run = run;
  return verb;
}

}  // namespace tessera::tools
