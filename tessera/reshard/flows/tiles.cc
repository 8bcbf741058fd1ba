// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/flows/tiles.h"

#include <algorithm>
#include <map>
#include <utility>

#include "tessera/reshard/flows/walk.h"

namespace tessera::reshard {
namespace {

/// Numbers the tiles: two elements have the same number exactly when all their shares are on the
/// same places.
class Tiles {
 public:
  /// First places identify tiles when all parts repeat elements in the same way on separate places.
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

}  // namespace

Result<bool> same_tiles(const std::vector<PartFacts>& parts) {
  if (parts.size() == 1 && parts[0].flows.distinct) {
    // The tile of an element is determined by the part that each factor adds; so factors agree one
    // by one.
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
    if (steps.saturated() > 2 * kMaxKindSteps) return too_many_steps("comparing tiles");
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
    // The offsets that each factor, copy and share may add. Usually a single one shows a second
    // place.
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
    // Only stacked places get here with moves left; then all sums count.
    if (steps.saturated() > kMaxKindSteps) return too_many_steps("finding all places of a tensor");
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

}  // namespace tessera::reshard
