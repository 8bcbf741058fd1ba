// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/notation/refusals_own.h"

#include <algorithm>
#include <map>
#include <set>

#include "tessera/base/text.h"
#include "tessera/testing/notation/refusal_checks.h"
#include "tessera/testing/notation/rule_spyre.h"

namespace tessera::test {
namespace {

Mistake no_sticks(const Refused& refused, const Holes& holes) {
  if (refused.spots.dtype != holes[0]) return cat("it is of ", refused.spots.dtype);
  return spyre_stick(holes[0]) == 0 ? "" : "there are such sticks";
}

Mistake not_in_sticks(const Refused& refused, const Holes& holes) {
  const Spots& spots = refused.spots;
  if (spots.slots != holes.number(0)) return cat("it has ", spots.slots, " slots");
  if (spyre_stick(spots.dtype) != holes.number(1)) return "sticks hold another number";
  return spots.slots % holes.number(1) != 0 ? "" : "those are whole sticks";
}

Mistake begins_on_core(const Refused& refused, const Holes& holes) {
  const Numbers& place = refused.spots.spots.front().places.front();
  return place == Numbers{holes.number(0)} ? "" : cat("it begins on ", bracketed(place));
}

/// "blocks of {n} on {n} PEs take {n}".
Mistake blocks_take_less(const Refused& refused, const Holes& holes) {
  const auto dim = static_cast<std::size_t>(holes.number(1));
  const std::int64_t block = holes.number(2);
  const std::int64_t pes = holes.number(3);
  if (dim >= refused.spots.shape.size()) return cat("there is no dim ", dim);
  const std::int64_t blocks = ceil_divide(refused.spots.shape[dim], block);
  const std::int64_t takes = ceil_divide(blocks, pes) * block;
  if (takes != holes.number(4)) return cat("they take ", takes);
  return takes == holes.number(0) ? "that is the allocation" : "";
}

Mistake in_pe_steps(const Refused& refused, const Holes& holes) {
  const std::size_t axis = holes[2] == "rows" ? 0 : 1;
  const auto dim = static_cast<std::size_t>(holes.number(0));
  std::set<std::int64_t> coordinates;
  for (std::int64_t x = 0; x < refused.spots.shape[dim]; ++x) {
    Numbers index(refused.spots.shape.size(), 0);
    index[dim] = x;
    coordinates.insert(refused.spots.at(index).places.front()[axis]);
  }
  for (const std::int64_t from : coordinates) {
    if (coordinates.count(from + holes.number(1)) > 0) return {};
  }
  return "no two elements are so far apart";
}

Mistake runs_backwards(const Refused& refused, const Holes& holes) {
  for (const auto& [here, next] :
       neighbours(refused.spots, static_cast<std::size_t>(holes.number(0)))) {
    if (next->places < here->places || next->slot < here->slot) return {};
  }
  return "every step goes onward";
}

Mistake on_both_axes(const Refused& refused, const Holes& holes) {
  const auto dim = static_cast<std::size_t>(holes.number(0));
  std::set<std::int64_t> rows;
  std::set<std::int64_t> cols;
  for (std::int64_t x = 0; x < refused.spots.shape[dim]; ++x) {
    Numbers index(refused.spots.shape.size(), 0);
    index[dim] = x;
    rows.insert(refused.spots.at(index).places.front()[0]);
    cols.insert(refused.spots.at(index).places.front()[1]);
  }
  return rows.size() > 1 && cols.size() > 1 ? "" : "it is spread over one axis at most";
}

Mistake part_of_axis(const Refused& refused, const Holes& holes) {
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

Mistake allocates_shape(const Refused& refused, const Holes& holes) {
  const Numbers is = holes.numbers(0);
  const Numbers rule = holes.numbers(holes.texts.size() - 1);
  const std::int64_t atom = std::max<std::int64_t>(product(refused.spots.tile), 1);
  // The last attempt is without tiles, where the elements are stored consecutively.
  if (product(is) * atom != refused.spots.slots && product(is) != refused.spots.slots) {
    return cat(refused.spots.slots, " are allocated");
  }
  return is == rule ? "they are the same" : "";
}

/// The elements that the nearest text would put in one slot are in two.
Mistake only_there_shared(const Refused& refused, const Holes& holes) {
  const RuleSpot& a = refused.spots.at(holes.numbers(0));
  const RuleSpot& b = refused.spots.at(holes.numbers(1));
  return a == b ? "so they do" : "";
}

Mistake divides_otherwise(const Refused& refused, const Holes& holes) {
  const auto axis = static_cast<std::size_t>(holes.number(1));
  const Numbers& mesh = refused.spots.mesh;
  const std::int64_t places = axis < mesh.size() ? mesh[axis] : 1;
  if (places != holes.number(2)) return cat("grid axis ", axis, " is ", places, " long");
  return holes.number(0) == holes.number(3) ? "they are the same" : "";
}

Mistake grid_rank(const Refused& refused, const Holes& holes) {
  const auto rank = static_cast<std::int64_t>(refused.spots.mesh.size());
  if (rank != 0 && rank != holes.number(0)) return cat("the grid is of rank ", rank);
  return holes.number(0) > holes.number(1) || holes.number(0) < holes.number(1) ? "" : "they agree";
}

const std::vector<Reason> kStrided = {
    {"strided", "strided<> cannot say that element {i} is in slot {n}, not in slot {n}",
     is_elsewhere},
    {"strided", "strided<> cannot say an allocation of {n} slots where the strides reach {n}",
     reaches_otherwise},
    {"strided", "strided<> cannot say a partial result", is_partial},
    {"strided", "strided<> cannot say {w} stored as {w}", is_stored_as},
};

const std::vector<Reason> kMorello = {
    {"morello", "morello cannot say that element {i} is in slot {n}, not in slot {n}",
     is_elsewhere},
    {"morello", "morello cannot say index 0 in slot {n}", begins_in_slot},
    {"morello", "morello cannot say a partial result", is_partial},
    {"morello", "morello cannot say {w} stored as {w}", is_stored_as},
    {"morello", "morello cannot say dims {n} and {n} joined into one line that is cut across both",
     are_entangled},
    {"morello", "morello cannot say a step of {n} slots along dim {n} where {n} are covered",
     steps_along},
    {"morello", "morello cannot say this order of digits: {*}", only_searched},
};

const std::vector<Reason> kPyflame = {
    {"pyflame", "PyFlame cannot say an allocation of {n} elements for the {n} of dim {n}",
     allocates_for_dim},
    {"pyflame",
     "PyFlame cannot say an allocation of {n} elements of dim {n} where blocks of {n} on {n} PEs "
     "take {n}",
     blocks_take_less},
    {"pyflame", "PyFlame cannot say an allocation of {n} slots where tiles take {n}",
     allocates_otherwise},
    {"pyflame", "PyFlame cannot say an allocation of {n} slots for one element a PE",
     allocates_for_one},
    {"pyflame",
     "PyFlame cannot say an allocation of {n} slots with {n} from one element of dim {n} to the "
     "next",
     allocates_with_steps},
    {"pyflame",
     "PyFlame cannot say another order of slots than row-major: {n} from one element of dim {n} to "
     "the next, {n} along dim {n}",
     steps_in_another_order},
    {"pyflame",
     "PyFlame cannot say copies or shares on {n} of {n} coordinates of mesh axis {n}: an axis is "
     "replicated or partial as a whole",
     part_of_axis},
    {"pyflame", "PyFlame cannot say data that begin in slot {n}", begins_in_slot},
    {"pyflame", "PyFlame cannot say data that begin on place {i} of the mesh", begins_on_place},
    {"pyflame", "PyFlame cannot say dim {n} cut from position {n} by steps of {n}", only_searched},
    {"pyflame", "PyFlame cannot say dim {n} in steps of {n} PE {w}", in_pe_steps},
    {"pyflame", "PyFlame cannot say dim {n} running backwards", runs_backwards},
    {"pyflame", "PyFlame cannot say dim {n} cut in {n} ways at once", only_searched},
    {"pyflame", "PyFlame cannot say dims {n} and {n} on one PE axis", only_searched},
    {"pyflame", "PyFlame cannot say dim {n} on a PE axis that is replicated or partial",
     only_searched},
    {"pyflame", "PyFlame cannot say dim {n} going diagonally over the PEs", only_searched},
    {"pyflame", "PyFlame cannot say dim {n} cut twice for one PE axis", only_searched},
    {"pyflame", "PyFlame cannot say dim {n} spread over both PE axes", on_both_axes},
    {"pyflame", "PyFlame cannot say dims {n} and {n} cut as one line", only_searched},
    {"pyflame", "PyFlame cannot say gaps: {n} slots from one element of dim {n} to the next",
     steps_along},
    {"pyflame", "PyFlame cannot say that element {i} is in slot {n}{*}, not in slot {n}{*}",
     is_elsewhere},
    {"pyflame", "PyFlame cannot say {w} stored as {w}", is_stored_as},
};

const std::vector<Reason> kSpyre = {
    {"spyre", "Spyre keeps no sticks of {w}", no_sticks},
    {"spyre", "spyre<> cannot say an allocation of {n} slots: sticks hold {n} elements of {w}",
     not_in_sticks},
    {"spyre", "spyre<> cannot say a partial result", is_partial},
    {"spyre", "spyre<> cannot say {w} stored as {w}", is_stored_as},
    {"spyre", "spyre<> cannot say {w} stored as {w}, where {w} is kept", is_stored_as},
    {"spyre", "spyre<> cannot say data that begin at slot {n}", begins_in_slot},
    {"spyre", "spyre<> cannot say data that begin on core {n}", begins_on_core},
    {"spyre", "spyre<> cannot say that element {i} is in slot {n}{*}, not in slot {n}{*}",
     is_elsewhere},
    {"spyre", "spyre<> cannot say runs of {n} slots in sticks of {n}", only_searched},
    {"spyre", "spyre<> cannot say elements {n} slots apart in sticks of {n}", only_searched},
    {"spyre", "spyre<> cannot say steps of {n} and {n} slots in one row-major tensor",
     only_searched},
    {"spyre", "spyre<> cannot say pieces of {n} in {n} steps of {n}", only_searched},
    {"spyre", "spyre<> cannot say data on cores {n} and {n} apart", only_searched},
    {"spyre", "spyre<> cannot say an empty tensor of {n} slots", allocates},
};

const std::vector<Reason> kMetal = {
    {"metal", "metal cannot say an allocation of {x} a place, where its rule gives {x}",
     allocates_shape},
    {"metal", "metal cannot say an allocation of {x} tiles a place, where its rule gives {x}",
     allocates_shape},
    {"metal", "metal cannot say its lines: {*}", only_searched},
    {"metal", "metal cannot say shards of {n} on grid axis {n}, where dividing by {n} gives {n}",
     divides_otherwise},
    {"metal", "metal cannot say that element {i} is in slot {n}{*}, not in slot {n}{*}",
     is_elsewhere},
    {"metal", "metal cannot say it: elements {i} and {i} share one slot of one place",
     only_there_shared},
    {"metal", "metal cannot say a partial result", is_partial},
    {"metal", "metal cannot say an allocation of {n} slots where its rule gives {n}",
     allocates_otherwise},
};

const std::vector<Reason> kToday = {
    {"metal-today", "metal-today cannot say a grid of rank {n} for {n} lines of dims", grid_rank},
    {"metal-today", "metal-today cannot say a line of {n} where d{n} needs {n}", only_searched},
    {"metal-today", "metal-today cannot say an allocation of {n} slots where its rule gives {n}",
     allocates_otherwise},
    {"metal-today", "metal-today cannot say a partial result", is_partial},
    {"metal-today", "metal-today cannot say {w} stored as {w}", is_stored_as},
    {"metal-today", "metal-today cannot say d{n} in two lines", only_searched},
    {"metal-today", "metal-today cannot say d{n} on line {n} where line {n} is next",
     only_searched},
    {"metal-today", "metal-today cannot say line {n}, which is no collapse of dims", only_searched},
    {"metal-today", "metal-today cannot say it: line {n} is {n} long after alignment, {*}",
     only_searched},
    {"metal-today",
     "metal-today cannot say it: shard {x} does not match {*} on {x}: expected {x}, found {x}",
     only_searched},
    {"metal-today", "metal-today cannot say its lines: {*}", only_searched},
    {"metal-today", "metal-today cannot say the stride {n} of d{n}, where {n} is due",
     only_searched},
    {"metal-today", "metal-today cannot say that element {i} is in slot {n}{*}, not in slot {n}{*}",
     is_elsewhere},
    {"metal-today", "metal-today cannot say an empty tensor of rank {n} on a grid of rank {n}",
     only_searched},
};

const std::vector<Reason> kTtnn = {
    {"ttnn", "TTNN cannot say a partial result", is_partial},
    {"ttnn", "TTNN cannot say an allocation of {n} slots: {x} {w} a place are {n}", allocates},
    {"ttnn",
     "TTNN cannot say that element {i} is in slot {n}{*}: with {x} {w} a place it is in slot {*}",
     is_at_first},
};

}  // namespace

const std::vector<Reason>& own_reasons(std::string_view notation) {
  for (const std::vector<Reason>* reasons :
       {&kStrided, &kMorello, &kPyflame, &kSpyre, &kMetal, &kToday, &kTtnn}) {
    if (reasons->front().notation == notation) return *reasons;
  }
  return beyond_reasons(notation);
}

}  // namespace tessera::test
