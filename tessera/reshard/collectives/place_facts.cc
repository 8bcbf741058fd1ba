// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/collectives/place_facts.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/regions.h"
#include "tessera/reshard/flows/walk.h"

namespace tessera::reshard {
namespace {

/// Distances from the smallest value, ascending.
Values from_zero(Values values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  const std::int64_t least = values.front();
  for (std::int64_t& value : values) value -= least;
  return values;
}

void add_moves(std::vector<Values>& moves, Values values) {
  values = from_zero(std::move(values));
  if (values.size() < 2) return;
  if (std::find(moves.begin(), moves.end(), values) == moves.end()) {
    moves.push_back(std::move(values));
  }
}

void add_moves(std::vector<std::vector<Values>>& moves, const std::vector<Place>& offsets) {
  for (std::size_t axis = 0; axis < moves.size(); ++axis) {
    Values along;
    for (const Place& offset : offsets) along.push_back(offset[axis]);
    add_moves(moves[axis], std::move(along));
  }
}

/// The coordinates of one column of a table, as lists per mesh axis.
void add_moves(std::vector<std::vector<Values>>& moves, const Values& coordinates) {
  for (std::size_t axis = 0; axis < moves.size(); ++axis) {
    Values along;
    for (std::size_t i = axis; i < coordinates.size(); i += moves.size()) {
      along.push_back(coordinates[i]);
    }
    add_moves(moves[axis], std::move(along));
  }
}

void append(Values& table, const Place& place) {
  table.insert(table.end(), place.begin(), place.end());
}

bool is_even(const Values& along) {
  for (std::size_t i = 2; i < along.size(); ++i) {
    if (along[i] - along[i - 1] != along[1] - along[0]) return false;
  }
  return true;
}

/// True when copies and shares along a virtual axis are at the same offsets from every first place.
bool repeats_alike(const SideNumbers& numbers, const Flows& flows, std::size_t axis) {
  const SideFacts& side = numbers.side;
  const bool shared = std::any_of(side.shares.begin(), side.shares.end(),
                                  [axis](const Index& share) { return share[axis] != 0; });
  const bool copied = side.copies[axis].size() > 1;
  if (numbers.own || (!shared && !copied)) return true;
  if (!side.map.separable() || flows.carries) return false;
  if (is_even(side.map.along(axis))) return true;
  if (shared && copied) return false;
  const Values strides = side.form.mesh.row_major_strides();
  const std::int64_t base = side.first(flows);
  const std::int64_t first = coordinate(side.form.mesh, strides, base, axis);
  for (const FlowFactor& factor : flows.factors) {
    for (const SegmentGroup& group : factor.groups) {
      const std::int64_t place = base + (group.*side.part).place;
      if (coordinate(side.form.mesh, strides, place, axis) != first) return false;
    }
  }
  return true;
}

/// The offsets of copies and shares from a first place.
Repeats repeats_at(const SideNumbers& numbers, const Shape& mesh, std::int64_t first) {
  const SideFacts& side = numbers.side;
  const Values strides = side.form.mesh.row_major_strides();
  const Place zero = mesh.delinear(numbers.of(first));
  const auto offset = [&](std::int64_t place) {
    return minus(mesh.delinear(numbers.of(place)), zero);
  };
  Repeats repeats;
  for (std::size_t v = 0; v < side.copies.size(); ++v) {
    if (side.copies[v].size() <= 1) continue;
    std::vector<Place>& list = repeats.copies.emplace_back();
    for (const std::int64_t copy : side.copies[v])
      list.push_back(offset(first + copy * strides[v]));
  }
  for (const Index& share : side.shares) {
    std::int64_t place = first;
    for (std::size_t v = 0; v < share.size(); ++v) place += share[v] * strides[v];
    repeats.shares.push_back(offset(place));
  }
  return repeats;
}

/// One side in product form, with a column of offsets for each factor. Empty if coordinates do not
/// add up.
struct SideColumns {
  PlacedSide side;
  std::vector<Values> columns;
};
std::optional<SideColumns> columns_of(const SideNumbers& numbers, const Flows& flows, bool adds,
                                      const Shape& mesh) {
  const SideFacts& side = numbers.side;
  if (!numbers.own && !(numbers.is_physical() && adds)) return std::nullopt;
  for (std::size_t v = 0; v < side.copies.size(); ++v) {
    if (!repeats_alike(numbers, flows, v)) return std::nullopt;
  }
  const PlacePart base = flows.*side.base;
  const std::int64_t first = numbers.own ? base.place : base.physical;
  SideColumns result;
  result.side.base = mesh.delinear(first);
  Place low = result.side.base;
  Place high = low;
  const auto widen = [&](const Place& least, const Place& most) {
    low = plus(std::move(low), least);
    high = plus(std::move(high), most);
  };
  const auto stretch = [](Place& least, Place& most, const Place& offset) {
    for (std::size_t k = 0; k < offset.size(); ++k) {
      least[k] = std::min(least[k], offset[k]);
      most[k] = std::max(most[k], offset[k]);
    }
  };
  for (const FlowFactor& factor : flows.factors) {
    Values& column = result.columns.emplace_back();
    Place least(mesh.rank(), 0);
    Place most(mesh.rank(), 0);
    for (const SegmentGroup& group : factor.groups) {
      const PlacePart part = group.*side.part;
      const std::int64_t number = first + (numbers.own ? part.place : part.physical);
      if (number < 0 || number >= mesh.elements()) return std::nullopt;
      const Place offset = minus(mesh.delinear(number), result.side.base);
      stretch(least, most, offset);
      append(column, offset);
    }
    widen(least, most);
  }
  result.side.repeats = repeats_at(numbers, mesh, base.place);
  std::vector<std::vector<Place>> lists = result.side.repeats.copies;
  lists.push_back(result.side.repeats.shares);
  for (const std::vector<Place>& list : lists) {
    Place least(mesh.rank(), 0);
    Place most(mesh.rank(), 0);
    for (const Place& offset : list) stretch(least, most, offset);
    widen(least, most);
  }
  for (std::size_t k = 0; k < mesh.rank(); ++k) {
    if (low[k] < 0 || high[k] >= mesh[k]) return std::nullopt;
  }
  return result;
}

/// The facts of a single part whose coordinates add up.
std::optional<PlaceFacts> in_product_form(const PartFacts& part, const SideNumbers& of_a,
                                          const SideNumbers& of_b, const Shape& mesh) {
  const Flows& flows = part.flows;
  std::optional<SideColumns> a = columns_of(of_a, flows, flows.source_adds, mesh);
  if (!a) return std::nullopt;
  std::optional<SideColumns> b = columns_of(of_b, flows, flows.destination_adds, mesh);
  if (!b) return std::nullopt;
  PlaceFacts facts;
  facts.moves.resize(mesh.rank());
  for (std::size_t f = 0; f < flows.factors.size(); ++f) {
    CellTable& table = facts.factors.emplace_back();
    for (const SegmentGroup& group : flows.factors[f].groups) {
      table.elements.push_back(group.elements);
    }
    table.a = std::move(a->columns[f]);
    table.b = std::move(b->columns[f]);
    add_moves(facts.moves, table.a);
    add_moves(facts.moves, table.b);
  }
  facts.a = std::move(a->side);
  facts.b = std::move(b->side);
  for (const PlacedSide* side : {&facts.a, &facts.b}) {
    for (const std::vector<Place>& list : side->repeats.copies) add_moves(facts.moves, list);
    add_moves(facts.moves, side->repeats.shares);
  }
  return facts;
}

/// Lists the cells of all parts, and all their places, in a single factor.
class Listing {
 public:
  explicit Listing(const Shape& mesh) : mesh_(mesh) {
    facts_.moves.resize(mesh.rank());
    facts_.factors.emplace_back();
    facts_.a.base = Place(mesh.rank(), 0);
    facts_.b.base = facts_.a.base;
  }

  /// False if a place has no number.
  bool add(const PartFacts& part, const SideNumbers& of_a, const SideNumbers& of_b) {
    bool numbered = hint(part.flows, of_a) && hint(part.flows, of_b);
    for_each_choice(part.flows, [&](const PairAt& pair) {
      CellTable& table = facts_.factors.front();
      numbered = numbered && list(of_a, pair.source.place, table.a, facts_.a) &&
                 list(of_b, pair.destination.place, table.b, facts_.b);
      table.elements.push_back(pair.elements);
      return numbered;
    });
    if (!numbered) return false;
    for (const PlacedSide* side : {&facts_.a, &facts_.b}) {
      for (const std::vector<Place>& share : side->listed.back()) add_moves(facts_.moves, share);
      std::vector<Place> firsts;
      for (const std::vector<Place>& share : side->listed.back()) firsts.push_back(share.front());
      add_moves(facts_.moves, firsts);
    }
    return true;
  }

  PlaceFacts finish() {
    add_moves(facts_.moves, facts_.factors.front().a);
    add_moves(facts_.moves, facts_.factors.front().b);
    return std::move(facts_);
  }

 private:
  bool list(const SideNumbers& numbers, std::int64_t first, Values& column, PlacedSide& side) {
    const auto number = [&](std::int64_t place) { return numbers.of(place); };
    ListedPlaces& shares = side.listed.emplace_back();
    for (const Values& share : share_places(numbers.side, first, number)) {
      if (share.front() < 0) return false;  // in ascending order
      std::vector<Place>& places = shares.emplace_back();
      for (const std::int64_t place : share) places.push_back(mesh_.delinear(place));
    }
    append(column, mesh_.delinear(number(first)));
    return true;
  }

  /// How each factor alone moves the side's places.
  bool hint(const Flows& flows, const SideNumbers& numbers) {
    const std::int64_t base = numbers.side.first(flows);
    for (const FlowFactor& factor : flows.factors) {
      Values column;
      for (const SegmentGroup& group : factor.groups) {
        const std::int64_t number = numbers.of(base + (group.*numbers.side.part).place);
        if (number < 0) return false;
        append(column, mesh_.delinear(number));
      }
      add_moves(facts_.moves, column);
    }
    return true;
  }

  Shape mesh_;
  PlaceFacts facts_;
};

std::optional<Reduction> reduction_of(const Form& form) {
  std::optional<Reduction> only;
  for (const Fill& fill : form.fills) {
    if (fill.kind != Fill::Kind::kPartial || fill.count <= 1) continue;
    if (only && *only != fill.reduction) return std::nullopt;
    only = fill.reduction;
  }
  return only;
}

/// True when two parts treat shares in the same way.
bool same_rule(const ReshardPart& x, const ReshardPart& y) {
  return x.shares.from == y.shares.from && x.shares.to == y.shares.to &&
         x.shares.alike == y.shares.alike && reduction_of(x.a) == reduction_of(y.a) &&
         reduction_of(x.b) == reduction_of(y.b);
}

}  // namespace

Result<std::optional<PlaceFacts>> place_facts(const std::vector<PartFacts>& parts,
                                              const PhysicalMesh& physical, Numbering numbering) {
  const std::optional<PlaceFacts> none;
  for (const PartFacts& part : parts) {
    if (!same_rule(part.part, parts.front().part)) return none;
  }
  TESSERA_TRY(const std::optional<NumberedMesh> numbers, numbered_mesh(parts, physical, numbering));
  if (!numbers) return none;
  std::optional<PlaceFacts> facts;
  if (parts.size() == 1) {
    const PartFacts& part = parts.front();
    facts = in_product_form(part, numbers->of(part.a), numbers->of(part.b), numbers->mesh);
  }
  if (!facts) {
    TESSERA_CHECK_OK(check_listing(parts));
    Listing listing(numbers->mesh);
    for (const PartFacts& part : parts) {
      if (!listing.add(part, numbers->of(part.a), numbers->of(part.b))) return none;
    }
    facts = listing.finish();
  }
  facts->mesh = numbers->mesh;
  facts->devices = numbers->devices;
  facts->shares = parts.front().part.shares;
  facts->reduction_a = reduction_of(parts.front().part.a);
  facts->reduction_b = reduction_of(parts.front().part.b);
  return facts;
}

}  // namespace tessera::reshard
