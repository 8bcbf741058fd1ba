// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/ranks/rank_plan.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "tessera/base/text.h"
#include "tessera/exchange/fingerprint.h"
#include "tessera/exchange/packets/slab.h"
#include "tessera/testing/exchange/exchange_runs.h"
#include "tessera/testing/reshard/reshard_runs.h"

namespace tessera::exchange {
namespace {

using test::Dice;

/// A parcel in numbers that do not depend on the plan that it is in.
std::vector<std::int64_t> numbers_of(const RankPlan& plan, const Parcel& parcel) {
  std::vector<std::int64_t> numbers = {parcel.part, parcel.source, parcel.elements};
  const auto groups = plan.groups(parcel);
  for (std::size_t f = 0; f < groups.size(); ++f) {
    numbers.push_back(groups[f] - plan.flows(parcel).factors[f].groups.data());
  }
  for (const std::int64_t place : plan.destinations(parcel)) numbers.push_back(place);
  return numbers;
}

/// The slots between which a program's nests move, in packed order of the destination or source.
std::multimap<std::int64_t, std::int64_t> moves_of(const Slab& slab, SlabMove move,
                                                   const Atom& atom, std::int64_t source,
                                                   std::int64_t destination) {
  const SlabAt where = slab_at(slab, move, atom, source, destination);
  const relayout::Program program = slab_program(slab, move, atom, where);
  std::multimap<std::int64_t, std::int64_t> moves;
  for (std::int64_t n = 0; n < program.nests(); ++n) {
    const Nest nest = program.nest(n);
    std::vector<std::int64_t> digits(nest.loops.size(), 0);
    for (bool more = true; more;) {
      PositionPair at = nest.at;
      for (std::size_t i = 0; i < digits.size(); ++i) {
        at.a.slot += digits[i] * nest.loops[i].move.a.slot;
        at.b.slot += digits[i] * nest.loops[i].move.b.slot;
      }
      moves.emplace(where.from_slot + at.a.slot, where.to_slot + at.b.slot);
      more = false;
      for (std::size_t i = digits.size(); i-- > 0 && !more;) {
        more = ++digits[i] < nest.loops[i].extent;
        if (!more) digits[i] = 0;
      }
    }
  }
  return moves;
}

/// Packing and then unpacking a slab is the same as moving it, and fills the packed memory once.
std::string slab_mistake(const RankPlan& plan, const Parcel& parcel, std::int64_t most) {
  // Runs of two count as long here, so that small ones are sorted too.
  constexpr std::int64_t width = 8;
  const ParcelShape shape = ParcelShape::of(plan.flows(parcel), plan.groups(parcel), width);
  if (shape.elements != parcel.elements) {
    return cat("a parcel of ", parcel.elements, " has the shape of ", shape.elements);
  }
  const Atom& atom = plan.from().memory.atom;
  std::int64_t elements = 0;
  std::multimap<std::int64_t, std::int64_t> all;
  std::string mistake;
  const Status cut = for_each_slab(shape, most, 1, [&](const Slab& slab) -> Status {
    elements += slab.elements;
    if (slab.elements > most) mistake = cat("a slab of ", slab.elements, " over ", most);
    const auto packed = moves_of(slab, SlabMove::kPack, atom, 100, 0);
    const auto unpacked = moves_of(slab, SlabMove::kUnpack, atom, 0, 1000);
    const auto direct = moves_of(slab, SlabMove::kDirect, atom, 100, 1000);
    std::multimap<std::int64_t, std::int64_t> through;
    std::set<std::int64_t> positions;
    for (const auto& [from, position] : packed) {
      positions.insert(position);
      if (unpacked.count(position) != 1) return ok_status();
      through.emplace(from, unpacked.find(position)->second);
    }
    if (std::cmp_not_equal(positions.size(), slab.elements) || *positions.begin() != 0 ||
        *positions.rbegin() != slab.elements - 1) {
      mistake = cat("packed positions of ", slab.elements, " elements are not 0 and up");
    }
    if (through != direct) mistake = "packing and unpacking is not moving";
    all.insert(direct.begin(), direct.end());
    return ok_status();
  });
  if (!cut.ok()) return cut.error().message;
  if (elements != parcel.elements) return cat("slabs of ", elements, " for ", parcel.elements);
  const Slab whole{shape.source, shape.destination, shape.axes, shape.elements};
  if (all != moves_of(whole, SlabMove::kDirect, atom, 100, 1000)) {
    return "the slabs are not the parcel";
  }
  return mistake;
}

/// What one rank sends is what the other receives; elements arrive once; slabs are parcels.
std::string plan_mistake(const test::ReshardPair& pair, const test::NaiveReshard&) {
  Fingerprint seed;
  seed.add(test::describe(pair));
  Dice dice(seed.value());
  const auto ranks = static_cast<int>(dice.between(1, 6));
  const std::int64_t places = pair.physical.mesh.elements();
  const RankMap from = test::random_ranks(dice, places, ranks);
  const RankMap to = test::random_ranks(dice, places, ranks);
  const auto reshard = std::make_shared<const reshard::Reshard>(
      *reshard::Reshard::make(pair.from, pair.to, pair.physical));
  std::vector<RankPlan> plans;
  for (int rank = 0; rank < ranks; ++rank) {
    auto plan = RankPlan::make(reshard, from, to, rank);
    if (!plan.ok()) {
      // The only pairs that cannot be divided between ranks.
      return plan.error().code == ErrorCode::kNotSupported ? "" : plan.error().message;
    }
    plans.push_back(std::move(*plan));
  }
  using Numbers = std::vector<std::vector<std::int64_t>>;
  std::map<std::pair<int, int>, Numbers> sent;
  std::map<std::pair<int, int>, Numbers> received;
  for (const RankPlan& plan : plans) {
    for (const RankRoute& route : plan.sends()) {
      for (const Parcel& parcel : plan.parcels(route)) {
        sent[{plan.rank(), route.rank}].push_back(numbers_of(plan, parcel));
      }
    }
    for (const RankRoute& route : plan.receives()) {
      std::int64_t elements = 0;
      for (const Parcel& parcel : plan.parcels(route)) {
        elements += parcel.elements;
        received[{route.rank, plan.rank()}].push_back(numbers_of(plan, parcel));
        const std::string slabs = slab_mistake(plan, parcel, dice.between(1, 9));
        if (!slabs.empty()) return slabs;
      }
      if (elements != route.elements) return "a route does not count its elements";
    }
    for (const Parcel& parcel : plan.parcels(plan.local())) {
      const std::string slabs = slab_mistake(plan, parcel, dice.between(1, 9));
      if (!slabs.empty()) return slabs;
    }
  }
  if (sent != received) return "what is sent is not what is received";
  return "";
}

TEST(RankPlan, BothEndsAgreeAndSlabsAreParcels) {
  test::reshard_law_holds(600, test::ReshardSource::kForms, plan_mistake);
}

TEST(RankPlan, OnNotations) {
  test::reshard_law_holds(150, test::ReshardSource::kTexts, plan_mistake);
}

}  // namespace
}  // namespace tessera::exchange
