// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/flows/part_facts.h"

#include <algorithm>

#include "tessera/base/text.h"
#include "tessera/layout/algebra/replicas.h"
#include "tessera/reshard/flows/walk.h"
#include "tessera/reshard/part.h"

// Most queries ask whether two functions of an element agree everywhere. Each function is a sum
// over the factors, and a sum of terms that vary independently is zero exactly when every term is
// constant and the constants add up to zero. So the answer needs one pass over the segments.

namespace tessera::reshard {
namespace {

Result<SideFacts> side_of(const Form& form, const PlaceMap& map, bool is_a,
                          const PhysicalMesh& physical) {
  SideFacts side{form,
                 map,
                 is_a ? &Flows::source : &Flows::destination,
                 is_a ? &SegmentGroup::source : &SegmentGroup::destination,
                 one_to_one(map, physical.mesh.elements()),
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
    if (count.saturated() > kMaxKindSteps) return too_many_steps("comparing shares");
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

/// True when f(place in x) = g(place in y) for all elements, where both are sums over the factors.
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

}  // namespace

Error too_many_steps(std::string_view what) {
  return Error{ErrorCode::kTooLarge, cat(what, " takes more than ", kMaxKindSteps, " steps"),
               std::nullopt, "use placements of one piece without a table of devices"};
}

std::int64_t SideFacts::copy_count() const {
  Checked product = 1;
  for (const Values& axis : copies) product *= static_cast<std::int64_t>(axis.size());
  return product.saturated();
}

std::int64_t SideFacts::place_count() const {
  return (Checked(copy_count()) * static_cast<std::int64_t>(shares.size())).saturated();
}

Result<PartFacts> facts_of(const ReshardPart& part, const PhysicalMesh& physical) {
  TESSERA_TRY(Flows flows, flows_of(part, physical, {.shares = false, .copies = false}));
  TESSERA_TRY(SideFacts a, side_of(part.a, part.map_a, true, physical));
  TESSERA_TRY(SideFacts b, side_of(part.b, part.map_b, false, physical));
  return PartFacts{part, std::move(flows), std::move(a), std::move(b)};
}

std::pair<std::int64_t, Values> Coordinates::copies(const SideFacts& side, std::size_t axis) const {
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

Values Coordinates::shares(const SideFacts& side, std::size_t axis) const {
  Values list;
  for (const Index& share : side.shares) {
    std::int64_t& sum = list.emplace_back(0);
    for (std::size_t v = 0; v < share.size(); ++v) {
      if (alignment->axis[v] == axis) sum += share[v] * alignment->step[v];
    }
  }
  return list;
}

std::vector<Values> share_places(const SideFacts& side, std::int64_t first, const PlaceKey& key) {
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

Result<bool> same_sets(const Flows& flows, const SideFacts& x, const PlaceKey& key_x,
                       const SideFacts& y, const PlaceKey& key_y) {
  const Checked steps = Checked(flows.choices()) * (Checked(x.place_count()) + y.place_count());
  if (steps.saturated() > kMaxKindSteps)
    return too_many_steps("comparing the places of each element");
  bool same = true;
  for_each_choice(flows, [&](const PairAt& pair) {
    const std::int64_t at_x = x.base == &Flows::source ? pair.source.place : pair.destination.place;
    const std::int64_t at_y = y.base == &Flows::source ? pair.source.place : pair.destination.place;
    same = share_places(x, at_x, key_x) == share_places(y, at_y, key_y);
    return same;
  });
  return same;
}

Result<bool> same_places(const Flows& flows, Seen x, Seen y, bool exchanged) {
  if (x.side.shares.size() != y.side.shares.size()) return false;
  if (!x.at.alignment || !y.at.alignment || flows.carries) {
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

}  // namespace tessera::reshard
