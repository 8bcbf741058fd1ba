// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "tessera/base/text.h"
#include "tessera/testing/notation/refusal_checks.h"

/// The reasons of the notations beyond those of the original documents.
namespace tessera::test {
namespace {

/// Whether two elements that differ along one dim alone are that many slots apart.
bool has_distance(const Spots& spots, std::size_t dim, std::int64_t slots) {
  if (dim >= spots.shape.size()) return false;
  for (std::size_t i = 0; i < spots.indices.size(); ++i) {
    Numbers next = spots.indices[i];
    while (++next[dim] < spots.shape[dim]) {
      if (spots.at(next).slot - spots.spots[i].slot == slots) return true;
    }
  }
  return false;
}

/// Whether any two elements are that many slots apart.
bool any_distance(const Spots& spots, std::int64_t slots) {
  return std::any_of(spots.held.begin(), spots.held.end(), [&](const auto& cell) {
    return spots.held.count({cell.first.first, cell.first.second + slots}) > 0;
  });
}

/// "an allocation of {n} slots where {n} steps of {n} slots take {n}".
Mistake steps_take_more(const Refused& refused, const Holes& holes) {
  if (holes.number(1) * holes.number(2) != holes.number(3)) return "that is another product";
  if (holes.number(3) <= holes.number(0)) return "that is enough";
  return allocates(refused, holes);
}

/// "dim {n} with steps of {n} slots", downward.
Mistake steps_down(const Refused& refused, const Holes& holes) {
  const auto dim = static_cast<std::size_t>(holes.number(0));
  if (holes.number(1) >= 0) return "that is upward";
  return has_distance(refused.spots, dim, holes.number(1)) ? "" : "no step is so long";
}

Mistake runs_downward(const Refused& refused, const Holes& holes) {
  for (const auto& [here, next] :
       neighbours(refused.spots, static_cast<std::size_t>(holes.number(0)))) {
    if (next->slot < here->slot) return {};
  }
  return "every step goes onward";
}

/// "steps of {n} slots inside steps of {n}, which they do not divide".
Mistake steps_do_not_divide(const Refused& refused, const Holes& holes) {
  if (holes.number(1) % holes.number(0) == 0) return "they do";
  return any_distance(refused.spots, holes.number(0)) ? "" : "no elements are so far apart";
}

/// "{n} steps of {n} slots inside a step of {n}".
Mistake steps_do_not_fit(const Refused& refused, const Holes& holes) {
  if (holes.number(0) * holes.number(1) <= holes.number(2)) return "they fit";
  return any_distance(refused.spots, holes.number(1)) ? "" : "no elements are so far apart";
}

/// "leave {n} of every {n} slots empty without a dim of extent 1".
Mistake leaves_slots_empty(const Refused& refused, const Holes& holes) {
  const Spots& spots = refused.spots;
  if (holes.number(0) + 1 != holes.number(1)) return "one of them must be left";
  for (const RuleSpot& spot : spots.spots) {
    if (spot.slot % holes.number(1) != 0) return cat("slot ", spot.slot, " is not");
  }
  // A blocked dim of extent 1 would hold them; one whose digits are all slower would too.
  return std::count(spots.shape.begin(), spots.shape.end(), 1) == 0 ? "" : "there is such a dim";
}

Mistake is_of_rank(const Refused& refused, const Holes& holes) {
  const auto rank = static_cast<std::int64_t>(refused.spots.shape.size());
  if (rank != holes.number(0)) return cat("it is of rank ", rank);
  return rank == 0 || rank > 12 ? "" : "there are letters for it";
}

Mistake holds_nothing(const Refused& refused, const Holes& holes) {
  if (!refused.spots.spots.empty()) return "it has elements";
  return allocates(refused, holes);
}

/// "cut blocks of {n} of dim {n} into blocks of {n}".
Mistake blocks_do_not_divide(const Refused&, const Holes& holes) {
  return holes.number(0) % holes.number(2) != 0 ? "" : "they divide";
}

/// "dim {n} with {n} elements cut by {n}, which leaves a part over".
Mistake leaves_a_part(const Refused& refused, const Holes& holes) {
  const auto dim = static_cast<std::size_t>(holes.number(0));
  if (dim >= refused.spots.shape.size()) return cat("there is no dim ", dim);
  if (refused.spots.shape[dim] < holes.number(1)) return cat("it has ", refused.spots.shape[dim]);
  return holes.number(1) % holes.number(2) != 0 ? "" : "nothing is left over";
}

/// ".. has element {i} in slot {n} of place {i}, not in slot {n} of place {i}": the last is true.
Mistake is_at_last(const Refused& refused, const Holes& holes) {
  // {*} {i} {n} {i} {*} {n} {i} {*}, where {*} is the number of further places.
  const bool same = holes[2] == holes[5] && holes[3] == holes[6] && holes[4] == holes[7];
  if (same) return "they are the same";
  const Numbers more = holes.numbers(7);
  const std::size_t copies = more.empty() ? 1 : static_cast<std::size_t>(more[0]) + 1;
  const Mistake mistake = is_at_first(refused, Holes{{holes[1], holes[5], holes[6]}});
  if (!mistake.empty()) return mistake;
  const std::size_t places = refused.spots.at(holes.numbers(1)).places.size();
  return places == copies ? "" : cat("it is on ", places, " places");
}

/// "copies on {n} of the {n} coordinates of mesh axis {n}".
Mistake copied_on_part(const Refused& refused, const Holes& holes) {
  const auto axis = static_cast<std::size_t>(holes.number(2));
  if (axis >= refused.spots.mesh.size()) return cat("there is no axis ", axis);
  if (refused.spots.mesh[axis] != holes.number(1)) return cat("it has ", refused.spots.mesh[axis]);
  for (const RuleSpot& spot : refused.spots.spots) {
    std::set<std::int64_t> coordinates;
    for (const Numbers& place : spot.places) coordinates.insert(place[axis]);
    if (static_cast<std::int64_t>(coordinates.size()) != holes.number(0)) {
      return cat("an element is on ", coordinates.size(), " of them");
    }
  }
  return {};
}

/// "mesh axis {n}, which dims {n} and {n} share".
Mistake dims_share_axis(const Refused& refused, const Holes& holes) {
  const auto axis = static_cast<std::size_t>(holes.number(0));
  for (const std::size_t hole : {1u, 2u}) {
    const auto pairs = neighbours(refused.spots, static_cast<std::size_t>(holes.number(hole)));
    const bool moves = std::any_of(pairs.begin(), pairs.end(), [&](const auto& pair) {
      return pair.first->places.front()[axis] != pair.second->places.front()[axis];
    });
    if (!moves) return cat("dim ", holes.number(hole), " does not move along it");
  }
  return {};
}

/// "all data on coordinate {n} of mesh axis {n}".
Mistake all_on_coordinate(const Refused& refused, const Holes& holes) {
  const auto axis = static_cast<std::size_t>(holes.number(1));
  for (const RuleSpot& spot : refused.spots.spots) {
    for (const Numbers& place : spot.places) {
      if (place[axis] != holes.number(0)) return cat("some are on ", place[axis]);
    }
  }
  return {};
}

/// "a scalar on coordinate 0 of mesh axis {n} alone".
Mistake scalar_rests(const Refused& refused, const Holes& holes) {
  if (!refused.spots.shape.empty()) return "it is no scalar";
  return all_on_coordinate(refused, Holes{{"0", holes[0]}});
}

/// "a partial {w}".
Mistake is_partial_by(const Refused& refused, const Holes& holes) {
  return refused.spots.shares.find(holes[0]) != std::string::npos ? "" : "no element is";
}

/// "an empty tensor with {n} copies".
Mistake copies_nothing(const Refused& refused, const Holes& holes) {
  if (!refused.spots.spots.empty()) return "it has elements";
  return holes.number(0) <= refused.spots.places() ? "" : "there are not so many places";
}

/// "{n} devices where .. has {n}".
Mistake has_other_devices(const Refused& refused, const Holes& holes) {
  if (refused.spots.places() != holes.number(0)) return cat("it has ", refused.spots.places());
  return holes.number(0) == holes.number(2) ? "they are as many" : "";
}

const std::vector<Reason> kXla = {
    {"xla", "xla cannot say a partial result", is_partial},
    {"xla", "xla cannot say {w} stored as {w}", is_stored_as},
    {"xla", "xla cannot say {w} stored as {w}, where {w} is kept", is_stored_as},
    {"xla", "xla cannot say an allocation of {n} slots where {n} steps of {n} slots take {n}",
     steps_take_more},
    {"xla", "xla cannot say an allocation of {n} slots for a tensor without elements",
     holds_nothing},
    {"xla", "xla cannot say an offset of {n} slots", begins_in_slot},
    {"xla", "xla cannot say dim {n} with steps of {n} slots", steps_down},
    {"xla", "xla cannot say dim {n} running downward", runs_downward},
    {"xla", "xla cannot say steps of {n} slots inside steps of {n}, which they do not divide",
     steps_do_not_divide},
    {"xla", "xla cannot say {n} steps of {n} slots inside a step of {n}", steps_do_not_fit},
    {"xla", "xla cannot say pieces of dim {n} that begin at {n}", only_searched},
    {"xla", "xla cannot say dim {n} cut where one step of it passes {n} points, not {n}",
     only_searched},
    {"xla", "xla cannot say dim {n} cut in two ways at once", only_searched},
};

const std::vector<Reason> kOnednn = {
    {"onednn", "onednn cannot say a partial result", is_partial},
    {"onednn", "onednn cannot say {w} stored as {w}", is_stored_as},
    {"onednn", "onednn cannot say a tensor of rank {n}", is_of_rank},
    {"onednn", "onednn cannot say an allocation of {n} slots where {n} steps of {n} slots take {n}",
     steps_take_more},
    {"onednn", "onednn cannot say an allocation of {n} slots where blocks take {n}",
     allocates_otherwise},
    {"onednn", "onednn cannot say an allocation of {n} slots for a tensor without elements",
     holds_nothing},
    {"onednn", "onednn cannot say an offset of {n} slots", begins_in_slot},
    {"onednn", "onednn cannot say dim {n} with steps of {n} slots", steps_down},
    {"onednn", "onednn cannot say dim {n} running downward", runs_downward},
    {"onednn", "onednn cannot say steps of {n} slots inside steps of {n}, which they do not divide",
     steps_do_not_divide},
    {"onednn", "onednn cannot say {n} steps of {n} slots inside a step of {n}", steps_do_not_fit},
    {"onednn", "onednn cannot say pieces of dim {n} that begin at {n}", only_searched},
    {"onednn", "onednn cannot say dim {n} cut where one step of it passes {n} points, not {n}",
     only_searched},
    {"onednn", "onednn cannot say dim {n} cut in two ways at once", only_searched},
    {"onednn", "onednn cannot say dims {n} and {n} joined in one line", only_searched},
    {"onednn", "onednn cannot say dim {n} with steps of {n} faster in memory than steps of {n}",
     only_searched},
    {"onednn", "onednn cannot cut blocks of {n} of dim {n} into blocks of {n}",
     blocks_do_not_divide},
    {"onednn", "onednn cannot pad blocks of {n} of dim {n} to {n}", only_searched},
    {"onednn", "onednn cannot leave {n} of every {n} slots empty without a dim of extent 1",
     leaves_slots_empty},
};

const std::vector<Reason> kCute = {
    {"cute", "cute cannot say a partial result", is_partial},
    {"cute", "cute cannot say {w} stored as {w}", is_stored_as},
    {"cute", "cute cannot say an allocation of {n} slots where the strides reach {n}",
     reaches_otherwise},
    {"cute", "cute cannot say an offset of {n} slots", begins_in_slot},
    {"cute", "cute cannot say dims {n} and {n} that are tied together in one line", only_searched},
    {"cute", "cute cannot say dim {n} cut away from its first element", only_searched},
    {"cute", "cute cannot say dim {n} with {n} elements cut by {n}, which leaves a part over",
     leaves_a_part},
    {"cute", "cute cannot say dim {n} running downward", runs_downward},
    {"cute", "cute cannot say dim {n} cut in two ways at once", only_searched},
};

const std::vector<Reason> kGspmd = {
    {"gspmd", "gspmd cannot say {w} stored as {w}", is_stored_as},
    {"gspmd", "gspmd cannot say a partial {w}", is_partial_by},
    {"gspmd", "gspmd cannot say an empty tensor with {n} copies", copies_nothing},
    {"gspmd", "gspmd cannot say {n} devices where {*} has {n}", has_other_devices},
    {"gspmd", "gspmd cannot say an allocation of {n} slots where {*} has {n}", allocates_otherwise},
    {"gspmd",
     "gspmd cannot say this: {*} has element {i} in slot {n} of place {i}{*}, not in slot {n} of "
     "place {i}{*}",
     is_at_last},
};

const std::vector<Reason> kDtensor = {
    {"dtensor", "dtensor cannot say {w} stored as {w}", is_stored_as},
    {"dtensor", "dtensor cannot say an allocation of {n} slots where the largest shard has {n}",
     allocates_otherwise},
    {"dtensor",
     "dtensor cannot say this: {*} has element {i} in slot {n} of place {i}{*}, not in slot {n} of "
     "place {i}{*}",
     is_at_last},
    {"dtensor", "dtensor cannot say copies on {n} of the {n} coordinates of mesh axis {n}",
     copied_on_part},
    {"dtensor",
     "dtensor cannot say what is repeated along mesh axis {n}: copies and partial results at once, "
     "or a reduction of bits",
     is_partial},
    {"dtensor", "dtensor cannot say mesh axis {n}, which dims {n} and {n} share", dims_share_axis},
    {"dtensor", "dtensor cannot say all data on coordinate {n} of mesh axis {n}",
     all_on_coordinate},
    {"dtensor", "dtensor cannot say a scalar on coordinate 0 of mesh axis {n} alone", scalar_rests},
};

}  // namespace

const std::vector<Reason>& beyond_reasons(std::string_view notation) {
  static const std::vector<Reason> kNone;
  for (const std::vector<Reason>* reasons : {&kXla, &kOnednn, &kCute, &kGspmd, &kDtensor}) {
    if (reasons->front().notation == notation) return *reasons;
  }
  return kNone;
}

}  // namespace tessera::test
