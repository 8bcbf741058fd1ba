// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/testing/notation/refusal_checks.h"

/// The checks of steps between elements, of cuts, and of dims on the mesh.
namespace tessera::test {
namespace {

/// The positions of neighbours along a dim, pair by pair.
std::vector<std::pair<const RulePosition*, const RulePosition*>> neighbours(
    const Positions& positions, std::size_t dim) {
  std::vector<std::pair<const RulePosition*, const RulePosition*>> pairs;
  if (dim >= positions.shape.size()) return pairs;
  for (std::size_t i = 0; i < positions.indices.size(); ++i) {
    Numbers next = positions.indices[i];
    if (++next[dim] < positions.shape[dim])
      pairs.emplace_back(&positions.positions[i], &positions.at(next));
  }
  return pairs;
}

/// Whether any step from an element to the next along the dim on the same places has this many
/// slots.
bool has_step(const Positions& positions, std::size_t dim, std::int64_t slots) {
  if (dim >= positions.shape.size()) return false;
  for (std::size_t i = 0; i < positions.indices.size(); ++i) {
    Numbers next = positions.indices[i];
    while (++next[dim] < positions.shape[dim] &&
           positions.at(next).places != positions.positions[i].places) {
    }
    if (next[dim] == positions.shape[dim]) continue;
    if (positions.at(next).slot - positions.positions[i].slot == slots) return true;
  }
  return false;
}

/// Whether two elements that differ along one dim alone are that many slots apart.
bool has_distance(const Positions& positions, std::size_t dim, std::int64_t slots) {
  if (dim >= positions.shape.size()) return false;
  for (std::size_t i = 0; i < positions.indices.size(); ++i) {
    Numbers next = positions.indices[i];
    while (++next[dim] < positions.shape[dim]) {
      if (positions.at(next).slot - positions.positions[i].slot == slots) return true;
    }
  }
  return false;
}

/// Whether any two elements are that many slots apart.
bool any_distance(const Positions& positions, std::int64_t slots) {
  return std::any_of(positions.held.begin(), positions.held.end(), [&](const auto& cell) {
    return positions.held.count({cell.first.first, cell.first.second + slots}) > 0;
  });
}

/// The coordinates on a mesh axis of the elements along a dim, the other indices being 0.
std::set<std::int64_t> coordinates_along(const Positions& positions, std::size_t dim,
                                         std::size_t axis) {
  std::set<std::int64_t> coordinates;
  if (dim >= positions.shape.size() || axis >= positions.mesh.size()) return coordinates;
  for (std::int64_t x = 0; x < positions.shape[dim]; ++x) {
    Numbers index(positions.shape.size(), 0);
    index[dim] = x;
    coordinates.insert(positions.at(index).places.front()[axis]);
  }
  return coordinates;
}

}  // namespace

Mistake allocates_part_of_step(const Refused& refused, const Facts& facts) {
  if (!has_step(refused.positions, facts.dim("dim"), facts["step"])) return "no step is so long";
  if (facts["slots"] % facts["step"] == 0) return "they divide";
  return refused.positions.slots == facts["slots"] ? "" : cat("it has ", refused.positions.slots);
}

Mistake runs_downward(const Refused& refused, const Facts& facts) {
  for (const auto& [here, next] : neighbours(refused.positions, facts.dim("dim"))) {
    if (next->places < here->places || next->slot < here->slot) return {};
  }
  return "every step goes onward";
}

Mistake steps_down(const Refused& refused, const Facts& facts) {
  if (facts["step"] >= 0) return "that is upward";
  const bool found = has_distance(refused.positions, facts.dim("dim"), facts["step"]);
  return found ? "" : "no step is so long";
}

Mistake steps_along(const Refused& refused, const Facts& facts) {
  return has_step(refused.positions, facts.dim("dim"), facts["step"]) ? "" : "no step is so long";
}

Mistake steps_in_another_order(const Refused& refused, const Facts& facts) {
  for (const auto& [dim_name, step_name] :
       {std::pair("dim", "step"), std::pair("inner_dim", "inner_step")}) {
    const std::size_t dim = facts.dim(dim_name);
    const std::int64_t step = facts[step_name];
    const auto pairs = neighbours(refused.positions, dim);
    const bool moves = std::any_of(pairs.begin(), pairs.end(), [&](const auto& pair) {
      return pair.second->slot - pair.first->slot == step;
    });
    if (!moves && !has_step(refused.positions, dim, step)) {
      return cat("no step of dim ", dim, " is ", step);
    }
  }
  return {};
}

Mistake steps_do_not_divide(const Refused& refused, const Facts& facts) {
  if (facts["outer_step"] % facts["step"] == 0) return "they do";
  return any_distance(refused.positions, facts["step"]) ? "" : "no elements are so far apart";
}

Mistake steps_do_not_fit(const Refused& refused, const Facts& facts) {
  if (facts["steps"] * facts["step"] <= facts["outer_step"]) return "they fit";
  return any_distance(refused.positions, facts["step"]) ? "" : "no elements are so far apart";
}

Mistake leaves_slots_empty(const Refused& refused, const Facts& facts) {
  const Positions& positions = refused.positions;
  if (facts["empty"] + 1 != facts["period"]) return "one of them must be left";
  for (const RulePosition& position : positions.positions) {
    if (position.slot % facts["period"] != 0) return cat("slot ", position.slot, " is not");
  }
  // A blocked dim of extent 1 would hold them; one whose digits are all slower would too.
  return std::count(positions.shape.begin(), positions.shape.end(), 1) == 0 ? ""
                                                                            : "there is such a dim";
}

/// The position along one dim depends on the other.
Mistake are_entangled(const Refused& refused, const Facts& facts) {
  const Positions& positions = refused.positions;
  const Numbers dims = facts.numbers("dims");
  const auto rank = static_cast<std::int64_t>(positions.shape.size());
  if (dims.size() != 2 || dims[0] == dims[1] || std::min(dims[0], dims[1]) < 0 ||
      std::max(dims[0], dims[1]) >= rank) {
    return "no such dims";
  }
  const auto a = static_cast<std::size_t>(dims[0]);
  const auto b = static_cast<std::size_t>(dims[1]);
  const auto far = [](const RulePosition& from, const RulePosition& to) {
    Numbers step = {to.slot - from.slot};
    for (std::size_t axis = 0; axis < from.places.front().size(); ++axis) {
      step.push_back(to.places.front()[axis] - from.places.front()[axis]);
    }
    return step;
  };
  // A step along a that depends on the position along b.
  for (const Numbers& index : positions.indices) {
    if (index[a] == 0 || index[b] == 0) continue;
    Numbers without_a = index;
    Numbers without_b = index;
    Numbers without = index;
    without_a[a] = without_b[b] = without[a] = without[b] = 0;
    if (far(positions.at(without), positions.at(without_b)) !=
        far(positions.at(without_a), positions.at(index))) {
      return {};
    }
  }
  return "neither depends on the other";
}

Mistake leaves_a_rest(const Refused& refused, const Facts& facts) {
  const std::size_t dim = facts.dim("dim");
  if (dim >= refused.positions.shape.size()) return cat("there is no dim ", dim);
  if (refused.positions.shape[dim] < facts["elements"])
    return cat("it has ", refused.positions.shape[dim]);
  return facts["elements"] % facts["width"] != 0 ? "" : "nothing is left over";
}

Mistake blocks_do_not_divide(const Refused&, const Facts& facts) {
  return facts["block"] % facts["inner"] != 0 ? "" : "they divide";
}

Mistake dims_share_axis(const Refused& refused, const Facts& facts) {
  const std::size_t axis = facts.dim("axis");
  if (axis >= refused.positions.mesh.size()) return cat("there is no axis ", axis);
  const Numbers dims = facts.numbers("dims");
  if (dims.size() != 2 || dims[0] == dims[1]) return "those are not two dims";
  for (const std::int64_t dim : dims) {
    const auto pairs = neighbours(refused.positions, static_cast<std::size_t>(dim));
    const bool moves = std::any_of(pairs.begin(), pairs.end(), [&](const auto& pair) {
      return pair.first->places.front()[axis] != pair.second->places.front()[axis];
    });
    if (!moves) return cat("dim ", dim, " does not move along it");
  }
  return {};
}

Mistake moves_in_axis_steps(const Refused& refused, const Facts& facts) {
  const auto coordinates =
      coordinates_along(refused.positions, facts.dim("dim"), facts.dim("axis"));
  for (const std::int64_t from : coordinates) {
    if (coordinates.count(from + facts["step"]) > 0) return {};
  }
  return "no two elements are so far apart";
}

Mistake is_on_both_axes(const Refused& refused, const Facts& facts) {
  const std::size_t dim = facts.dim("dim");
  const bool both = coordinates_along(refused.positions, dim, 0).size() > 1 &&
                    coordinates_along(refused.positions, dim, 1).size() > 1;
  return both ? "" : "it is spread over one axis at most";
}

Mistake has_another_grid_rank(const Refused& refused, const Facts& facts) {
  const auto rank = static_cast<std::int64_t>(refused.positions.mesh.size());
  if (rank != 0 && rank != facts["grid_rank"]) return cat("the grid is of rank ", rank);
  return facts["grid_rank"] != facts["lines"] ? "" : "they agree";
}

Mistake only_searched(const Refused&, const Facts&) { return {}; }

}  // namespace tessera::test
