// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/rank_padding.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tessera {
namespace {

/// More work than this costs more than writing all of the memory first.
constexpr std::int64_t kMostPlaces = std::int64_t{1} << 22;
constexpr std::size_t kMostFills = 4096;

/// Adds what `nest` fills on the places of one rank; false when that is too much to list.
bool add_own(const FillNest& nest, const RankSide& side, std::int64_t& visited,
             std::vector<FillNest>& fills) {
  FillNest own;
  own.at.slot = nest.at.slot;
  std::vector<FillLoop> over_places;
  for (const FillLoop& loop : nest.loops) {
    (loop.step.place != 0 ? over_places : own.loops).push_back(loop);
  }
  std::vector<std::int64_t> positions;
  std::vector<std::int64_t> digits(over_places.size(), 0);
  std::int64_t place = nest.at.place;
  for (bool more = true; more;) {
    if (++visited > kMostPlaces) return false;
    const std::int64_t position = side.position(place);
    if (position < side.memory.mesh.elements() &&
        side.places[static_cast<std::size_t>(position)] == place) {
      positions.push_back(position);
    }
    more = false;
    for (std::size_t i = digits.size(); i-- > 0 && !more;) {
      place += over_places[i].step.place;
      more = ++digits[i] < over_places[i].extent;
      if (!more) {
        place -= over_places[i].step.place * over_places[i].extent;
        digits[i] = 0;
      }
    }
  }
  std::sort(positions.begin(), positions.end());
  for (std::size_t i = 0; i < positions.size();) {
    std::size_t end = i + 1;
    while (end < positions.size() && positions[end] == positions[end - 1] + 1) ++end;
    own.at.place = positions[i];
    fills.push_back(own);
    fills.back().loops.insert(fills.back().loops.begin(),
                              {static_cast<std::int64_t>(end - i), {1, 0}});
    i = end;
  }
  return fills.size() <= kMostFills;
}

}  // namespace

Result<std::optional<Plan>> rank_padding(const Placement& to, const RankSide& side,
                                         PaddingRule rule) {
  Program program = padding_program(to, rule);
  if (program.fills.empty() || side.memory.elements() == 0) return std::optional<Plan>();
  bool listed = !program.fills_all;
  std::vector<FillNest> fills;
  std::int64_t visited = 0;
  for (const FillNest& nest : program.fills) {
    if (!listed) break;
    listed = add_own(nest, side, visited, fills);
  }
  if (!listed) {
    fills = {{{}, {{side.memory.mesh.elements(), {1, 0}}, {side.memory.slots, {0, 1}}}}};
    program.fills_all = true;
  }
  if (fills.empty()) return std::optional<Plan>();
  program.fills = std::move(fills);
  program.to = side.memory;
  TESSERA_TRY(Plan plan, Plan::make(std::move(program)));
  return std::optional<Plan>(std::move(plan));
}

}  // namespace tessera
