// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/kind.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/replicas.h"
#include "tessera/reshard/flows.h"
#include "tessera/reshard/walk.h"

// Most questions below are whether two functions of an element agree everywhere. Each is a sum over
// the factors, and a sum of terms that vary independently is zero exactly when every term is
// constant and the constants add up to zero. So the answer needs one look at each segment.

namespace tessera {
namespace {

constexpr std::int64_t kMaxSteps = std::int64_t{1} << 23;

using Values = std::vector<std::int64_t>;

Error too_large(std::string_view what) {
  return Error{ErrorCode::kTooLarge, cat(what, " takes more than ", kMaxSteps, " steps"),
               std::nullopt, "use placements of one piece without a table of devices"};
}

/// A walk over choices of groups that calls a function.
template <typename Leave>
struct Leaves {
  Leave& on_pair;
  void enter(std::size_t, const SegmentGroup&) {}
  bool leave(const PairAt& pair) { return on_pair(pair); }
};
/// Calls `leave` with every choice until it answers false.
template <typename Leave>
void for_each_choice(const Flows& flows, Leave leave) {
  Leaves<Leave> visitor{leave};
  GroupWalk<Leaves<Leave>>(flows, visitor).all();
}

/// What is added to an element's first place by its copies or shares: numbers along each virtual
/// axis.
std::vector<Values> offsets_of(const Form& form, Fill::Kind kind) {
  std::vector<Values> axes(form.mesh.rank());
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const OffsetSet set = replica_offsets(form.fills, static_cast<int>(axis), kind);
    for (std::int64_t i = 0; i < set.size(); ++i) axes[axis].push_back(set.at(i));
  }
  return axes;
}

std::int64_t count_of(const std::vector<Values>& axes) {
  Checked product = 1;
  for (const Values& axis : axes) product *= static_cast<std::int64_t>(axis.size());
  return product.saturated();
}

/// Every sum of one number an axis, as virtual numbers.
Values all_sums(const std::vector<Values>& axes, const Shape& mesh) {
  const Values strides = mesh.row_major_strides();
  Values sums = {0};
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    if (axes[axis].size() <= 1) continue;
    Values more;
    more.reserve(sums.size() * axes[axis].size());
    for (const std::int64_t sum : sums) {
      for (const std::int64_t offset : axes[axis]) more.push_back(sum + offset * strides[axis]);
    }
    sums = std::move(more);
  }
  return sums;
}

/// The same offsets along the axes of the ground, each list rising from `least`.
struct GroundOffsets {
  Values least;
  std::vector<Values> lists;  // relative to least
};
GroundOffsets on_ground(const std::vector<Values>& axes, const Alignment& alignment,
                        std::size_t rank) {
  GroundOffsets found{Values(rank, 0), std::vector<Values>(rank, Values{0})};
  for (std::size_t v = 0; v < axes.size(); ++v) {
    if (axes[v].size() <= 1) continue;
    Values sums;
    for (const std::int64_t x : found.lists[alignment.axis[v]]) {
      for (const std::int64_t y : axes[v]) sums.push_back(x + y * alignment.step[v]);
    }
    std::sort(sums.begin(), sums.end());
    sums.erase(std::unique(sums.begin(), sums.end()), sums.end());
    found.lists[alignment.axis[v]] = std::move(sums);
  }
  for (std::size_t g = 0; g < rank; ++g) {
    found.least[g] = found.lists[g].front();
    for (std::int64_t& x : found.lists[g]) x -= found.least[g];
  }
  return found;
}

/// Coordinates of places on a mesh, or on the ground through a map.
struct Coordinates {
  const Shape& mesh;
  Values strides;
  const PlaceMap* map = nullptr;
  std::int64_t at(std::int64_t place, std::size_t axis) const {
    return coordinate(mesh, strides, map != nullptr ? map->physical(place) : place, axis);
  }
};

/// Whether f(source) = g(destination) for all elements, when both are sums over the factors.
template <typename F, typename G>
bool agree(const Flows& flows, F f, G g) {
  const std::int64_t base_a = f(flows.source.place);
  const std::int64_t base_b = g(flows.destination.place);
  std::int64_t total = base_a - base_b;
  for (const FlowFactor& factor : flows.factors) {
    const auto difference = [&](const SegmentGroup& group) {
      return f(flows.source.place + group.source.place) - base_a -
             (g(flows.destination.place + group.destination.place) - base_b);
    };
    const std::int64_t constant = difference(factor.groups.front());
    for (const SegmentGroup& group : factor.groups) {
      if (difference(group) != constant) return false;
    }
    total += constant;
  }
  return total == 0;
}

bool same_slots(const Flows& flows) {
  std::int64_t total = flows.source_slot - flows.destination_slot;
  for (const FlowFactor& factor : flows.factors) {
    for (const BoxLoop& loop : factor.loops) {
      if (loop.source_stride != loop.destination_stride) return false;
    }
    const auto difference = [](const Segment& s) { return s.source_slot - s.destination_slot; };
    const std::int64_t constant = difference(factor.segments.front());
    for (const Segment& segment : factor.segments) {
      if (difference(segment) != constant) return false;
    }
    total += constant;
  }
  return total == 0;
}

/// One part, with what all questions need.
struct PartFacts {
  const ReshardPart& part;
  Flows flows;  // first places alone
  std::optional<Alignment> aligned_a;
  std::optional<Alignment> aligned_b;
  std::vector<Values> copies_a, copies_b, shares_a, shares_b;

  bool aligned() const { return aligned_a && aligned_b; }
};

Result<PartFacts> facts_of(const ReshardPart& part, const Ground& ground) {
  TESSERA_TRY(Flows flows, flows_of(part, ground, {.shares = false, .copies = false}));
  return PartFacts{part,
                   std::move(flows),
                   alignment_of(part.map_a, ground.mesh),
                   alignment_of(part.map_b, ground.mesh),
                   offsets_of(part.a, Fill::Kind::kReplicate),
                   offsets_of(part.b, Fill::Kind::kReplicate),
                   offsets_of(part.a, Fill::Kind::kPartial),
                   offsets_of(part.b, Fill::Kind::kPartial)};
}

/// The physical places that `offsets` from `place` are, rising.
Values places_around(const PlaceMap& map, std::int64_t place, const Values& offsets) {
  Values places;
  places.reserve(offsets.size());
  for (const std::int64_t offset : offsets) places.push_back(map.physical(place + offset));
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

/// Whether each element of a part has the same physical places in both.
Result<bool> same_places(const PartFacts& facts, const Ground& ground) {
  const ReshardPart& part = facts.part;
  if (!part.shares.alike) return false;
  if (facts.aligned()) {
    const std::size_t rank = ground.mesh.rank();
    const GroundOffsets copies_a = on_ground(facts.copies_a, *facts.aligned_a, rank);
    const GroundOffsets copies_b = on_ground(facts.copies_b, *facts.aligned_b, rank);
    const GroundOffsets shares_a = on_ground(facts.shares_a, *facts.aligned_a, rank);
    const GroundOffsets shares_b = on_ground(facts.shares_b, *facts.aligned_b, rank);
    if (copies_a.lists != copies_b.lists || shares_a.lists != shares_b.lists) return false;
    const Coordinates a{ground.mesh, ground.mesh.row_major_strides(), &part.map_a};
    const Coordinates b{ground.mesh, ground.mesh.row_major_strides(), &part.map_b};
    for (std::size_t g = 0; g < rank; ++g) {
      const std::int64_t shift_a = copies_a.least[g] + shares_a.least[g];
      const std::int64_t shift_b = copies_b.least[g] + shares_b.least[g];
      const bool same = agree(
          facts.flows, [&](std::int64_t place) { return a.at(place, g) + shift_a; },
          [&](std::int64_t place) { return b.at(place, g) + shift_b; });
      if (!same) return false;
    }
    return true;
  }
  const Checked each = Checked(count_of(facts.copies_a)) * count_of(facts.shares_a);
  const Checked other = Checked(count_of(facts.copies_b)) * count_of(facts.shares_b);
  const std::int64_t places = ground.mesh.elements();
  if (one_to_one(part.map_a, places) && one_to_one(part.map_b, places)) {
    if (each.saturated() != other.saturated()) return false;
    if (part.map_a == part.map_b && same_replicas(part.a, part.b)) {
      const auto itself = [](std::int64_t place) { return place; };
      return agree(facts.flows, itself, itself);
    }
  }
  if ((Checked(facts.flows.choices()) * (each + other)).saturated() > kMaxSteps) {
    return too_large("comparing the places of each element");
  }
  bool same = true;
  const Values copies_a = all_sums(facts.copies_a, part.a.mesh);
  const Values copies_b = all_sums(facts.copies_b, part.b.mesh);
  const Values shares_a = all_sums(facts.shares_a, part.a.mesh);
  const Values shares_b = all_sums(facts.shares_b, part.b.mesh);
  for_each_choice(facts.flows, [&](const PairAt& pair) {
    std::vector<Values> sets_a, sets_b;  // the places of each share
    for (const std::int64_t share : shares_a) {
      sets_a.push_back(places_around(part.map_a, pair.source.place + share, copies_a));
    }
    for (const std::int64_t share : shares_b) {
      sets_b.push_back(places_around(part.map_b, pair.destination.place + share, copies_b));
    }
    std::sort(sets_a.begin(), sets_a.end());
    std::sort(sets_b.begin(), sets_b.end());
    same = sets_a == sets_b;
    return same;
  });
  return same;
}

/// The device map that places a box, or nothing where there is none.
const DeviceMap* device_map_at(const Placement& placement, const Box& box) {
  for (const FormPiece& piece : form_pieces(placement)) {
    if (piece.box.contains(box.from)) return piece.device_map;
  }
  return nullptr;
}

/// Whether places that are the same are also the same layer of it, where maps stack places.
Result<bool> same_layers(const PartFacts& facts, const Reshard& reshard) {
  const ReshardPart& part = facts.part;
  const std::int64_t places = reshard.ground().mesh.elements();
  if (one_to_one(part.map_a, places) && one_to_one(part.map_b, places)) return true;
  if (facts.flows.choices() > kMaxSteps) return too_large("comparing the layers of each element");
  const DeviceMap* map_a = device_map_at(reshard.from(), part.box);
  const DeviceMap* map_b = device_map_at(reshard.to(), part.box);
  const auto layer = [](const DeviceMap* map, const Shape& mesh, std::int64_t place) {
    return map == nullptr ? 0 : map->map(mesh, mesh.delinear(place)).layer;
  };
  bool same = true;
  for_each_choice(facts.flows, [&](const PairAt& pair) {
    same = layer(map_a, part.a.mesh, pair.source.place) ==
           layer(map_b, part.b.mesh, pair.destination.place);
    return same;
  });
  return same;
}

/// Whether rows and columns change places between A and B: of the virtual meshes where both have
/// two axes, else of the ground.
Result<bool> transposed(const PartFacts& facts, const Ground& ground) {
  const ReshardPart& part = facts.part;
  const auto exchanged = [&](const Coordinates& a, const Coordinates& b) {
    const auto axis_of = [](const Coordinates& side, std::size_t axis) {
      return [&side, axis](std::int64_t place) { return side.at(place, axis); };
    };
    return agree(facts.flows, axis_of(a, 0), axis_of(b, 1)) &&
           agree(facts.flows, axis_of(a, 1), axis_of(b, 0));
  };
  if (part.a.mesh.rank() == 2 && part.b.mesh.rank() == 2) {
    const auto swapped = [](const std::vector<Values>& x, const std::vector<Values>& y) {
      return x[0] == y[1] && x[1] == y[0];
    };
    return swapped(facts.copies_a, facts.copies_b) && swapped(facts.shares_a, facts.shares_b) &&
           exchanged({part.a.mesh, part.a.mesh.row_major_strides()},
                     {part.b.mesh, part.b.mesh.row_major_strides()});
  }
  if (ground.mesh.rank() != 2) return false;
  const Values strides = ground.mesh.row_major_strides();
  const Coordinates a{ground.mesh, strides, &part.map_a};
  const Coordinates b{ground.mesh, strides, &part.map_b};
  if (count_of(facts.copies_a) != 1 || count_of(facts.copies_b) != 1 ||
      count_of(facts.shares_a) != 1 || count_of(facts.shares_b) != 1) {
    return false;
  }
  if (facts.aligned()) return exchanged(a, b);
  if (facts.flows.choices() > kMaxSteps) return too_large("comparing the places of each element");
  bool swapped = true;
  for_each_choice(facts.flows, [&](const PairAt& pair) {
    swapped = a.at(pair.source.place, 0) == b.at(pair.destination.place, 1) &&
              a.at(pair.source.place, 1) == b.at(pair.destination.place, 0);
    return swapped;
  });
  return swapped;
}

/// Whether the first places of A and B group the elements in the same way.
Result<bool> same_tiles(const std::vector<PartFacts>& parts) {
  if (parts.size() == 1 && parts[0].flows.distinct) {
    // Which tile an element is in, is which part each factor adds; so factors agree one by one.
    for (const FlowFactor& factor : parts[0].flows.factors) {
      Values from, to;
      for (const SegmentGroup& group : factor.groups) {
        from.push_back(group.source.place);
        to.push_back(group.destination.place);
      }
      for (Values* side : {&from, &to}) {
        std::sort(side->begin(), side->end());
        if (std::unique(side->begin(), side->end()) != side->end()) return false;
      }
    }
    return true;
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  Checked steps = 0;
  for (const PartFacts& facts : parts) {
    steps += facts.flows.choices();
    if (steps.saturated() > kMaxSteps) return too_large("comparing tiles");
    for_each_choice(facts.flows, [&](const PairAt& pair) {
      pairs.emplace_back(pair.source.physical, pair.destination.physical);
      return true;
    });
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  Values to;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (i > 0 && pairs[i].first == pairs[i - 1].first) return false;
    to.push_back(pairs[i].second);
  }
  std::sort(to.begin(), to.end());
  return std::unique(to.begin(), to.end()) == to.end();
}

/// The one physical place where all of a side is, or nothing when there are several.
Result<std::optional<std::int64_t>> only_place(const std::vector<PartFacts>& parts, bool side_a) {
  std::optional<std::int64_t> only;
  for (const PartFacts& facts : parts) {
    const PlaceMap& map = side_a ? facts.part.map_a : facts.part.map_b;
    const Flows& flows = facts.flows;
    const std::int64_t base = side_a ? flows.source.place : flows.destination.place;
    const std::int64_t first = map.physical(base);
    if (only && *only != first) return std::optional<std::int64_t>();
    only = first;
    // Each move alone shows a second place, unless an uneven map hides it from single moves.
    bool one = true;
    Values moves = all_sums({}, map.mesh());
    Checked steps = 1;
    const Values strides = map.mesh().row_major_strides();
    std::vector<Values> lists;
    for (const FlowFactor& factor : flows.factors) {
      Values& list = lists.emplace_back();
      for (const SegmentGroup& group : factor.groups) {
        list.push_back(side_a ? group.source.place : group.destination.place);
      }
    }
    for (const auto* axes : side_a ? std::array{&facts.copies_a, &facts.shares_a}
                                   : std::array{&facts.copies_b, &facts.shares_b}) {
      for (std::size_t axis = 0; axis < axes->size(); ++axis) {
        Values& list = lists.emplace_back();
        for (const std::int64_t offset : (*axes)[axis]) list.push_back(offset * strides[axis]);
      }
    }
    bool moves_at_all = false;
    for (Values& list : lists) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
      for (const std::int64_t move : list) {
        moves_at_all = moves_at_all || move != 0;
        if (map.physical(base + move) != first) return std::optional<std::int64_t>();
      }
      steps *= static_cast<std::int64_t>(list.size());
    }
    if (!moves_at_all) continue;
    // Stacked places: every combination counts.
    if (steps.saturated() > kMaxSteps) return too_large("finding all places of a tensor");
    for (const Values& list : lists) {
      Values more;
      for (const std::int64_t sum : moves) {
        for (const std::int64_t move : list) more.push_back(sum + move);
      }
      moves = std::move(more);
    }
    for (const std::int64_t move : moves) one = one && map.physical(base + move) == first;
    if (!one) return std::optional<std::int64_t>();
  }
  return only;
}

}  // namespace

std::string_view kind_name(ReshardKind kind) {
  switch (kind) {
    case ReshardKind::kIdentity:
      return "IDENTITY";
    case ReshardKind::kReduce:
      return "REDUCE";
    case ReshardKind::kScatter:
      return "SCATTER";
    case ReshardKind::kGather:
      return "GATHER";
    case ReshardKind::kReplicate:
      return "REPLICATE";
    case ReshardKind::kTranspose:
      return "TRANSPOSE";
    case ReshardKind::kRedistribute:
      return "REDISTRIBUTE";
    case ReshardKind::kReshard:
      return "RESHARD";
  }
  return "RESHARD";
}

Result<ReshardKind> kind_of(const Reshard& reshard) {
  if (reshard.parts().empty()) return ReshardKind::kIdentity;
  const Ground& ground = reshard.ground();
  std::vector<PartFacts> parts;
  bool reduces = false;
  bool keeps_shares = false;
  for (const ReshardPart& part : reshard.parts()) {
    TESSERA_TRY(PartFacts facts, facts_of(part, ground));
    parts.push_back(std::move(facts));
    reduces = reduces || part.shares.reduces();
    keeps_shares = keeps_shares || part.shares.to > 1;
  }
  bool stays = true;  // every element on its places
  bool identical = true;
  for (const PartFacts& facts : parts) {
    if (!stays) break;
    TESSERA_TRY(stays, same_places(facts, ground));
    identical = identical && stays && same_slots(facts.flows);
    if (!identical) continue;
    TESSERA_TRY(identical, same_layers(facts, reshard));
  }
  if (stays && identical) return ReshardKind::kIdentity;
  if (reduces && !keeps_shares) return ReshardKind::kReduce;
  TESSERA_TRY(const std::optional<std::int64_t> one_a, only_place(parts, true));
  TESSERA_TRY(const std::optional<std::int64_t> one_b, only_place(parts, false));
  if (one_a && !one_b) return ReshardKind::kScatter;
  if (one_b && !one_a) return ReshardKind::kGather;
  if (stays) return ReshardKind::kReshard;
  TESSERA_TRY(const bool tiles, same_tiles(parts));
  if (!tiles) return ReshardKind::kReshard;
  bool no_fewer = true;
  bool more = false;
  for (const PartFacts& facts : parts) {
    no_fewer = no_fewer && count_of(facts.copies_b) >= count_of(facts.copies_a);
    more = more || count_of(facts.copies_b) > count_of(facts.copies_a);
  }
  if (no_fewer && more) return ReshardKind::kReplicate;
  bool exchanged = true;
  for (const PartFacts& facts : parts) {
    if (!exchanged) break;
    TESSERA_TRY(exchanged, transposed(facts, ground));
  }
  return exchanged ? ReshardKind::kTranspose : ReshardKind::kRedistribute;
}

}  // namespace tessera
