// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/reshard/chunks.h"
#include "tessera/reshard/overlap.h"

namespace tessera {
namespace {

constexpr std::int64_t kMaxOverlaps = std::int64_t{1} << 22;

/// The most elements that a place receives, and the first such place.
struct Most {
  std::int64_t elements = 0;
  std::int64_t place = -1;

  void see(std::int64_t received, std::int64_t at) {
    if (received < elements || received == 0) return;
    if (received == elements && place >= 0 && place < at) return;
    elements = received;
    place = at;
  }
};

/// What roles along one axis want and have, each distinct pair once with its first coordinate.
struct AxisClass {
  std::int64_t wanted = 0;
  std::int64_t kept = 0;
  std::int64_t seat = 0;
  friend auto operator<=>(const AxisClass&, const AxisClass&) = default;
};

std::vector<AxisClass> classes_of(const AxisOverlap& along,
                                  const std::vector<std::int64_t>& coords) {
  std::vector<AxisClass> classes(along.wants.size());
  for (std::size_t v = 0; v < classes.size(); ++v) classes[v] = {along.wants[v], 0, coords[v]};
  for (const AxisEntry& entry : along.held) {
    AxisClass& role = classes[static_cast<std::size_t>(entry.role)];
    if (entry.seat == role.seat) role.kept = entry.count;
  }
  std::sort(classes.begin(), classes.end());
  const auto alike = [](const AxisClass& x, const AxisClass& y) {
    return x.wanted == y.wanted && x.kept == y.kept;
  };
  classes.erase(std::unique(classes.begin(), classes.end(), alike), classes.end());
  return classes;
}

/// By classes of the axes: rest·(Π wanted - Π kept) for one place of each.
std::optional<Most> by_axis(const ProductOverlap& product, const AxisSeats& own,
                            const Ground& ground) {
  std::vector<std::vector<AxisClass>> axes;
  Checked combinations = 1;
  for (std::size_t j = 0; j < product.axes.size(); ++j) {
    axes.push_back(classes_of(product.axes[j], own.coords[j]));
    combinations *= static_cast<std::int64_t>(axes.back().size());
  }
  if (combinations.saturated() > kMaxOverlaps) return std::nullopt;
  Most most;
  for (std::int64_t i = 0; i < combinations.raw(); ++i) {
    std::int64_t left = i;
    std::int64_t wanted = product.rest;
    std::int64_t kept = product.rest;
    Place place(axes.size(), 0);
    for (std::size_t j = axes.size(); j-- > 0;) {
      const auto classes = static_cast<std::int64_t>(axes[j].size());
      const AxisClass& role = axes[j][static_cast<std::size_t>(left % classes)];
      left /= classes;
      wanted *= role.wanted;
      kept *= role.kept;
      place[own.ground_axis[j]] = role.seat;
    }
    most.see(wanted - kept, ground.mesh.linear(place));
  }
  return most;
}

/// Where two axes are exchanged few places have anything. Those are looked at one by one; of the
/// others the first along each line of falling wants is enough.
std::optional<Most> by_exchanged_axes(const ProductOverlap& product, const AxisSeats& own,
                                      const Ground& ground) {
  if (product.axes.size() != 2) return std::nullopt;
  const auto kept = kept_where_exchanged(product, own);
  const auto number = [&](std::int64_t v0, std::int64_t v1) {
    Place place(2, 0);
    place[own.ground_axis[0]] = own.coords[0][static_cast<std::size_t>(v0)];
    place[own.ground_axis[1]] = own.coords[1][static_cast<std::size_t>(v1)];
    return ground.mesh.linear(place);
  };
  const std::vector<std::int64_t>& wants0 = product.axes[0].wants;
  const std::vector<std::int64_t>& wants1 = product.axes[1].wants;
  Most most;
  for (const auto& [roles, elements] : kept) {
    const std::int64_t wanted = product.rest * wants0[static_cast<std::size_t>(roles.first)] *
                                wants1[static_cast<std::size_t>(roles.second)];
    most.see(wanted - elements, number(roles.first, roles.second));
  }
  std::vector<std::int64_t> falling(wants1.size());
  std::iota(falling.begin(), falling.end(), 0);
  std::sort(falling.begin(), falling.end(), [&](std::int64_t x, std::int64_t y) {
    const std::int64_t wx = wants1[static_cast<std::size_t>(x)];
    const std::int64_t wy = wants1[static_cast<std::size_t>(y)];
    return wx != wy ? wx > wy : x < y;
  });
  for (std::size_t v0 = 0; v0 < wants0.size(); ++v0) {
    const auto role0 = static_cast<std::int64_t>(v0);
    for (const std::int64_t role1 : falling) {
      if (kept.contains({role0, role1})) continue;
      most.see(product.rest * wants0[v0] * wants1[static_cast<std::size_t>(role1)],
               number(role0, role1));
      break;
    }
  }
  return most;
}

/// Place by place, over all parts.
Result<Most> by_place(const Reshard& reshard, const std::vector<Overlap>& overlaps) {
  Checked listed = 0;
  for (const Overlap& overlap : overlaps) listed += Checked(overlap.choices()) * overlap.copies();
  if (listed.saturated() > kMaxOverlaps) {
    return Error{
        ErrorCode::kTooLarge,
        cat("what each place receives takes more than ", kMaxOverlaps, " pairs of places to count"),
        std::nullopt, "use layouts of fewer places, or with a dim for each mesh axis"};
  }
  std::unordered_map<std::int64_t, std::int64_t> received;
  for (std::size_t p = 0; p < overlaps.size(); ++p) {
    const ReshardPart& part = reshard.parts()[p];
    for_each_overlap(overlaps[p], [&](std::int64_t a, std::int64_t b, std::int64_t count) {
      const std::int64_t place = part.map_b.physical(b);
      const std::vector<std::int64_t> places = holders(overlaps[p], part.map_a, a);
      if (!std::binary_search(places.begin(), places.end(), place)) received[place] += count;
    });
  }
  Most most;
  for (const auto& [place, elements] : received) most.see(elements, place);
  return most;
}

}  // namespace

Result<MostReceived> most_received(const Reshard& reshard) {
  std::vector<Overlap> overlaps;
  for (const ReshardPart& part : reshard.parts()) {
    TESSERA_TRY(Overlap overlap, overlap_of(part));
    overlaps.push_back(std::move(overlap));
  }
  std::optional<Most> most;
  if (overlaps.size() == 1) {
    const ReshardPart& part = reshard.parts().front();
    const Ground& ground = reshard.ground();
    if (const auto own = axis_seats(part.map_b, ground)) {
      const auto product = product_overlap(part, overlaps.front(), ground, own->ground_axis);
      if (product) {
        most = by_axis(*product, *own, ground);
      } else if (const auto other = product_overlap(part, overlaps.front(), ground, std::nullopt)) {
        most = by_exchanged_axes(*other, *own, ground);
      }
    }
  }
  if (!most) {
    TESSERA_TRY(most, by_place(reshard, overlaps));
  }
  return MostReceived{reshard.bytes(most->elements), most->place};
}

}  // namespace tessera
