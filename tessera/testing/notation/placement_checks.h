// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/same_places.h"

/// What the tests of notations whose tensors are layouts, views or pieces share: a tensor as a
/// naive rule places it, and the laws that the library must satisfy for it.
namespace tessera::notation {

/// A small tensor, placed by its notation's rule.
struct Ruling {
  std::string text;  ///< as the library must print it
  Shape mesh;
  std::int64_t slots = 0;
  /// The content of each (place, slot), in row-major order of the indices.
  std::map<std::pair<Place, std::int64_t>, std::vector<Index>> contents;
  std::string cause;  ///< of all padding

  void put(const Place& place, std::int64_t slot, const Index& index) {
    contents[{place, slot}].push_back(index);
  }
};

/// Every slot of every place holds what the rule put there, and locate finds every element there.
inline std::string contents_mistake(const Ruling& ruling, const Placement& placement,
                                    const PlaceNames& names = {}) {
  if (placement.mesh() != ruling.mesh) return cat("mesh ", placement.mesh().to_string());
  if (placement.slots() != ruling.slots) {
    return cat("expected ", ruling.slots, " slots, found ", placement.slots());
  }
  std::map<Index, std::pair<std::vector<Place>, std::int64_t>> positions;
  for (std::int64_t number = 0; number < ruling.mesh.elements(); ++number) {
    const Place place = ruling.mesh.delinear(number);
    for (std::int64_t slot = 0; slot < ruling.slots; ++slot) {
      const std::string where = cat("place ", bracketed(place), " slot ", slot, ": ");
      const Result<SlotContent> found = placement.contents_at(names.place_of(place), slot);
      if (!found) return where + found.error().message;
      const auto* indices = std::get_if<std::vector<Index>>(&*found);
      const auto expected = ruling.contents.find({place, slot});
      if (expected == ruling.contents.end()) {
        if (indices != nullptr) return where + "expected padding";
        const auto cause = cause_name(std::get<Padding>(*found).cause);
        if (cause != ruling.cause) return cat(where, "padding of cause ", cause);
        continue;
      }
      if (indices == nullptr) return where + "found padding";
      if (*indices != expected->second) return where + "holds other elements";
      for (const Index& index : *indices) {
        positions[index].first.push_back(place);
        positions[index].second = slot;
      }
    }
  }
  if (static_cast<std::int64_t>(positions.size()) != placement.shape().elements()) {
    return "the rule does not place every element";
  }
  for (const auto& [index, position] : positions) {
    Result<Location> location = placement.locate(index);
    if (!location) return location.error().message;
    for (Place& place : location->places) place = names.name_of(place);
    if (!names.are_places()) std::sort(location->places.begin(), location->places.end());
    if (location->places != position.first || location->slot != position.second) {
      return cat("element ", bracketed(index), " is located elsewhere");
    }
  }
  return {};
}

/// The raised text describes the same placement with the same slots.
inline std::string raised_mistake(const Placement& placement, const Notation& notation) {
  const Result<std::string> raised = print_tensor(placement, notation);
  if (!raised) return cat("not raised: ", raised.error().message);
  const Result<Tensor> again = parse_tensor(*raised);
  if (!again) return cat("raised as ", *raised, ": ", again.error().message);
  const Result<Comparison> same = same_on_device(placement, again->placement);
  if (!same || !same->equal || again->placement.slots() != placement.slots()) {
    return cat("raised as ", *raised, ", which is another placement");
  }
  return {};
}

/// All of the laws; empty when they hold.
inline std::string mistake(const Ruling& ruling) {
  const auto broken = [&](std::string_view what) { return cat(ruling.text, "\n  ", what); };
  const Result<Tensor> tensor = parse_tensor(ruling.text);
  if (!tensor) return render(tensor.error(), ruling.text);
  if (print_tensor(*tensor) != ruling.text) return broken(cat("prints ", print_tensor(*tensor)));
  std::string wrong = contents_mistake(ruling, tensor->placement, PlaceNames::of(*tensor));
  if (!wrong.empty()) return broken(cat(wrong, "\n  ", print_native(tensor->placement)));
  const Notation& notation = **find_notation(tensor->notation);
  wrong = raised_mistake(tensor->placement, notation);
  if (!wrong.empty()) return broken(wrong);
  const std::string native = print_native(tensor->placement);
  const Result<Tensor> plain = parse_tensor(native);
  if (!plain) return broken(render(plain.error(), native));
  wrong = raised_mistake(plain->placement, notation);
  return wrong.empty() ? wrong : broken(cat("native ", native, "\n  ", wrong));
}

/// Numbers from 0 to n - 1, the same on every machine.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : engine_(seed) {}
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(n));
  }
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  bool chance(int percent) { return below(100) < percent; }
  /// Extents of `rank` dims, each at most `most`.
  Shape shape(std::int64_t rank, std::int64_t most) {
    std::vector<std::int64_t> extents;
    for (std::int64_t i = 0; i < rank; ++i) extents.push_back(chance(4) ? 0 : between(1, most));
    return *Shape::make(std::move(extents));
  }

 private:
  std::mt19937_64 engine_;
};

/// "4x6x", to go before an element type.
inline std::string extents_text(const Shape& shape) {
  std::string text;
  for (const std::int64_t extent : shape.extents()) text += cat(extent, "x");
  return text;
}

}  // namespace tessera::notation
