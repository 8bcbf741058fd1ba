// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/reshard/relabelling/assignment.h"
#include "tessera/reshard/relabelling/relabel_choice.h"
#include "tessera/reshard/relabelling/seat_map.h"

namespace tessera::reshard {
namespace {

/// The seats from which roles along one axis may choose. If the axis stays on its axis of the
/// physical mesh, the seat with a role's number is its own.
std::vector<std::int64_t> candidates(const AxisOverlap& along, const AxisSeats& own,
                                     std::size_t axis, Seats seats) {
  const auto beside = static_cast<std::size_t>(
      std::find(own.physical_axis.begin(), own.physical_axis.end(), along.physical_axis) -
      own.physical_axis.begin());
  std::vector<std::int64_t> coords = own.coords[beside == axis ? axis : beside];
  if (seats == Seats::kOfB) return coords;
  std::vector<std::int64_t> have = coords;
  std::sort(have.begin(), have.end());
  std::vector<std::int64_t> more;
  for (const AxisEntry& entry : along.held) {
    if (!std::binary_search(have.begin(), have.end(), entry.seat)) more.push_back(entry.seat);
  }
  std::sort(more.begin(), more.end());
  more.erase(std::unique(more.begin(), more.end()), more.end());
  coords.insert(coords.end(), more.begin(), more.end());
  return coords;
}

/// One axis with its best seats.
struct AxisChoice {
  std::vector<std::int64_t> coords;  // one per role
  std::int64_t kept = 0;
  // No map keeps more than the product over the axes of either of these.
  std::int64_t best_of_roles = 0;  // each role with its best seat
  std::int64_t best_of_seats = 0;  // each seat with its best role
  bool optimal = true;
};

Result<std::optional<AxisChoice>> choose_along(const AxisOverlap& along,
                                               const std::vector<std::int64_t>& coords) {
  const std::size_t roles = along.wants.size();
  if (coords.size() < roles) return std::optional<AxisChoice>();
  std::unordered_map<std::int64_t, std::int32_t> column;
  for (std::size_t c = 0; c < coords.size(); ++c) column[coords[c]] = static_cast<std::int32_t>(c);
  std::vector<Worth> worths;
  std::vector<std::int64_t> best_of_role(roles, 0);
  std::vector<std::int64_t> best_of_seat(coords.size(), 0);
  for (const AxisEntry& entry : along.held) {
    const auto seat = column.find(entry.seat);
    if (seat == column.end()) continue;
    worths.push_back({static_cast<std::int32_t>(entry.role), seat->second, entry.count});
    std::int64_t& role = best_of_role[static_cast<std::size_t>(entry.role)];
    std::int64_t& other = best_of_seat[static_cast<std::size_t>(seat->second)];
    role = std::max(role, entry.count);
    other = std::max(other, entry.count);
  }
  TESSERA_TRY(const Assignment best, assign(roles, coords.size(), worths));
  AxisChoice choice;
  choice.kept = best.weight;
  choice.optimal = best.optimal;
  for (const std::int64_t most : best_of_role) choice.best_of_roles += most;
  for (const std::int64_t most : best_of_seat) choice.best_of_seats += most;
  for (const std::int32_t c : best.column_of) {
    choice.coords.push_back(coords[static_cast<std::size_t>(c)]);
  }
  std::vector<bool> matters(roles, false);
  for (const AxisEntry& entry : along.held) {
    const auto role = static_cast<std::size_t>(entry.role);
    if (choice.coords[role] == entry.seat) matters[role] = true;
  }
  choice.coords = evenly(choice.coords, matters, coords);
  return std::optional(std::move(choice));
}

bool meets_dead(const std::vector<std::size_t>& axis_of,
                const std::vector<std::vector<std::int64_t>>& coords,
                const PhysicalMesh& physical) {
  if (physical.dead.empty()) return false;
  std::vector<std::vector<std::int64_t>> sorted = coords;
  for (std::vector<std::int64_t>& list : sorted) std::sort(list.begin(), list.end());
  return std::any_of(physical.dead.begin(), physical.dead.end(), [&](std::int64_t number) {
    const Place place = physical.mesh.delinear(number);
    for (std::size_t j = 0; j < sorted.size(); ++j) {
      if (!std::binary_search(sorted[j].begin(), sorted[j].end(), place[axis_of[j]])) return false;
    }
    return true;
  });
}

}  // namespace

Result<std::optional<Choice>> choose_by_axis(const ProductOverlap& product, const AxisSeats& own,
                                             const Shape& mesh, const PhysicalMesh& physical,
                                             Seats seats) {
  std::vector<std::size_t> axis_of;
  std::vector<std::vector<std::int64_t>> coords;
  Choice choice;
  choice.kept = product.rest;
  Checked by_roles = product.rest;
  Checked by_seats = product.rest;
  bool searched = true;
  for (std::size_t j = 0; j < product.axes.size(); ++j) {
    const AxisOverlap& along = product.axes[j];
    TESSERA_TRY(std::optional<AxisChoice> best,
                choose_along(along, candidates(along, own, j, seats)));
    if (!best) return std::optional<Choice>();
    choice.kept *= best->kept;
    by_roles *= best->best_of_roles;
    by_seats *= best->best_of_seats;
    searched = searched && best->optimal;
    axis_of.push_back(along.physical_axis);
    coords.push_back(std::move(best->coords));
  }
  if (meets_dead(axis_of, coords, physical)) return std::optional<Choice>();
  choice.optimal = searched && choice.kept == std::min(by_roles.saturated(), by_seats.saturated());
  TESSERA_TRY(choice.map, map_of_axes(mesh, physical.mesh, axis_of, coords));
  return std::optional(std::move(choice));
}

std::optional<std::int64_t> kept_by_axis(const ProductOverlap& product, const AxisSeats& own) {
  bool straight = true;
  for (std::size_t j = 0; j < product.axes.size(); ++j) {
    straight = straight && product.axes[j].physical_axis == own.physical_axis[j];
  }
  if (straight) {
    std::int64_t kept = product.rest;
    for (std::size_t j = 0; j < product.axes.size(); ++j) {
      std::int64_t along = 0;
      for (const AxisEntry& entry : product.axes[j].held) {
        const bool own_seat = own.coords[j][static_cast<std::size_t>(entry.role)] == entry.seat;
        along += own_seat ? entry.count : 0;
      }
      kept *= along;
    }
    return kept;
  }
  if (product.axes.size() != 2) return std::nullopt;
  std::int64_t kept = 0;
  for (const auto& [roles, elements] : kept_where_exchanged(product, own)) kept += elements;
  return kept;
}

}  // namespace tessera::reshard
