// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/feasible.h"

#include <algorithm>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/reshard/chunks.h"
#include "tessera/reshard/part.h"
#include "tessera/reshard/relabelling/overlap.h"
#include "tessera/target/fit.h"

namespace tessera::reshard {
namespace {

/// The memory of one side, and what one of its owners holds.
struct Side {
  const target::MemorySpace* space = nullptr;
  std::int64_t held_bytes = 0;
};

std::string space_name(const Placement& placement) {
  if (const Layout* layout = placement.layout()) return layout->spec().space;
  if (const Piecewise* pieces = placement.pieces()) {
    return pieces->pieces().front().layout.spec().space;
  }
  return {};
}

/// How many shards one place, bank or shared memory holds.
Result<std::int64_t> shards_held(const Placement& placement, const target::MemorySpace& space,
                                 const Machine& machine) {
  if (const Piecewise* pieces = placement.pieces()) {
    std::int64_t most = 1;
    for (const LayoutPiece& piece : pieces->pieces()) {
      TESSERA_TRY(const target::Fit fit, target::fits(piece.layout, machine));
      if (fit.shard_bytes > 0) most = std::max(most, fit.held_bytes / fit.shard_bytes);
    }
    return most;
  }
  if (space.owner == target::MemorySpace::Owner::kPlace) return 1;
  if (space.owner == target::MemorySpace::Owner::kBank)
    return ceil_div(placement.places(), *space.banks);
  return placement.places();
}

Result<Side> side_of(const Placement& placement, const Machine& machine) {
  const target::MemorySpace* named = machine.find_space(space_name(placement));
  Side side{named != nullptr ? named : &machine.default_space(), 0};
  if (const Layout* layout = placement.layout()) {
    TESSERA_TRY(const target::Fit fit, target::fits(*layout, machine));
    side.held_bytes = fit.held_bytes;
    return side;
  }
  TESSERA_TRY(const std::int64_t shards, shards_held(placement, *side.space, machine));
  const std::int64_t align = side.space->align_bytes;
  const Checked held = Checked(ceil_div(placement.shard_bytes(), align)) * align * shards;
  TESSERA_TRY(side.held_bytes, held.value("what one place holds"));
  return side;
}

/// The first place that is in both meshes: axis by axis if both run along the axes of the physical
/// mesh, otherwise through the list of one of the device maps.
std::optional<std::int64_t> common_place(const PlaceMap& a, const PlaceMap& b,
                                         const PhysicalMesh& physical) {
  const std::optional<AxisSeats> seats_a = axis_seats(a, physical);
  const std::optional<AxisSeats> seats_b = axis_seats(b, physical);
  if (seats_a && seats_b) {
    Place place(physical.mesh.rank(), 0);
    for (std::size_t j = 0; j < place.size(); ++j) {
      const std::size_t axis = seats_a->physical_axis[j];
      const auto beside = static_cast<std::size_t>(
          std::find(seats_b->physical_axis.begin(), seats_b->physical_axis.end(), axis) -
          seats_b->physical_axis.begin());
      std::vector<std::int64_t> x = seats_a->coords[j];
      std::vector<std::int64_t> y = seats_b->coords[beside];
      std::sort(x.begin(), x.end());
      std::sort(y.begin(), y.end());
      const auto both = std::find_if(x.begin(), x.end(), [&](std::int64_t coord) {
        return std::binary_search(y.begin(), y.end(), coord);
      });
      if (both == x.end()) return std::nullopt;
      place[axis] = *both;
    }
    return physical.mesh.linear(place);
  }
  std::unordered_set<std::int64_t> of_a;
  for (std::int64_t v = 0; v < a.mesh().elements(); ++v) of_a.insert(a.physical(v));
  std::optional<std::int64_t> first;
  for (std::int64_t v = 0; v < b.mesh().elements(); ++v) {
    const std::int64_t place = b.physical(v);
    if (of_a.contains(place) && (!first || place < *first)) first = place;
  }
  return first;
}

std::optional<std::int64_t> common_place(const Reshard& reshard) {
  std::optional<std::int64_t> first;
  const PlaceMap* last_a = nullptr;
  const PlaceMap* last_b = nullptr;
  for (const ReshardPart& part : reshard.parts()) {
    const bool again =
        last_a != nullptr && part.map_a == *last_a && part.map_b == *last_b;  // common for pieces
    last_a = &part.map_a;
    last_b = &part.map_b;
    if (again) continue;
    const auto place = common_place(part.map_a, part.map_b, reshard.physical());
    if (place && (!first || *place < *first)) first = place;
  }
  return first;
}

/// The alternatives, with figures.
std::string ways_out(const Feasibility& need, const Reshard& reshard) {
  const std::int64_t tensor = reshard.bytes(reshard.to().shape().elements());
  std::string help = cat("go through the host (", target::size_text(tensor), " out and in again)");
  const std::int64_t left = *need.available_bytes - need.from_bytes;
  if (left <= 0) return help + ", or start from an A that is distributed over more places";
  help += cat(", in ", ceil_div(need.to_bytes, left), " chunks of at most ",
              target::size_text(left), " that are passed on one by one");
  const std::int64_t places = std::max<std::int64_t>(2, ceil_div(tensor, left));  // at least 2
  return help + cat(", or distribute B over ", places, " places or more");
}

Error does_not_fit(const Feasibility& need, target::MemorySpace::Owner owner,
                   const Reshard& reshard) {
  const bool by_place = owner == target::MemorySpace::Owner::kPlace;
  const std::string who = by_place ? cat("place ", bracketed(need.place), " needs ")
                                   : cat(need.space, " needs ", target::each_owner(owner), " ");
  return Error{
      ErrorCode::kDoesNotFit,
      cat(who, target::size_text(need.resident_bytes()), " (", target::size_text(need.from_bytes),
          " of A, ", target::size_text(need.to_bytes), " of B), and ", by_place ? need.space : "it",
          " has ", target::size_text(*need.available_bytes), " for data"),
      std::nullopt, ways_out(need, reshard)};
}

}  // namespace

Result<Feasibility> feasible(const Reshard& reshard, const Machine& machine) {
  TESSERA_CHECK_OK(machine.check());
  TESSERA_TRY(const Side from, side_of(reshard.from(), machine));
  TESSERA_TRY(const Side to, side_of(reshard.to(), machine));
  const bool by_place = to.space->owner == target::MemorySpace::Owner::kPlace;
  const bool stays = reshard.from() == reshard.to();
  Feasibility need;
  need.space = to.space->name;
  need.available_bytes = to.space->data_bytes();
  need.to_bytes = stays ? 0 : to.held_bytes;  // a tensor that stays has one memory
  std::int64_t room = need.available_bytes.value_or(0) - need.to_bytes;
  // A tensor without elements has no parts; its places need memory all the same.
  const ReshardPart* const part = reshard.parts().empty() ? nullptr : &reshard.parts().front();
  std::int64_t place = part != nullptr ? part->map_b.physical(0) : 0;
  if (from.space == to.space) {
    const std::optional<std::int64_t> both = by_place ? common_place(reshard) : place;
    if (both) {
      place = *both;
      need.from_bytes = from.held_bytes;
      room -= need.from_bytes;
    } else if (from.held_bytes > to.held_bytes) {  // on other places than B's
      place = part != nullptr ? part->map_a.physical(0) : 0;
      need.from_bytes = from.held_bytes;
      need.to_bytes = 0;
    }
  }
  if (by_place) need.place = reshard.physical().mesh.delinear(place);
  TESSERA_TRY(std::ignore, (Checked(need.from_bytes) + need.to_bytes).value("what a place holds"));
  if (need.available_bytes && need.resident_bytes() > *need.available_bytes) {
    return does_not_fit(need, to.space->owner, reshard);
  }
  TESSERA_TRY(const MostReceived most, most_received(reshard));
  need.received_bytes = most.bytes;
  if (!need.available_bytes || !by_place) return need;
  Result<Chunks> chunks = chunk(reshard, room);
  if (!chunks) {
    Error error = chunks.error();
    if (error.code == ErrorCode::kDoesNotFit) error.help = ways_out(need, reshard);
    return error;
  }
  need.rounds = chunks->rounds;
  return need;
}

}  // namespace tessera::reshard
