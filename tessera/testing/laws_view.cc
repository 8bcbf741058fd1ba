// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/testing/laws.h"

namespace tessera::test {
namespace {

using SlotOfPlace = std::pair<Place, std::int64_t>;

struct PiecePosition {
  std::vector<Place> places;
  std::int64_t slot = 0;
  friend bool operator==(const PiecePosition&, const PiecePosition&) = default;
};

Index inside_of(const Box& box, const Index& index) {
  Index inner = index;
  for (std::size_t d = 0; d < inner.size(); ++d) inner[d] -= box.from[d];
  return inner;
}

bool box_holds(const Box& box, const Index& index) {
  for (std::size_t d = 0; d < index.size(); ++d) {
    if (index[d] < box.from[d] || index[d] >= box.to[d]) return false;
  }
  return true;
}

PiecePosition naive_piece_position(const Piecewise& pieces, const Index& index) {
  for (const LayoutPiece& piece : pieces.pieces()) {
    if (!box_holds(piece.box, index)) continue;
    NaivePosition position = naive_evaluate(piece.layout.form(), inside_of(piece.box, index));
    return {std::move(position.places), position.slot};
  }
  return {};
}

}  // namespace

Failure law_view(const Layout& base, const View& view, const IndexMap& map) {
  if (view.mesh() != base.mesh() || view.slots() != base.slots() || view.dtype() != base.dtype() ||
      !(view.atom() == base.atom())) {
    return "a view does not keep mesh, slots, element type or atom";
  }
  if (const Status status = view.form().check(); !status.ok()) {
    return cat("the form of a view is malformed: ", why(status));
  }
  std::map<SlotOfPlace, std::vector<Index>> held;
  for (std::int64_t i = 0; i < view.shape().elements(); ++i) {
    const Index index = view.shape().delinear(i);
    const Index mapped = map(index);
    if (!base.shape().contains(mapped)) return cat("the map leads to ", bracketed(mapped));
    const NaivePosition expected = naive_evaluate(base.form(), mapped);
    const Result<Location> location = view.locate(index);
    if (!location.ok()) return cat("view.locate ", bracketed(index), ": ", why(location));
    std::vector<Place> places = location->places;
    std::sort(places.begin(), places.end());
    const auto byte = base.locate(mapped)->byte;
    if (places != expected.places || location->slot != expected.slot || location->byte != byte) {
      return cat("view.locate ", bracketed(index), " is slot ", location->slot,
                 ", but base.locate ", bracketed(mapped), " is slot ", expected.slot,
                 " (or other places)");
    }
    for (const Place& place : expected.places) held[{place, expected.slot}].push_back(index);
  }
  for (std::int64_t q = 0; q < base.mesh().elements(); ++q) {
    const Place place = base.mesh().delinear(q);
    for (std::int64_t slot = 0; slot < base.slots(); ++slot) {
      const Result<std::vector<Index>> elements = view.elements_at(place, slot);
      if (!elements.ok()) return cat("elements_at: ", why(elements));
      const auto found = held.find({place, slot});
      if (*elements != (found == held.end() ? std::vector<Index>{} : found->second)) {
        return cat("elements_at ", bracketed(place), " slot ", slot, " has ", elements->size(),
                   " indices, or others than expected, or in another order");
      }
    }
  }
  const Place origin(base.mesh().rank(), 0);
  const auto outside = view.elements_at(origin, base.slots());
  if (outside.ok() || outside.error().code != ErrorCode::kOutOfRange) {
    return cat("elements_at a slot outside is ", why(outside));
  }
  return "";
}

Failure law_piecewise(const Piecewise& pieces) {
  std::map<SlotOfPlace, Index> held;
  for (std::int64_t i = 0; i < pieces.shape().elements(); ++i) {
    const Index index = pieces.shape().delinear(i);
    const PiecePosition expected = naive_piece_position(pieces, index);
    const Result<Location> location = pieces.locate(index);
    if (!location.ok()) return cat("locate ", bracketed(index), ": ", why(location));
    std::vector<Place> places = location->places;
    std::sort(places.begin(), places.end());
    if (places != expected.places || location->slot != expected.slot) {
      return cat("locate ", bracketed(index), " is not where its piece puts it");
    }
    for (const Place& place : places) {
      if (!held.emplace(SlotOfPlace{place, expected.slot}, index).second) {
        return cat(bracketed(index), " shares a slot");
      }
    }
  }
  for (std::int64_t q = 0; q < pieces.mesh().elements(); ++q) {
    const Place place = pieces.mesh().delinear(q);
    for (std::int64_t slot = 0; slot < pieces.slots(); ++slot) {
      const Result<Slot> answer = pieces.element_at(place, slot);
      if (!answer.ok()) return cat("element_at: ", why(answer));
      const auto found = held.find({place, slot});
      const Index* index = std::get_if<Index>(&*answer);
      if ((index != nullptr) != (found != held.end()) ||
          (index != nullptr && *index != found->second)) {
        return cat("element_at ", bracketed(place), " slot ", slot, " is wrong");
      }
      if (index != nullptr) continue;
      std::set<Cause> causes;
      for (const LayoutPiece& piece : pieces.pieces()) {
        if (slot >= piece.layout.slots()) continue;
        const Picture picture = naive_picture(piece.layout.form(), piece.layout.slots());
        causes.insert(static_cast<Cause>(-1 - picture.at(q, slot)));
      }
      const Cause expected = causes.empty() ? Cause::kGap : *causes.begin();
      if (std::get<Padding>(*answer).cause != expected) {
        return cat("element_at ", bracketed(place), " slot ", slot, " says ",
                   cause_name(std::get<Padding>(*answer).cause), ", expected ",
                   cause_name(expected));
      }
    }
  }
  return "";
}

Failure law_piecewise_same(const Piecewise& a, const Piecewise& b) {
  const Result<Comparison> comparison = same_placement(a, b);
  if (!comparison.ok()) return cat("same_placement: ", why(comparison));
  std::optional<Index> first;
  for (std::int64_t i = 0; i < a.shape().elements() && !first; ++i) {
    const Index index = a.shape().delinear(i);
    if (!(naive_piece_position(a, index) == naive_piece_position(b, index))) first = index;
  }
  if (comparison->equal == first.has_value()) return "same_placement of pieces is wrong";
  if (comparison->first_difference != first) return "first_difference of pieces is wrong";
  return "";
}

}  // namespace tessera::test
