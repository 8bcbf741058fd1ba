// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/kind.h"

#include <algorithm>
#include <map>
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

/// One side of a part.
struct SideFacts {
  const Form& form;
  const PlaceMap& map;
  PlacePart Flows::* base;
  PlacePart SegmentGroup::* part;
  bool apart;                  // different virtual places are different physical ones
  std::vector<Values> copies;  // along each virtual axis, relative to the first place
  std::vector<Index> shares;   // of each share, by its number

  std::int64_t first(const Flows& flows) const { return (flows.*base).place; }
  std::int64_t copy_count() const {
    Checked product = 1;
    for (const Values& axis : copies) product *= static_cast<std::int64_t>(axis.size());
    return product.saturated();
  }
  std::int64_t place_count() const {
    return (Checked(copy_count()) * static_cast<std::int64_t>(shares.size())).saturated();
  }
  bool repeats_like(const SideFacts& other) const {
    return copies == other.copies && shares == other.shares;
  }
};

/// One part, with what all questions need.
struct PartFacts {
  const ReshardPart& part;
  Flows flows;  // first places alone
  SideFacts a;
  SideFacts b;
};

Result<SideFacts> side_of(const Form& form, const PlaceMap& map, bool is_a, const Ground& ground) {
  SideFacts side{form,
                 map,
                 is_a ? &Flows::source : &Flows::destination,
                 is_a ? &SegmentGroup::source : &SegmentGroup::destination,
                 one_to_one(map, ground.mesh.elements()),
                 {},
                 {Index(form.mesh.rank(), 0)}};
  for (std::size_t axis = 0; axis < form.mesh.rank(); ++axis) {
    const OffsetSet set =
        replica_offsets(form.fills, static_cast<int>(axis), Fill::Kind::kReplicate);
    Values& list = side.copies.emplace_back();
    for (std::int64_t i = 0; i < set.size(); ++i) list.push_back(set.at(i));
  }
  for (const Fill& fill : form.fills) {
    if (fill.kind != Fill::Kind::kPartial || fill.count <= 1) continue;
    const Checked count = Checked(static_cast<std::int64_t>(side.shares.size())) * fill.count;
    if (count.saturated() > kMaxSteps) return too_large("comparing shares");
    std::vector<Index> more;
    for (const Index& share : side.shares) {
      for (std::int64_t i = 0; i < fill.count; ++i) {
        more.push_back(share);
        more.back()[static_cast<std::size_t>(fill.axis)] += i * fill.stride;
      }
    }
    side.shares = std::move(more);
  }
  return side;
}

Result<PartFacts> facts_of(const ReshardPart& part, const Ground& ground) {
  TESSERA_TRY(Flows flows, flows_of(part, ground, {.shares = false, .copies = false}));
  TESSERA_TRY(SideFacts a, side_of(part.a, part.map_a, true, ground));
  TESSERA_TRY(SideFacts b, side_of(part.b, part.map_b, false, ground));
  return PartFacts{part, std::move(flows), std::move(a), std::move(b)};
}

/// Where coordinates are read: on the ground through a map, or on the virtual mesh itself.
struct Coordinates {
  const Shape& mesh;
  const PlaceMap* map = nullptr;
  std::optional<Alignment> alignment = std::nullopt;
  Values strides = {};

  static Coordinates on_ground(const SideFacts& side, const Ground& ground) {
    return {ground.mesh, &side.map, alignment_of(side.map, ground.mesh),
            ground.mesh.row_major_strides()};
  }
  static Coordinates on_mesh(const SideFacts& side) {
    const Shape& mesh = side.form.mesh;
    Alignment itself;
    for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
      itself.axis.push_back(axis);
      itself.step.push_back(1);
    }
    return {mesh, nullptr, std::move(itself), mesh.row_major_strides()};
  }

  std::int64_t number(std::int64_t place) const {
    return map != nullptr ? map->physical(place) : place;
  }
  std::int64_t at(std::int64_t place, std::size_t axis) const {
    return coordinate(mesh, strides, number(place), axis);
  }
  /// A number for each place that is the same for the same coordinates, rows and columns exchanged
  /// where `exchanged`.
  std::int64_t key(std::int64_t place, bool exchanged) const {
    if (mesh.rank() != 2) return number(place);
    const std::int64_t row = at(place, exchanged ? 1 : 0);
    return (row << 32) + at(place, exchanged ? 0 : 1);
  }

  /// Copies along one axis: a rising list, its first number taken off and told apart.
  std::pair<std::int64_t, Values> copies(const SideFacts& side, std::size_t axis) const {
    Values list = {0};
    for (std::size_t v = 0; v < side.copies.size(); ++v) {
      if (side.copies[v].size() <= 1 || alignment->axis[v] != axis) continue;
      Values sums;
      for (const std::int64_t x : list) {
        for (const std::int64_t y : side.copies[v]) sums.push_back(x + y * alignment->step[v]);
      }
      std::sort(sums.begin(), sums.end());
      sums.erase(std::unique(sums.begin(), sums.end()), sums.end());
      list = std::move(sums);
    }
    const std::int64_t least = list.front();
    for (std::int64_t& x : list) x -= least;
    return {least, std::move(list)};
  }
  Values shares(const SideFacts& side, std::size_t axis) const {
    Values list;
    for (const Index& share : side.shares) {
      std::int64_t& sum = list.emplace_back(0);
      for (std::size_t v = 0; v < share.size(); ++v) {
        if (alignment->axis[v] == axis) sum += share[v] * alignment->step[v];
      }
    }
    return list;
  }
};

/// A side of the elements, and where its coordinates are read.
struct Seen {
  const SideFacts& side;
  const Coordinates& at;
};

/// Whether f(place in x) = g(place in y) for all elements, when both are sums over the factors.
template <typename F, typename G>
bool agree(const Flows& flows, const SideFacts& x, F f, const SideFacts& y, G g) {
  const std::int64_t first_x = x.first(flows);
  const std::int64_t first_y = y.first(flows);
  const std::int64_t base_x = f(first_x);
  const std::int64_t base_y = g(first_y);
  std::int64_t total = base_x - base_y;
  for (const FlowFactor& factor : flows.factors) {
    const auto difference = [&](const SegmentGroup& group) {
      return f(first_x + (group.*x.part).place) - base_x -
             (g(first_y + (group.*y.part).place) - base_y);
    };
    const std::int64_t constant = difference(factor.groups.front());
    for (const SegmentGroup& group : factor.groups) {
      if (difference(group) != constant) return false;
    }
    total += constant;
  }
  return total == 0;
}

/// For each share, the keys of its places, rising.
template <typename Key>
std::vector<Values> share_places(const SideFacts& side, std::int64_t first, Key key) {
  const Values strides = side.form.mesh.row_major_strides();
  Values copies = {0};
  for (std::size_t v = 0; v < side.copies.size(); ++v) {
    if (side.copies[v].size() <= 1) continue;
    Values more;
    for (const std::int64_t sum : copies) {
      for (const std::int64_t offset : side.copies[v]) more.push_back(sum + offset * strides[v]);
    }
    copies = std::move(more);
  }
  std::vector<Values> places;
  for (const Index& share : side.shares) {
    std::int64_t offset = first;
    for (std::size_t v = 0; v < share.size(); ++v) offset += share[v] * strides[v];
    Values& set = places.emplace_back();
    for (const std::int64_t copy : copies) set.push_back(key(offset + copy));
    std::sort(set.begin(), set.end());
    set.erase(std::unique(set.begin(), set.end()), set.end());
  }
  return places;
}

/// The same by looking at every choice of groups.
template <typename KeyX, typename KeyY>
Result<bool> same_sets(const Flows& flows, const SideFacts& x, KeyX key_x, const SideFacts& y,
                       KeyY key_y) {
  const Checked steps = Checked(flows.choices()) * (Checked(x.place_count()) + y.place_count());
  if (steps.saturated() > kMaxSteps) return too_large("comparing the places of each element");
  bool same = true;
  for_each_choice(flows, [&](const PairAt& pair) {
    const std::int64_t at_x = x.base == &Flows::source ? pair.source.place : pair.destination.place;
    const std::int64_t at_y = y.base == &Flows::source ? pair.source.place : pair.destination.place;
    same = share_places(x, at_x, key_x) == share_places(y, at_y, key_y);
    return same;
  });
  return same;
}

/// Whether each share of each element is on the same places in x and y, or on those with row and
/// column exchanged.
Result<bool> same_places(const Flows& flows, Seen x, Seen y, bool exchanged) {
  if (x.side.shares.size() != y.side.shares.size()) return false;
  if (!x.at.alignment || !y.at.alignment) {
    const bool itself = !exchanged && x.side.map == y.side.map && x.side.apart && y.side.apart &&
                        x.side.repeats_like(y.side);
    if (itself) {
      const auto place = [](std::int64_t p) { return p; };
      return agree(flows, x.side, place, y.side, place);
    }
    return same_sets(
        flows, x.side, [&](std::int64_t place) { return x.at.key(place, exchanged); }, y.side,
        [&](std::int64_t place) { return y.at.key(place, false); });
  }
  const std::size_t rank = x.at.mesh.rank();
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::size_t other = exchanged ? 1 - axis : axis;
    const auto [least_x, copies_x] = x.at.copies(x.side, axis);
    const auto [least_y, copies_y] = y.at.copies(y.side, other);
    if (copies_x != copies_y || x.at.shares(x.side, axis) != y.at.shares(y.side, other)) {
      return false;
    }
    const std::int64_t shift = least_x - least_y;
    const bool same = agree(
        flows, x.side, [&](std::int64_t place) { return x.at.at(place, axis) + shift; }, y.side,
        [&](std::int64_t place) { return y.at.at(place, other); });
    if (!same) return false;
  }
  return true;
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

/// The device map that places a box, or nothing where there is none.
const DeviceMap* device_map_at(const Placement& placement, const Box& box) {
  for (const FormPiece& piece : form_pieces(placement)) {
    if (piece.box.contains(box.from)) return piece.device_map;
  }
  return nullptr;
}

/// Whether places that are the same are also the same layers of it, where maps stack places.
Result<bool> same_layers(const PartFacts& facts, const Reshard& reshard) {
  if (facts.a.apart && facts.b.apart) return true;
  // Layers are fewer than virtual places, of either mesh.
  const std::int64_t layers = std::max(facts.a.form.mesh.elements(), facts.b.form.mesh.elements());
  const auto key = [&](const SideFacts& side, const Placement& placement) {
    const DeviceMap* map = device_map_at(placement, facts.part.box);
    return [&side, map, layers](std::int64_t place) {
      const Shape& mesh = side.form.mesh;
      const std::int64_t layer = map == nullptr ? 0 : map->map(mesh, mesh.delinear(place)).layer;
      return side.map.physical(place) * layers + layer;
    };
  };
  return same_sets(facts.flows, facts.a, key(facts.a, reshard.from()), facts.b,
                   key(facts.b, reshard.to()));
}

/// Whether rows and columns change places between A and B, and for some element this is a change:
/// those of the virtual meshes where both have two axes, else those of the ground.
Result<bool> transposed(const std::vector<PartFacts>& parts, const Ground& ground) {
  bool changes = false;
  for (const PartFacts& facts : parts) {
    const bool on_mesh = facts.part.a.mesh.rank() == 2 && facts.part.b.mesh.rank() == 2;
    if (!on_mesh && ground.mesh.rank() != 2) return false;
    const Coordinates a =
        on_mesh ? Coordinates::on_mesh(facts.a) : Coordinates::on_ground(facts.a, ground);
    const Coordinates b =
        on_mesh ? Coordinates::on_mesh(facts.b) : Coordinates::on_ground(facts.b, ground);
    TESSERA_TRY(const bool here, same_places(facts.flows, {facts.a, a}, {facts.b, b}, true));
    if (!here) return false;
    TESSERA_TRY(const bool stays, same_places(facts.flows, {facts.a, a}, {facts.a, a}, true));
    changes = changes || !stays;
  }
  return changes;
}

/// Tells tiles apart: elements have one number exactly when all their shares are on the same
/// places.
class Tiles {
 public:
  /// First places tell them, when all parts repeat elements in the same way on places of their own.
  Tiles(const std::vector<PartFacts>& parts, const SideFacts PartFacts::* side) : side_(side) {
    const SideFacts& front = parts.front().*side;
    for (const PartFacts& facts : parts) {
      const SideFacts& here = facts.*side;
      simple_ = simple_ && here.apart && here.map == front.map && here.repeats_like(front);
    }
  }
  std::int64_t steps(const PartFacts& facts) const {
    return simple_ ? 1 : (facts.*side_).place_count();
  }
  std::int64_t of(const PartFacts& facts, std::int64_t place) {
    if (simple_) return place;
    const SideFacts& side = facts.*side_;
    const auto key = [&](std::int64_t p) { return side.map.physical(p); };
    return known_.emplace(share_places(side, place, key), known_.size()).first->second;
  }

 private:
  const SideFacts PartFacts::* side_;
  bool simple_ = true;
  std::map<std::vector<Values>, std::int64_t> known_;
};

/// Whether A and B group the elements in the same way.
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
        if (side->size() > 1 && !std::is_sorted(side->begin(), side->end())) {
          std::sort(side->begin(), side->end());
        }
        if (std::adjacent_find(side->begin(), side->end()) != side->end()) return false;
      }
    }
    return true;
  }
  Tiles tiles_a(parts, &PartFacts::a);
  Tiles tiles_b(parts, &PartFacts::b);
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  Checked steps = 0;
  for (const PartFacts& facts : parts) {
    steps += Checked(facts.flows.choices()) * (tiles_a.steps(facts) + tiles_b.steps(facts));
    if (steps.saturated() > 2 * kMaxSteps) return too_large("comparing tiles");
    for_each_choice(facts.flows, [&](const PairAt& pair) {
      pairs.emplace_back(tiles_a.of(facts, pair.source.place),
                         tiles_b.of(facts, pair.destination.place));
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
  return std::adjacent_find(to.begin(), to.end()) == to.end();
}

/// The one physical place where all of a side is, or nothing when there are several.
Result<std::optional<std::int64_t>> only_place(const std::vector<PartFacts>& parts,
                                               const SideFacts PartFacts::* which) {
  std::optional<std::int64_t> only;
  const std::optional<std::int64_t> several;
  for (const PartFacts& facts : parts) {
    const SideFacts& side = facts.*which;
    const std::int64_t first = side.first(facts.flows);
    const std::int64_t here = side.map.physical(first);
    if (only && *only != here) return several;
    only = here;
    // What each factor, copy and share may add. Most often one alone shows a second place.
    const Values strides = side.form.mesh.row_major_strides();
    std::vector<Values> moves;
    for (const FlowFactor& factor : facts.flows.factors) {
      Values& list = moves.emplace_back();
      for (const SegmentGroup& group : factor.groups) list.push_back((group.*side.part).place);
    }
    for (std::size_t v = 0; v < side.copies.size(); ++v) {
      Values& list = moves.emplace_back();
      for (const std::int64_t copy : side.copies[v]) list.push_back(copy * strides[v]);
    }
    Values& list = moves.emplace_back();
    for (const Index& share : side.shares) {
      std::int64_t& sum = list.emplace_back(0);
      for (std::size_t v = 0; v < share.size(); ++v) sum += share[v] * strides[v];
    }
    Checked steps = 1;
    for (Values& each : moves) {
      for (const std::int64_t move : each) {
        if (side.map.physical(first + move) != here) return several;
      }
      std::sort(each.begin(), each.end());
      each.erase(std::unique(each.begin(), each.end()), each.end());
      steps *= static_cast<std::int64_t>(each.size());
    }
    // Only stacked places come this far with moves left, and there all sums count.
    if (steps.saturated() > kMaxSteps) return too_large("finding all places of a tensor");
    Values sums = {first};
    for (const Values& each : moves) {
      Values more;
      for (const std::int64_t sum : sums) {
        for (const std::int64_t move : each) more.push_back(sum + move);
      }
      sums = std::move(more);
    }
    for (const std::int64_t sum : sums) {
      if (side.map.physical(sum) != here) return several;
    }
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
    const Coordinates a = Coordinates::on_ground(facts.a, ground);
    const Coordinates b = Coordinates::on_ground(facts.b, ground);
    TESSERA_TRY(stays, same_places(facts.flows, {facts.a, a}, {facts.b, b}, false));
    identical = identical && stays && facts.part.shares.alike && same_slots(facts.flows);
    if (!identical) continue;
    TESSERA_TRY(identical, same_layers(facts, reshard));
  }
  if (stays && identical) return ReshardKind::kIdentity;
  if (reduces && !keeps_shares) return ReshardKind::kReduce;
  TESSERA_TRY(const std::optional<std::int64_t> one_a, only_place(parts, &PartFacts::a));
  TESSERA_TRY(const std::optional<std::int64_t> one_b, only_place(parts, &PartFacts::b));
  if (one_a && !one_b) return ReshardKind::kScatter;
  if (one_b && !one_a) return ReshardKind::kGather;
  if (stays) return ReshardKind::kReshard;
  TESSERA_TRY(const bool tiles, same_tiles(parts));
  if (!tiles) return ReshardKind::kReshard;
  bool fewer = false;
  bool more = false;
  for (const PartFacts& facts : parts) {
    fewer = fewer || facts.b.copy_count() < facts.a.copy_count();
    more = more || facts.b.copy_count() > facts.a.copy_count();
  }
  if (more && !fewer) return ReshardKind::kReplicate;
  TESSERA_TRY(const bool exchanged, transposed(parts, ground));
  return exchanged ? ReshardKind::kTranspose : ReshardKind::kRedistribute;
}

}  // namespace tessera
