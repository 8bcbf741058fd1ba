// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/relabelling/seat_map.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "tessera/base/text.h"

namespace tessera::reshard {
namespace {

constexpr std::int64_t kMaxTable = std::int64_t{1} << 22;

using Coords = std::vector<std::int64_t>;

/// The fold that gives coords[v] - origin on physical axis `axis` for v of mesh axis `dim`.
struct AxisFold {
  std::optional<Fold> fold;  // empty for an axis of one place
  std::int64_t origin = 0;
};

Cut on_axis(std::int64_t width, std::int64_t count, std::size_t axis, std::int64_t stride) {
  return {width, count, Target::mesh(static_cast<int>(axis)), stride, Cause::kGrid};
}

/// origin + stride·((start + coef·v) mod n), with n values in all.
std::optional<AxisFold> rotation(const Coords& coords, int dim, std::size_t axis) {
  const auto n = static_cast<std::int64_t>(coords.size());
  const auto [low, high] = std::minmax_element(coords.begin(), coords.end());
  const std::int64_t origin = *low;
  std::int64_t stride = 0;
  for (const std::int64_t coord : coords) stride = std::gcd(stride, coord - origin);
  if ((*high - origin) / stride != n - 1) return std::nullopt;
  const auto rank = [&](std::int64_t v) {
    return (coords[static_cast<std::size_t>(v)] - origin) / stride;
  };
  const std::int64_t ahead = (rank(1) - rank(0) + n) % n;
  for (std::int64_t v = 1; v < n; ++v) {
    if ((rank(v) - rank(v - 1) + n) % n != ahead) return std::nullopt;
  }
  // Forwards or backwards, whichever wraps around less often.
  const std::int64_t coef = ahead <= n - ahead ? ahead : ahead - n;
  std::int64_t start = rank(0);
  if (coef < 0) {
    while (start + coef * (n - 1) < 0) start += n;
  }
  const std::int64_t last = std::max(start, start + coef * (n - 1));
  Fold fold;
  fold.terms = {{dim, coef}};
  fold.start = start;
  if (last >= n) fold.cuts.push_back({n, last / n + 1, Target::nothing(), 1, Cause::kGrid});
  fold.cuts.push_back(on_axis(1, n, axis, stride));
  return AxisFold{std::move(fold), origin};
}

/// origin + outer·(v div width) + inner·(v mod width).
std::optional<AxisFold> two_loops(const Coords& coords, int dim, std::size_t axis) {
  const auto n = static_cast<std::int64_t>(coords.size());
  const auto at = [&](std::int64_t v) { return coords[static_cast<std::size_t>(v)]; };
  const std::int64_t inner = at(1) - at(0);
  std::int64_t width = 1;
  while (width < n && at(width) - at(width - 1) == inner) ++width;
  if (n % width != 0 || width == n) return std::nullopt;  // even steps are a rotation by zero
  const std::int64_t outer = at(width) - at(0);
  if (inner <= 0 || outer <= 0) return std::nullopt;
  for (std::int64_t v = 0; v < n; ++v) {
    if (at(v) != at(0) + v / width * outer + v % width * inner) return std::nullopt;
  }
  Fold fold;
  fold.terms = {{dim, 1}};
  fold.cuts = {on_axis(width, (n - 1) / width + 1, axis, outer), on_axis(1, width, axis, inner)};
  return AxisFold{std::move(fold), at(0)};
}

std::optional<AxisFold> fold_of(const Coords& coords, int dim, std::size_t axis) {
  if (coords.size() == 1) return AxisFold{std::nullopt, coords.front()};
  if (auto fold = rotation(coords, dim, axis)) return fold;
  return two_loops(coords, dim, axis);
}

Status check_table(const Shape& mesh) {
  if (mesh.elements() <= kMaxTable) return ok_status();
  return Error{ErrorCode::kTooLarge,
               cat("a device map that lists ", mesh.elements(), " places is more than ", kMaxTable),
               std::nullopt, "use fewer places"};
}

}  // namespace

Result<DeviceMap> map_of_axes(const Shape& mesh, const Shape& physical,
                              const std::vector<std::size_t>& axis_of,
                              const std::vector<Coords>& coords) {
  std::vector<Fold> folds;
  Place origin(physical.rank(), 0);
  bool is_folded = true;
  for (std::size_t j = 0; j < coords.size() && is_folded; ++j) {
    std::optional<AxisFold> along = fold_of(coords[j], static_cast<int>(j), axis_of[j]);
    is_folded = along.has_value();
    if (!is_folded) break;
    origin[axis_of[j]] = along->origin;
    if (along->fold) folds.push_back(*std::move(along->fold));
  }
  if (is_folded) return DeviceMap::folded(physical, std::move(folds), std::move(origin));
  TESSERA_CHECK_OK(check_table(mesh));
  std::vector<Place> table;
  table.reserve(static_cast<std::size_t>(mesh.elements()));
  Index v(mesh.rank(), 0);
  do {
    Place place(physical.rank(), 0);
    for (std::size_t j = 0; j < v.size(); ++j) {
      place[axis_of[j]] = coords[j][static_cast<std::size_t>(v[j])];
    }
    table.push_back(std::move(place));
  } while (mesh.next(v));
  return DeviceMap::table(physical, std::move(table));
}

Result<DeviceMap> map_of_places(const Shape& mesh, const Shape& physical,
                                const std::vector<std::int64_t>& places) {
  TESSERA_CHECK_OK(check_table(mesh));
  const std::size_t rank = mesh.rank();
  const std::vector<std::int64_t> strides = mesh.row_major_strides();
  if (rank == physical.rank() && rank > 0) {
    const Place first = physical.delinear(places.front());
    std::vector<std::size_t> axis_of(rank, rank);
    std::vector<bool> taken(rank, false);
    std::vector<Coords> coords(rank);
    bool apart = true;
    for (std::size_t j = 0; j < rank && apart; ++j) {
      for (std::int64_t v = 0; v < mesh[j] && apart; ++v) {
        const Place place = physical.delinear(places[static_cast<std::size_t>(v * strides[j])]);
        for (std::size_t axis = 0; axis < rank; ++axis) {
          if (place[axis] == first[axis]) continue;
          apart = apart && (axis_of[j] == axis || (axis_of[j] == rank && !taken[axis]));
          axis_of[j] = axis;
          taken[axis] = true;
        }
      }
    }
    for (std::size_t j = 0; j < rank && apart; ++j) {
      if (axis_of[j] == rank) {
        const std::size_t own = taken[j] ? 0 : j;
        axis_of[j] = static_cast<std::size_t>(
            std::find(taken.begin() + static_cast<std::ptrdiff_t>(own), taken.end(), false) -
            taken.begin());
        taken[axis_of[j]] = true;
      }
      for (std::int64_t v = 0; v < mesh[j]; ++v) {
        const Place place = physical.delinear(places[static_cast<std::size_t>(v * strides[j])]);
        coords[j].push_back(place[axis_of[j]]);
      }
    }
    for (std::int64_t i = 0; i < mesh.elements() && apart; ++i) {
      Place place = first;
      for (std::size_t j = 0; j < rank; ++j) {
        place[axis_of[j]] = coords[j][static_cast<std::size_t>(i / strides[j] % mesh[j])];
      }
      apart = physical.linear(place) == places[static_cast<std::size_t>(i)];
    }
    if (apart) return map_of_axes(mesh, physical, axis_of, coords);
  }
  std::vector<Place> table;
  table.reserve(places.size());
  for (const std::int64_t place : places) table.push_back(physical.delinear(place));
  return DeviceMap::table(physical, std::move(table));
}

std::vector<std::int64_t> evenly(const Coords& coords, const std::vector<bool>& matters,
                                 Coords seats) {
  const std::size_t n = coords.size();
  std::sort(seats.begin(), seats.end());
  const auto anchor =
      static_cast<std::size_t>(std::find(matters.begin(), matters.end(), true) - matters.begin());
  if (anchor + 1 >= n || !matters[anchor + 1]) return coords;
  const auto fits = [&](const Coords& even) {
    for (std::size_t v = 0; v < n; ++v) {
      if (matters[v] && even[v] != coords[v]) return false;
      if (!std::binary_search(seats.begin(), seats.end(), even[v])) return false;
    }
    return true;
  };
  const std::int64_t step = coords[anchor + 1] - coords[anchor];
  Coords even(n);
  for (std::size_t v = 0; v < n; ++v) {
    even[v] =
        coords[anchor] + step * (static_cast<std::int64_t>(v) - static_cast<std::int64_t>(anchor));
  }
  if (fits(even)) return even;
  if (seats.size() != n) return coords;
  const std::int64_t stride = seats[1] - seats[0];
  const auto count = static_cast<std::int64_t>(n);
  if (step % stride != 0 || std::gcd(step / stride, count) != 1) return coords;
  for (std::size_t v = 0; v < n; ++v) {
    const std::int64_t ahead = (even[v] - seats[0]) / stride % count;
    even[v] = seats[0] + stride * ((ahead + count) % count);
  }
  return fits(even) ? even : coords;
}

}  // namespace tessera::reshard
