// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/notation/refusal_checks.h"

#include <algorithm>
#include <map>

#include "tessera/base/text.h"

namespace tessera::test {
namespace {

std::int64_t reach(const Spots& spots) {
  std::int64_t last = -1;
  for (const RuleSpot& spot : spots.spots) last = std::max(last, spot.slot);
  return last + 1;
}

Mistake is_in(const Spots& spots, const Numbers& index, std::int64_t slot, const Numbers& place) {
  if (index.size() != spots.shape.size()) return "no such index";
  for (std::size_t dim = 0; dim < index.size(); ++dim) {
    if (index[dim] < 0 || index[dim] >= spots.shape[dim]) return "no such element";
  }
  const RuleSpot& spot = spots.at(index);
  if (spot.slot != slot) return cat("it is in slot ", spot.slot);
  if (spots.mesh.empty() || place.empty()) return {};
  const bool there = std::binary_search(spot.places.begin(), spot.places.end(), place);
  return there ? "" : "it is on another place";
}

}  // namespace

std::vector<std::pair<const RuleSpot*, const RuleSpot*>> neighbours(const Spots& spots,
                                                                    std::size_t dim) {
  std::vector<std::pair<const RuleSpot*, const RuleSpot*>> pairs;
  if (dim >= spots.shape.size()) return pairs;
  for (std::size_t i = 0; i < spots.indices.size(); ++i) {
    Numbers next = spots.indices[i];
    if (++next[dim] < spots.shape[dim]) pairs.emplace_back(&spots.spots[i], &spots.at(next));
  }
  return pairs;
}

bool has_step(const Spots& spots, std::size_t dim, std::int64_t slots) {
  if (dim >= spots.shape.size()) return false;
  for (std::size_t i = 0; i < spots.indices.size(); ++i) {
    Numbers next = spots.indices[i];
    while (++next[dim] < spots.shape[dim] && spots.at(next).places != spots.spots[i].places) {
    }
    if (next[dim] == spots.shape[dim]) continue;
    if (spots.at(next).slot - spots.spots[i].slot == slots) return true;
  }
  return false;
}

Mistake is_elsewhere(const Refused& refused, const Holes& holes) {
  // {i} {n} {n} on one place, {i} {n} {*} {n} {*} with the places in {*}.
  const bool placed = holes.texts.size() == 5;
  const Numbers place = placed ? holes.numbers(2) : Numbers{};
  const Numbers other = placed ? holes.numbers(4) : Numbers{};
  if (holes.number(1) == holes.number(placed ? 3 : 2) && place == other) return "they are the same";
  return is_in(refused.spots, holes.numbers(0), holes.number(1), place);
}

Mistake is_at_first(const Refused& refused, const Holes& holes) {
  return is_in(refused.spots, holes.numbers(0), holes.number(1), holes.numbers(2));
}

Mistake allocates(const Refused& refused, const Holes& holes) {
  return refused.spots.slots == holes.number(0) ? "" : cat("it has ", refused.spots.slots);
}

Mistake allocates_otherwise(const Refused& refused, const Holes& holes) {
  if (holes.number(0) == holes.number(holes.texts.size() - 1)) return "they are the same";
  return allocates(refused, holes);
}

Mistake reaches_otherwise(const Refused& refused, const Holes& holes) {
  if (!refused.spots.spots.empty() && reach(refused.spots) != holes.number(1)) {
    return cat("they reach ", reach(refused.spots));
  }
  return allocates_otherwise(refused, holes);
}

Mistake allocates_for_one(const Refused& refused, const Holes& holes) {
  std::map<Numbers, std::int64_t> elements;
  for (const auto& [cell, held] : refused.spots.held) {
    if (++elements[cell.first] > 1) return cat(bracketed(cell.first), " has more than one");
  }
  return holes.number(0) == 1 ? "that is enough" : allocates(refused, holes);
}

Mistake allocates_for_dim(const Refused& refused, const Holes& holes) {
  const auto dim = static_cast<std::size_t>(holes.number(2));
  if (dim >= refused.spots.shape.size()) return cat("there is no dim ", dim);
  if (refused.spots.shape[dim] != holes.number(1)) return cat("it is ", refused.spots.shape[dim]);
  return holes.number(0) == holes.number(1) ? "they are the same" : "";
}

Mistake allocates_with_steps(const Refused& refused, const Holes& holes) {
  if (!has_step(refused.spots, static_cast<std::size_t>(holes.number(2)), holes.number(1))) {
    return "no step is so long";
  }
  if (holes.number(0) % holes.number(1) == 0) return "they divide";
  return allocates(refused, holes);
}

Mistake steps_in_another_order(const Refused& refused, const Holes& holes) {
  for (const std::size_t at : {0u, 2u}) {
    const auto dim = static_cast<std::size_t>(holes.number(at + 1));
    const auto pairs = neighbours(refused.spots, dim);
    const bool moves = std::any_of(pairs.begin(), pairs.end(), [&](const auto& pair) {
      return pair.second->slot - pair.first->slot == holes.number(at);
    });
    if (!moves && !has_step(refused.spots, dim, holes.number(at))) {
      return cat("no step of dim ", holes.number(at + 1), " is ", holes.number(at));
    }
  }
  return {};
}

Mistake steps_along(const Refused& refused, const Holes& holes) {
  const auto dim = static_cast<std::size_t>(holes.number(1));
  return has_step(refused.spots, dim, holes.number(0)) ? "" : "no step is so long";
}

Mistake is_partial(const Refused& refused, const Holes&) {
  return refused.spots.shares.empty() ? "no element is a share" : "";
}

Mistake is_stored_as(const Refused& refused, const Holes& holes) {
  const Spots& spots = refused.spots;
  if (spots.dtype != holes[0]) return cat("it is of ", spots.dtype);
  if (spots.kept != holes[1]) return cat("it is stored as ", spots.kept);
  const std::string& expected = holes.texts.size() == 3 ? holes[2] : holes[0];
  return expected == holes[1] ? "so it should be" : "";
}

Mistake begins_in_slot(const Refused& refused, const Holes& holes) {
  if (refused.spots.spots.empty()) return "there are no elements";
  const std::int64_t slot = refused.spots.spots.front().slot;
  return slot == holes.number(0) ? "" : cat("they begin in slot ", slot);
}

Mistake begins_on_place(const Refused& refused, const Holes& holes) {
  const std::vector<Numbers>& places = refused.spots.spots.front().places;
  return places.front() == holes.numbers(0) ? "" : cat("they begin on ", bracketed(places.front()));
}

Mistake are_entangled(const Refused& refused, const Holes& holes) {
  const Spots& spots = refused.spots;
  const auto a = static_cast<std::size_t>(holes.number(0));
  const auto b = static_cast<std::size_t>(holes.number(1));
  const auto far = [](const RuleSpot& from, const RuleSpot& to) {
    Numbers step = {to.slot - from.slot};
    for (std::size_t axis = 0; axis < from.places.front().size(); ++axis) {
      step.push_back(to.places.front()[axis] - from.places.front()[axis]);
    }
    return step;
  };
  // A step along a that depends on the position along b.
  for (const Numbers& index : spots.indices) {
    if (index[a] == 0 || index[b] == 0) continue;
    Numbers without_a = index;
    Numbers without_b = index;
    Numbers without = index;
    without_a[a] = without_b[b] = without[a] = without[b] = 0;
    if (far(spots.at(without), spots.at(without_b)) != far(spots.at(without_a), spots.at(index))) {
      return {};
    }
  }
  return "neither depends on the other";
}

Mistake only_searched(const Refused&, const Holes&) { return {}; }

}  // namespace tessera::test
