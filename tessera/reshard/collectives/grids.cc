// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/collectives/grids.h"

#include <algorithm>
#include <set>
#include <utility>

#include "tessera/base/checked.h"

namespace tessera::reshard {
namespace {

constexpr std::size_t kMaxChains = 16;     // for one origin and length
constexpr std::size_t kMaxDivisions = 24;  // of one axis
constexpr std::size_t kMaxGrids = 256;

/// The coordinates that one side uses along a mesh axis.
struct Range {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

/// A way to divide a mesh axis: from `origin` on, by ascending steps from 1, of which each divides
/// the next. The last step is the length of what is divided.
struct Division {
  std::int64_t origin = 0;
  Values steps;
};

/// Extends a range by the least and the greatest of a list of offsets.
void widen(std::int64_t& low, std::int64_t& high, const Values& offsets) {
  const auto [least, most] = std::minmax_element(offsets.begin(), offsets.end());
  low += *least;
  high += *most;
}

Range range_of(const PlaceFacts& facts, const PlacedSide& side, Values CellTable::* column,
               std::size_t axis) {
  if (!side.listed.empty()) {
    std::int64_t low = INT64_MAX;
    std::int64_t high = 0;
    for (const ListedPlaces& shares : side.listed) {
      for (const std::vector<Place>& share : shares) {
        for (const Place& place : share) {
          low = std::min(low, place[axis]);
          high = std::max(high, place[axis]);
        }
      }
    }
    return {low, high};
  }
  std::int64_t low = side.base[axis];
  std::int64_t high = low;
  const std::size_t rank = facts.mesh.rank();
  for (const CellTable& factor : facts.factors) {
    Values along;
    for (std::size_t i = axis; i < (factor.*column).size(); i += rank) {
      along.push_back((factor.*column)[i]);
    }
    widen(low, high, along);
  }
  std::vector<std::vector<Place>> lists = side.repeats.copies;
  lists.push_back(side.repeats.shares);
  for (const std::vector<Place>& list : lists) {
    Values along;
    for (const Place& offset : list) along.push_back(offset[axis]);
    widen(low, high, along);
  }
  return {low, high};
}

/// The steps at which a list of offsets suggests to divide: {0, 1, 4, 5} gives 1, 2, 4 and 8.
void add_steps(Values offsets, std::set<std::int64_t>& steps) {
  while (offsets.size() > 1) {
    const std::int64_t step = offsets[1];
    std::size_t run = 1;
    while (run < offsets.size() && offsets[run] == static_cast<std::int64_t>(run) * step) ++run;
    steps.insert(step);
    steps.insert(step * static_cast<std::int64_t>(run));
    if (run == offsets.size()) return;
    const std::int64_t next = offsets[run];
    Values rest = {0};
    for (std::size_t i = run; i < offsets.size(); ++i) {
      if (offsets[i] % next == 0) rest.push_back(offsets[i]);
    }
    offsets = std::move(rest);
  }
}

/// Extends `chain`, which ascends and in which each number divides the next, up to `top` in every
/// way that leaves no step out that would fit.
void extend(const Values& steps, std::int64_t top, Values& chain, std::vector<Values>& chains) {
  if (chains.size() >= kMaxChains) return;
  const std::int64_t last = chain.back();
  Values next;
  for (const std::int64_t step : steps) {
    if (step <= last || step % last != 0 || top % step != 0) continue;
    const bool covers = std::none_of(next.begin(), next.end(),
                                     [step](std::int64_t smaller) { return step % smaller == 0; });
    if (covers) next.push_back(step);
  }
  if (next.empty()) chains.push_back(chain);
  for (const std::int64_t step : next) {
    chain.push_back(step);
    extend(steps, top, chain, chains);
    chain.pop_back();
  }
}

/// The coordinates at which a division may begin: aligned, for some step, with the beginning or the
/// end of what a side uses, or with the mesh. The lowest coordinate that is used comes first.
Values origins_of(const Range& a, const Range& b, const std::set<std::int64_t>& steps) {
  const std::int64_t low = std::min(a.low, b.low);
  Values origins = {low};
  for (const std::int64_t step : steps) {
    for (const std::int64_t edge : {a.low, b.low, a.high + 1, b.high + 1}) {
      const std::int64_t origin = low - floor_mod(low - edge, step);
      const bool known = std::find(origins.begin(), origins.end(), origin) != origins.end();
      if (origin >= 0 && !known) origins.push_back(origin);
    }
  }
  if (std::find(origins.begin(), origins.end(), 0) == origins.end()) origins.push_back(0);
  return origins;
}

/// True when a set of coordinates has one value, or all values, along each part of a division.
bool covers_parts(const Values& coordinates, const Division& division) {
  std::int64_t product = 1;
  for (std::size_t i = 0; i + 1 < division.steps.size(); ++i) {
    const std::int64_t count = division.steps[i + 1] / division.steps[i];
    std::set<std::int64_t> digits;
    for (const std::int64_t coordinate : coordinates) {
      digits.insert((coordinate - division.origin) / division.steps[i] % count);
    }
    const auto found = static_cast<std::int64_t>(digits.size());
    if (found != 1 && found != count) return false;
    product *= found;
  }
  return product == static_cast<std::int64_t>(coordinates.size());
}

/// True when copies and shares of a side, beginning at `low`, may cover parts of the division. This
/// only saves the work of trying grids that cannot describe them.
bool may_fit(const PlacedSide& side, std::int64_t low, std::size_t axis, const Division& division) {
  std::vector<std::vector<Place>> lists = side.repeats.copies;
  lists.push_back(side.repeats.shares);
  for (const std::vector<Place>& list : lists) {
    std::set<std::int64_t> offsets;
    for (const Place& offset : list) offsets.insert(offset[axis]);
    Values coordinates;
    for (const std::int64_t offset : offsets)
      coordinates.push_back(low + offset - *offsets.begin());
    if (coordinates.size() > 1 && !covers_parts(coordinates, division)) return false;
  }
  return true;
}

/// Every way to divide a mesh axis; those that use no place beyond the used ones come first.
std::vector<Division> divisions_of(const PlaceFacts& facts, std::size_t axis) {
  const Range a = range_of(facts, facts.a, &CellTable::a, axis);
  const Range b = range_of(facts, facts.b, &CellTable::b, axis);
  std::set<std::int64_t> steps;
  for (const Values& offsets : facts.moves[axis]) add_steps(offsets, steps);
  std::vector<Division> divisions;
  for (const std::int64_t origin : origins_of(a, b, steps)) {
    const std::int64_t extent = std::max(a.high, b.high) - origin + 1;
    std::set<std::int64_t> lengths = {extent};
    for (const std::int64_t step : steps) lengths.insert(ceil_div(extent, step) * step);
    for (const std::int64_t length : lengths) {
      Values inside;
      for (const std::int64_t step : steps) {
        if (step > 1 && step < length) inside.push_back(step);
      }
      if (length > 1) inside.push_back(length);
      std::vector<Values> chains;
      Values chain = {1};
      extend(inside, length, chain, chains);
      for (Values& each : chains) {
        Division division{origin, std::move(each)};
        if (divisions.size() == kMaxDivisions) return divisions;
        if (!may_fit(facts.a, a.low, axis, division) || !may_fit(facts.b, b.low, axis, division)) {
          continue;
        }
        divisions.push_back(std::move(division));
      }
    }
  }
  return divisions;
}

}  // namespace

std::vector<PlaceGrid> grids_of(const PlaceFacts& facts) {
  const Values strides = facts.mesh.row_major_strides();
  std::vector<PlaceGrid> grids(1);
  grids[0].mesh = facts.mesh;
  grids[0].devices = facts.devices;
  for (std::size_t axis = 0; axis < facts.mesh.rank(); ++axis) {
    std::vector<PlaceGrid> more;
    const std::vector<Division> divisions = divisions_of(facts, axis);
    for (const PlaceGrid& grid : grids) {
      for (const Division& division : divisions) {
        if (more.size() == kMaxGrids) break;
        PlaceGrid& longer = more.emplace_back(grid);
        longer.first += division.origin * strides[axis];
        const Values& steps = division.steps;
        for (std::size_t i = steps.size() - 1; i-- > 0;) {
          longer.axes.push_back(
              {axis, steps[i + 1] / steps[i], steps[i], steps[i] * strides[axis]});
        }
      }
    }
    grids = std::move(more);
  }
  return grids;
}

}  // namespace tessera::reshard
