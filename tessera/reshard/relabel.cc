// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/relabel.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/reshard/assignment.h"
#include "tessera/reshard/cost.h"
#include "tessera/reshard/overlap.h"
#include "tessera/reshard/seat_map.h"

namespace tessera {
namespace {

constexpr std::int64_t kMaxOverlaps = std::int64_t{1} << 20;
constexpr std::int64_t kMaxPlaces = std::int64_t{1} << 22;

/// A map from roles to seats, and how many elements it leaves where they are.
struct Choice {
  std::int64_t kept = 0;
  bool optimal = false;
  DeviceMap map;
};

bool is_stacked(const DeviceMap& map) {
  for (const Fold& fold : map.folds()) {
    for (const Cut& cut : fold.cuts) {
      if (cut.target.is_memory() && cut.count > 1) return true;
    }
  }
  return false;
}

Error not_supported(std::string message, std::string help) {
  return Error{ErrorCode::kNotSupported, std::move(message), std::nullopt, std::move(help)};
}

/// B with a device map of its own choice.
Result<Placement> with_map(const Placement& to, const DeviceMap& map) {
  if (const Layout* layout = to.layout()) {
    LayoutSpec spec = layout->spec();
    spec.device_map = map;
    TESSERA_TRY(Layout made, Layout::make(std::move(spec)));
    return Placement(std::move(made));
  }
  if (const View* view = to.view()) {
    LayoutSpec spec;
    spec.form = view->form();
    spec.dtype = view->dtype();
    spec.atom = view->atom();
    spec.device_map = map;
    spec.slots = view->slots();
    Result<Layout> made = Layout::make(std::move(spec));
    if (!made) {
      return not_supported(
          cat("B is a view, which has no device map, and no layout: ", made.error().message),
          "relabel the layout that the view is of");
    }
    return Placement(*std::move(made));
  }
  std::vector<LayoutPiece> pieces;
  for (const LayoutPiece& piece : to.pieces()->pieces()) {
    LayoutSpec spec = piece.layout.spec();
    spec.device_map = map;
    TESSERA_TRY(Layout made, Layout::make(std::move(spec)));
    pieces.push_back({piece.box, std::move(made)});
  }
  TESSERA_TRY(Piecewise made, Piecewise::by_rule(to.shape(), std::move(pieces)));
  return Placement(std::move(made));
}

/// B has one device map, and one virtual place for each physical one.
Status check_movable(const Placement& to) {
  const DeviceMap* first = nullptr;
  for (const FormPiece& piece : form_pieces(to)) {
    if (piece.device_map == nullptr) continue;
    if (is_stacked(*piece.device_map)) {
      return not_supported("B's device map stacks several virtual places on one physical place",
                           "relabel layouts whose places are not stacked");
    }
    if (first != nullptr && !(*first == *piece.device_map)) {
      return not_supported("the pieces of B have different device maps",
                           "relabel placements whose pieces share one");
    }
    first = piece.device_map;
  }
  return ok_status();
}

// ---- By axis ------------------------------------------------------------------------------------

/// The seats from which roles along one axis may choose, the role's own at its number where the
/// axis stays on the axis of the ground that it is on.
std::vector<std::int64_t> candidates(const AxisOverlap& along, const AxisSeats& own,
                                     std::size_t axis, Seats seats) {
  const auto beside = static_cast<std::size_t>(
      std::find(own.ground_axis.begin(), own.ground_axis.end(), along.ground_axis) -
      own.ground_axis.begin());
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
  std::vector<std::int64_t> coords;  // one a role
  std::int64_t kept = 0;
  // What any map keeps is at most the product over the axes of either.
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
  TESSERA_TRY(const Assignment best, assign(roles, coords.size(), std::move(worths)));
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
                const std::vector<std::vector<std::int64_t>>& coords, const Ground& ground) {
  if (ground.dead.empty()) return false;
  std::vector<std::vector<std::int64_t>> sorted = coords;
  for (std::vector<std::int64_t>& list : sorted) std::sort(list.begin(), list.end());
  return std::any_of(ground.dead.begin(), ground.dead.end(), [&](std::int64_t number) {
    const Place place = ground.mesh.delinear(number);
    for (std::size_t j = 0; j < sorted.size(); ++j) {
      if (!std::binary_search(sorted[j].begin(), sorted[j].end(), place[axis_of[j]])) return false;
    }
    return true;
  });
}

Result<std::optional<Choice>> by_axis(const ProductOverlap& product, const AxisSeats& own,
                                      const Shape& mesh, const Ground& ground, Seats seats) {
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
    axis_of.push_back(along.ground_axis);
    coords.push_back(std::move(best->coords));
  }
  if (meets_dead(axis_of, coords, ground)) return std::optional<Choice>();
  choice.optimal = searched && choice.kept == std::min(by_roles.saturated(), by_seats.saturated());
  TESSERA_TRY(choice.map, map_of_axes(mesh, ground.mesh, axis_of, coords));
  return std::optional(std::move(choice));
}

/// Elements that stay where they are with B as it is. Where axis j of the mesh is beside the axis
/// of the ground that it runs along, roles and seats are told apart axis by axis; where two axes
/// are exchanged, every entry of the one determines what is wanted of the other.
std::optional<std::int64_t> kept_now(const ProductOverlap& product, const AxisSeats& own) {
  bool straight = true;
  for (std::size_t j = 0; j < product.axes.size(); ++j) {
    straight = straight && product.axes[j].ground_axis == own.ground_axis[j];
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
  std::unordered_map<std::int64_t, std::int64_t> role_at;  // of axis 1, by its coordinate
  for (std::size_t v = 0; v < own.coords[1].size(); ++v) {
    role_at[own.coords[1][v]] = static_cast<std::int64_t>(v);
  }
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> held;
  for (const AxisEntry& entry : product.axes[1].held) held[{entry.role, entry.seat}] = entry.count;
  std::int64_t kept = 0;
  for (const AxisEntry& entry : product.axes[0].held) {
    const auto role = role_at.find(entry.seat);
    if (role == role_at.end()) continue;
    const std::int64_t seat = own.coords[0][static_cast<std::size_t>(entry.role)];
    if (const auto other = held.find({role->second, seat}); other != held.end()) {
      kept += entry.count * other->second;
    }
  }
  return kept * product.rest;
}

// ---- By place -----------------------------------------------------------------------------------

/// Every (role, place, elements) of all parts, each pair once; nothing when there are too many.
using Pairs = std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>>;

std::optional<Pairs> list_pairs(const Reshard& reshard, const std::vector<Overlap>& overlaps) {
  Checked listed = 0;
  for (const Overlap& overlap : overlaps) listed += Checked(overlap.choices()) * overlap.copies();
  if (listed.saturated() > kMaxOverlaps) return std::nullopt;
  Pairs pairs;
  for (std::size_t p = 0; p < overlaps.size(); ++p) {
    const PlaceMap& map = reshard.parts()[p].map_a;
    for_each_overlap(overlaps[p], [&](std::int64_t a, std::int64_t b, std::int64_t count) {
      for (const std::int64_t place : holders(overlaps[p], map, a)) {
        pairs.emplace_back(b, place, count);
      }
    });
  }
  std::sort(pairs.begin(), pairs.end());
  std::size_t kept = 0;
  for (std::size_t i = 1; i < pairs.size(); ++i) {
    auto& [role, place, count] = pairs[kept];
    if (std::get<0>(pairs[i]) == role && std::get<1>(pairs[i]) == place) {
      count += std::get<2>(pairs[i]);
    } else {
      pairs[++kept] = pairs[i];
    }
  }
  if (!pairs.empty()) pairs.resize(kept + 1);
  return pairs;
}

std::int64_t kept_now(const Pairs& pairs, const PlaceMap& map) {
  std::int64_t kept = 0;
  for (const auto& [role, place, count] : pairs) kept += map.physical(role) == place ? count : 0;
  return kept;
}

Result<Choice> by_place(const Pairs& pairs, const PlaceMap& map, const Ground& ground,
                        Seats seats) {
  const auto roles = static_cast<std::size_t>(map.mesh().elements());
  std::vector<std::int64_t> places;
  std::unordered_map<std::int64_t, std::int32_t> column;
  const auto seat = [&](std::int64_t place) {
    const auto [found, added] = column.emplace(place, static_cast<std::int32_t>(places.size()));
    if (added) places.push_back(place);
    return found->second;
  };
  for (std::size_t v = 0; v < roles; ++v) seat(map.physical(static_cast<std::int64_t>(v)));
  std::vector<Worth> worths;
  for (const auto& [role, place, count] : pairs) {
    if (seats == Seats::kOfB && !column.contains(place)) continue;
    worths.push_back({static_cast<std::int32_t>(role), seat(place), count});
  }
  TESSERA_TRY(const Assignment best, assign(roles, places.size(), std::move(worths)));
  Choice choice;
  choice.kept = best.weight;
  choice.optimal = best.optimal;
  std::vector<std::int64_t> chosen;
  for (const std::int32_t c : best.column_of) chosen.push_back(places[static_cast<std::size_t>(c)]);
  TESSERA_TRY(choice.map, map_of_places(map.mesh(), ground.mesh, chosen));
  return choice;
}

Result<std::int64_t> wanted_in_all(const std::vector<Overlap>& overlaps) {
  Checked wanted = 0;
  for (const Overlap& overlap : overlaps) {
    Checked here = 1;
    for (const OverlapFactor& factor : overlap.factors) {
      Checked sum = 0;
      for (const OverlapEntry& entry : factor) sum += entry.count;
      here *= sum;
    }
    wanted += here;
  }
  return wanted.value("the elements that B holds");
}

/// Elements in bytes. Those that are no whole bytes round up once a message, so the messages are
/// looked at; where rounding takes back what was saved, B stays as it is.
Status count_bytes(const Reshard& reshard, Relabelled& answer) {
  if (reshard.byte_rate().denominator == 1) {
    answer.bytes_before = reshard.bytes(answer.elements_before);
    answer.bytes_after = reshard.bytes(answer.elements_after);
    return ok_status();
  }
  TESSERA_TRY(const ReshardCost before, cost_of(reshard));
  answer.bytes_before = answer.bytes_after = before.bytes;
  if (!answer.changed) return ok_status();
  TESSERA_TRY(const Reshard moved, Reshard::make(reshard.from(), answer.to, reshard.ground()));
  TESSERA_TRY(const ReshardCost after, cost_of(moved));
  if (after.bytes <= before.bytes) {
    answer.bytes_after = after.bytes;
    return ok_status();
  }
  answer.to = reshard.to();
  answer.changed = false;
  answer.optimal = false;
  answer.elements_after = answer.elements_before;
  return ok_status();
}

}  // namespace

Result<Relabelled> relabel(const Reshard& reshard, Seats seats) {
  TESSERA_CHECK_OK(check_movable(reshard.to()));
  Relabelled answer{.to = reshard.to()};
  answer.optimal = true;
  if (reshard.parts().empty()) return answer;
  const Ground& ground = reshard.ground();
  const ReshardPart& first = reshard.parts().front();
  std::vector<Overlap> overlaps;
  for (const ReshardPart& part : reshard.parts()) {
    TESSERA_TRY(Overlap overlap, overlap_of(part));
    overlaps.push_back(std::move(overlap));
  }
  TESSERA_TRY(const std::int64_t wanted, wanted_in_all(overlaps));

  std::optional<std::int64_t> kept;  // with B as it is
  std::optional<Choice> best;
  const std::optional<AxisSeats> own = axis_seats(first.map_b, ground);
  if (own && overlaps.size() == 1) {
    if (const auto product = product_overlap(first, overlaps.front(), ground, std::nullopt)) {
      kept = kept_now(*product, *own);
      TESSERA_TRY(best, by_axis(*product, *own, first.map_b.mesh(), ground, seats));
    }
  }
  if (!kept || !best || !best->optimal) {
    const std::optional<Pairs> pairs =
        first.map_b.mesh().elements() <= kMaxPlaces ? list_pairs(reshard, overlaps) : std::nullopt;
    if (pairs) {
      kept = kept_now(*pairs, first.map_b);
      TESSERA_TRY(Choice choice, by_place(*pairs, first.map_b, ground, seats));
      if (!best || choice.kept > best->kept) {
        best = std::move(choice);
      } else {
        best->optimal = choice.optimal;
      }
    } else if (!kept) {
      return Error{ErrorCode::kTooLarge,
                   cat("more than ", kMaxOverlaps,
                       " pairs of places share elements, and they are no product of rows and "
                       "columns"),
                   std::nullopt, "relabel layouts of fewer places, or with a dim for each axis"};
    }
  }
  // Where rows and columns cannot be exchanged on these seats and places are too many to list, B
  // stays as it is.
  answer.optimal = best && best->optimal;
  answer.elements_before = wanted - *kept;
  answer.elements_after = wanted - (best ? std::max(*kept, best->kept) : *kept);
  if (best && best->kept > *kept) {
    TESSERA_TRY(answer.to, with_map(reshard.to(), best->map));
    answer.changed = true;
  }
  TESSERA_CHECK_OK(count_bytes(reshard, answer));
  return answer;
}

}  // namespace tessera
