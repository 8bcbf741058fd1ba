// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "tessera/reshard/collectives/axis_table.h"
#include "tessera/reshard/collectives/changes.h"
#include "tessera/reshard/collectives/collective.h"
#include "tessera/reshard/collectives/grids.h"
#include "tessera/reshard/collectives/place_facts.h"
#include "tessera/reshard/collectives/step_sizes.h"
#include "tessera/reshard/flows/part_facts.h"
#include "tessera/reshard/reshard.h"

namespace tessera::reshard {
namespace {

using Kind = AxisState::Kind;

/// True when no share of an element crosses to another place. Where counting messages takes too
/// long, the places may still turn out to be the same along each axis of a grid.
bool nothing_crosses(const Reshard& reshard) {
  const Result<ReshardCost> cost = cost_of(reshard);
  return cost.ok() && cost->messages == 0;
}

/// True when every share of every element is already on its places, and on no others.
bool nothing_changes(const std::vector<PartFacts>& parts, const PhysicalMesh& physical) {
  return std::all_of(parts.begin(), parts.end(), [&](const PartFacts& part) {
    const Coordinates a = Coordinates::on_physical(part.a, physical);
    const Coordinates b = Coordinates::on_physical(part.b, physical);
    const Result<bool> same = same_places(part.flows, {part.a, a}, {part.b, b}, false);
    return part.part.shares.alike && same.ok() && *same;
  });
}

/// The physical places that A or B names, made when first asked for.
class NamedPlaces {
 public:
  NamedPlaces(const Reshard& reshard) : reshard_(reshard) {
    const std::int64_t places = reshard.physical().mesh.elements();
    for (const ReshardPart& part : reshard.parts()) {
      for (const PlaceMap* map : {&part.map_a, &part.map_b}) {
        all_ = all_ || (map->mesh().elements() == places && one_to_one(*map, places));
      }
    }
  }

  bool contains(std::int64_t place) {
    if (all_) return true;
    if (named_.empty()) mark();
    return named_[static_cast<std::size_t>(place)];
  }

 private:
  void mark() {
    named_.assign(static_cast<std::size_t>(reshard_.physical().mesh.elements()), false);
    const PlaceMap* last = nullptr;
    for (const ReshardPart& part : reshard_.parts()) {
      for (const PlaceMap* map : {&part.map_a, &part.map_b}) {
        if (last != nullptr && *last == *map) continue;
        last = map;
        for (std::int64_t v = 0; v < map->mesh().elements(); ++v) {
          named_[static_cast<std::size_t>(map->physical(v))] = true;
        }
      }
    }
  }

  const Reshard& reshard_;
  bool all_ = false;
  std::vector<bool> named_;
};

/// The member at which an axis is fixed, before or after.
std::int64_t root_of(const AxisTable& table, const Change& change, const Stage& stage) {
  std::int64_t root = 0;
  for (const std::size_t k : change.axes) {
    const AxisState& state = table.state(stage[k], k);
    root = root * table.grid.axes[k].count + (state.kind == Kind::kFixed ? state.value : 0);
  }
  return root;
}

Collective collective_of(const std::shared_ptr<const AxisTable>& table, const Change& change) {
  Collective step;
  step.kind = change.kind;
  step.axes = change.axes;
  step.reduction = table->reduction;
  step.grid = table->grid;
  step.first = table->grid.first;
  step.moves = change.moves;
  std::vector<std::size_t> group_axes;
  for (std::size_t k = 0; k < table->axes(); ++k) {
    const GridAxis& axis = table->grid.axes[k];
    const AxisState& state = table->state(change.before[k], k);
    if (std::binary_search(change.axes.begin(), change.axes.end(), k)) {
      step.member_axes.push_back(axis);
      step.members *= axis.count;
    } else if (state.kind == Kind::kFixed) {
      step.first += state.value * axis.stride;
    } else {
      group_axes.push_back(k);
      step.group_axes.push_back(axis);
      step.groups *= axis.count;
    }
  }
  const bool from_root =
      change.kind == CollectiveKind::kBroadcast || change.kind == CollectiveKind::kScatter;
  const bool to_root =
      change.kind == CollectiveKind::kReduce || change.kind == CollectiveKind::kGather;
  if (from_root) step.root = root_of(*table, change, change.before);
  if (to_root) step.root = root_of(*table, change, change.after);
  auto sizes = std::make_shared<StepSizes>(table, change, group_axes, change.axes);
  step.before = sizes->held(false);
  step.after = sizes->held(true);
  step.sizes = std::move(sizes);
  return step;
}

/// True when every place of the step is on the mesh, and A or B names it. Members of a permute that
/// have nothing and get nothing take no part.
bool stays_on(const Collective& step, NamedPlaces& named) {
  Place most = step.grid.mesh.rank() == 0 ? Place() : step.grid.mesh.delinear(step.first);
  for (const std::vector<GridAxis>* axes : {&step.group_axes, &step.member_axes}) {
    for (const GridAxis& axis : *axes) most[axis.mesh_axis] += (axis.count - 1) * axis.step;
  }
  if (!step.grid.mesh.contains(most)) return false;
  std::vector<bool> takes_part(static_cast<std::size_t>(step.members), step.moves.empty());
  for (std::size_t m = 0; m < step.moves.size(); ++m) {
    if (step.moves[m] < 0) continue;
    takes_part[m] = true;
    takes_part[static_cast<std::size_t>(step.moves[m])] = true;
  }
  for (std::int64_t group = 0; group < step.groups; ++group) {
    for (std::int64_t member = 0; member < step.members; ++member) {
      if (!takes_part[static_cast<std::size_t>(member)]) continue;
      if (!named.contains(step.place(group, member))) return false;
    }
  }
  return true;
}

/// Simpler answers come first: fewer steps that communicate, fewer steps, fewer places that take
/// part in them, fewer axes.
auto complexity(const Collectives& answer) {
  std::size_t communicate = 0;
  std::int64_t places = 0;
  for (const Collective& step : answer.steps) {
    if (step.kind == CollectiveKind::kSlice) continue;
    ++communicate;
    places += step.groups * step.members;
  }
  return std::tuple(communicate, answer.steps.size(), places, answer.grid.axes.size());
}

/// True when a step has a member that holds nothing in any group, before or after. Only small steps
/// are examined.
bool has_idle_members(const Collectives& answer) {
  constexpr std::int64_t kMaxExamined = 4096;
  return std::any_of(answer.steps.begin(), answer.steps.end(), [](const Collective& step) {
    if (!step.moves.empty() || step.groups * step.members > kMaxExamined) return false;
    for (std::int64_t m = 0; m < step.members; ++m) {
      bool idle = true;
      for (std::int64_t g = 0; g < step.groups && idle; ++g) {
        idle = step.elements_before(g, m) == 0 && step.elements_after(g, m) == 0;
      }
      if (idle) return true;
    }
    return false;
  });
}

void keep_simplest(const PlaceFacts& facts, NamedPlaces& named, std::optional<Collectives>& best) {
  for (const PlaceGrid& grid : grids_of(facts)) {
    std::optional<AxisTable> made = axis_table(facts, grid);
    if (!made) continue;
    join_axes(*made);
    const auto table = std::make_shared<const AxisTable>(*std::move(made));
    const std::optional<std::vector<Change>> changes = changes_of(*table);
    if (!changes) continue;
    Collectives answer{table->grid, {}};
    for (const Change& change : *changes) answer.steps.push_back(collective_of(table, change));
    if (best && complexity(*best) <= complexity(answer)) continue;
    const bool stays = std::all_of(answer.steps.begin(), answer.steps.end(),
                                   [&](const Collective& step) { return stays_on(step, named); });
    if (stays) best = std::move(answer);
  }
}

}  // namespace

Result<std::optional<Collectives>> collectives_of(const Reshard& reshard) {
  const PhysicalMesh& physical = reshard.physical();
  std::optional<Collectives> best;
  std::vector<PartFacts> parts;
  for (const ReshardPart& part : reshard.parts()) {
    TESSERA_TRY(PartFacts facts, facts_of(part, physical));
    parts.push_back(std::move(facts));
  }
  const Collectives no_steps{{physical.mesh, 0, {}, {}}, {}};
  if (nothing_changes(parts, physical)) return best = no_steps;
  NamedPlaces named(reshard);
  const bool listed = !parts.front().a.map.separable() || !parts.front().b.map.separable();
  std::optional<Error> too_large;
  bool compared = false;
  for (const Numbering numbering :
       {Numbering::kPhysical, Numbering::kMeshOfA, Numbering::kMeshOfB, Numbering::kUsedPlaces}) {
    const bool may_be_simpler =
        numbering == Numbering::kUsedPlaces ? best && has_idle_members(*best) : listed;
    if (best && !may_be_simpler) continue;
    const Result<std::optional<PlaceFacts>> facts = place_facts(parts, physical, numbering);
    if (!facts) {
      too_large = facts.error();
    } else if (*facts) {
      compared = true;
      keep_simplest(**facts, named, best);
    }
  }
  if (!best && nothing_crosses(reshard)) return best = no_steps;
  if (!compared && too_large) return *too_large;
  return best;
}

}  // namespace tessera::reshard
