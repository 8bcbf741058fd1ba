// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tessera/reshard/part.h"
#include "tessera/reshard/relabelling/overlap.h"

namespace tessera::reshard {
namespace {

constexpr std::size_t kMaxAxisEntries = std::size_t{1} << 22;
constexpr std::size_t kNoAxis = SIZE_MAX;

/// The effect of a factor along axes: each entry moves A by `seat` along one axis of the physical
/// mesh and B by `role` along one axis of its mesh.
struct AxisFactor {
  std::size_t physical_axis = kNoAxis;
  std::size_t mesh_axis = kNoAxis;
  std::vector<AxisEntry> entries;
  std::vector<bool> mesh_axes_a;  // which axes of A's own mesh it moves along
};

/// Coordinates relative to those of a first place, along at most one axis.
class Displacements {
 public:
  Displacements(const Shape& shape, std::int64_t first)
      : strides_(shape.row_major_strides()), shape_(shape), first_(shape.delinear(first)) {}

  /// The distance of `place` from the first along the axis that all places so far moved along;
  /// empty when it is a second axis.
  std::optional<std::int64_t> of(std::int64_t place) {
    std::int64_t moved = 0;
    for (std::size_t axis = 0; axis < strides_.size(); ++axis) {
      const std::int64_t by = place / strides_[axis] % shape_[axis] - first_[axis];
      if (by == 0) continue;
      if (axis_ != kNoAxis && axis_ != axis) return std::nullopt;
      axis_ = axis;
      moved = by;
    }
    return moved;
  }
  std::size_t axis() const { return axis_; }

 private:
  std::vector<std::int64_t> strides_;
  const Shape& shape_;
  Place first_;
  std::size_t axis_ = kNoAxis;
};

std::optional<AxisFactor> along_axes(const OverlapFactor& factor, const Overlap& overlap,
                                     const ReshardPart& part, const PhysicalMesh& physical) {
  AxisFactor along;
  Displacements seats(physical.mesh, part.map_a.physical(overlap.first_a));
  Displacements roles(part.map_b.mesh(), overlap.first_b);
  const Shape& mesh_a = part.map_a.mesh();
  const std::vector<std::int64_t> strides_a = mesh_a.row_major_strides();
  const Place first_a = mesh_a.delinear(overlap.first_a);
  along.mesh_axes_a.assign(mesh_a.rank(), false);
  along.entries.reserve(factor.size());
  for (const VirtualFlow& entry : factor) {
    const std::int64_t place_a = overlap.first_a + entry.a;
    const auto seat = seats.of(part.map_a.physical(place_a));
    const auto role = roles.of(overlap.first_b + entry.b);
    if (!seat || !role) return std::nullopt;
    along.entries.push_back({*role, *seat, entry.elements});
    if (entry.a == 0) continue;
    for (std::size_t axis = 0; axis < mesh_a.rank(); ++axis) {
      if (place_a / strides_a[axis] % mesh_a[axis] != first_a[axis]) along.mesh_axes_a[axis] = true;
    }
  }
  along.physical_axis = seats.axis();
  along.mesh_axis = roles.axis();
  return along;
}

bool is_affine(const std::vector<std::int64_t>& list) {
  for (std::size_t i = 2; i < list.size(); ++i) {
    if (list[i] - list[i - 1] != list[1] - list[0]) return false;
  }
  return true;
}

/// True when the displacements of all factors add up to the coordinates of the resulting place: an
/// axis of A's mesh along which several factors move must be a plain stride on the physical mesh,
/// and no sum of coordinates may leave the physical mesh (numbers would carry into the next axis).
bool adds_up(const std::vector<AxisFactor>& factors, const Overlap& overlap,
             const ReshardPart& part, const PhysicalMesh& physical) {
  if (!part.map_a.separable()) return false;
  for (std::size_t axis = 0; axis < part.map_a.mesh().rank(); ++axis) {
    const auto movers = std::count_if(factors.begin(), factors.end(), [&](const AxisFactor& f) {
      return static_cast<bool>(f.mesh_axes_a[axis]);
    });
    if (movers > 1 && !is_affine(part.map_a.along(axis))) return false;
  }
  const Place first = physical.mesh.delinear(part.map_a.physical(overlap.first_a));
  for (std::size_t axis = 0; axis < first.size(); ++axis) {
    std::int64_t low = first[axis];
    std::int64_t high = first[axis];
    for (const AxisFactor& factor : factors) {
      if (factor.physical_axis != axis) continue;
      const auto [least, most] = std::minmax_element(
          factor.entries.begin(), factor.entries.end(),
          [](const AxisEntry& x, const AxisEntry& y) { return x.seat < y.seat; });
      low += least->seat;
      high += most->seat;
    }
    if (low < 0 || high >= physical.mesh[axis]) return false;
  }
  return true;
}

void merge_axis(std::vector<AxisEntry>& entries) {
  std::sort(entries.begin(), entries.end());
  std::size_t kept = 0;
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].role == entries[kept].role && entries[i].seat == entries[kept].seat) {
      entries[kept].count += entries[i].count;
    } else {
      entries[++kept] = entries[i];
    }
  }
  if (!entries.empty()) entries.resize(kept + 1);
}

/// Every sum of one entry of each list; false when there are too many.
bool convolve(std::vector<AxisEntry>& entries, const std::vector<AxisEntry>& by) {
  if (by.size() > kMaxAxisEntries / std::max<std::size_t>(1, entries.size())) return false;
  std::vector<AxisEntry> sums;
  sums.reserve(entries.size() * by.size());
  for (const AxisEntry& x : entries) {
    for (const AxisEntry& y : by) {
      sums.push_back({x.role + y.role, x.seat + y.seat, x.count * y.count});
    }
  }
  merge_axis(sums);
  entries = std::move(sums);
  return true;
}

/// The axis of the physical mesh that is paired with each axis of B's mesh, as required by the
/// factors.
std::optional<std::vector<std::size_t>> tied_axes(const std::vector<AxisFactor>& factors,
                                                  const ReshardPart& part,
                                                  const PhysicalMesh& physical) {
  const std::size_t rank = physical.mesh.rank();
  std::vector<std::size_t> beside(rank, kNoAxis);
  std::vector<bool> taken(rank, false);
  for (const AxisFactor& factor : factors) {
    if (factor.physical_axis == kNoAxis || factor.mesh_axis == kNoAxis) continue;
    std::size_t& tied = beside[factor.mesh_axis];
    if (tied == factor.physical_axis) continue;
    if (tied != kNoAxis || taken[factor.physical_axis]) return std::nullopt;
    tied = factor.physical_axis;
    taken[factor.physical_axis] = true;
  }
  const std::optional<AxisSeats> own = axis_seats(part.map_b, physical);
  for (std::size_t axis = 0; axis < rank && own; ++axis) {
    if (beside[axis] != kNoAxis || taken[own->physical_axis[axis]]) continue;
    beside[axis] = own->physical_axis[axis];
    taken[beside[axis]] = true;
  }
  for (std::size_t& axis : beside) {
    if (axis != kNoAxis) continue;
    axis = static_cast<std::size_t>(std::find(taken.begin(), taken.end(), false) - taken.begin());
    taken[axis] = true;
  }
  return beside;
}

}  // namespace

std::optional<AxisSeats> axis_seats(const PlaceMap& map, const PhysicalMesh& physical) {
  const std::size_t rank = physical.mesh.rank();
  if (!map.separable() || map.mesh().rank() != rank || map.mesh().empty()) return std::nullopt;
  AxisSeats seats;
  seats.physical_axis.assign(rank, kNoAxis);
  seats.coords.resize(rank);
  const std::int64_t origin = map.physical(0);
  const Place first = physical.mesh.delinear(origin);
  std::vector<bool> taken(rank, false);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    Displacements moved(physical.mesh, origin);
    const std::vector<std::int64_t>& list = map.along(axis);
    for (const std::int64_t number : list) {
      const auto by = moved.of(origin + number - list.front());
      if (!by) return std::nullopt;
      seats.coords[axis].push_back(*by);
    }
    std::vector<std::int64_t> sorted = seats.coords[axis];
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return std::nullopt;
    if (moved.axis() == kNoAxis) continue;
    if (taken[moved.axis()]) return std::nullopt;
    seats.physical_axis[axis] = moved.axis();
    taken[moved.axis()] = true;
  }
  // Axes of one place: in order, on the remaining axes; their own axis if it is free.
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (seats.physical_axis[axis] != kNoAxis || taken[axis]) continue;
    seats.physical_axis[axis] = axis;
    taken[axis] = true;
  }
  for (std::size_t axis = 0; axis < rank; ++axis) {
    std::size_t& beside = seats.physical_axis[axis];
    if (beside == kNoAxis) {
      beside =
          static_cast<std::size_t>(std::find(taken.begin(), taken.end(), false) - taken.begin());
      taken[beside] = true;
    }
    for (std::int64_t& coord : seats.coords[axis]) coord += first[beside];
  }
  return seats;
}

std::optional<ProductOverlap> product_overlap(
    const ReshardPart& part, const Overlap& overlap, const PhysicalMesh& physical,
    const std::optional<std::vector<std::size_t>>& beside) {
  const std::size_t rank = physical.mesh.rank();
  if (part.map_b.mesh().rank() != rank || rank == 0) return std::nullopt;
  std::vector<AxisFactor> factors;
  for (const std::vector<OverlapFactor>* list : {&overlap.factors, &overlap.copies_a}) {
    for (const OverlapFactor& factor : *list) {
      std::optional<AxisFactor> along = along_axes(factor, overlap, part, physical);
      if (!along) return std::nullopt;
      factors.push_back(*std::move(along));
    }
  }
  if (!adds_up(factors, overlap, part, physical)) return std::nullopt;
  const auto axes = beside ? beside : tied_axes(factors, part, physical);
  if (!axes) return std::nullopt;

  ProductOverlap product;
  const Place first_seat = physical.mesh.delinear(part.map_a.physical(overlap.first_a));
  const Place first_role = part.map_b.mesh().delinear(overlap.first_b);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    AxisOverlap along;
    along.physical_axis = (*axes)[axis];
    along.held = {{first_role[axis], first_seat[along.physical_axis], 1}};
    product.axes.push_back(std::move(along));
  }
  const auto axis_of = [&](const AxisFactor& factor) {
    if (factor.mesh_axis != kNoAxis) return factor.mesh_axis;
    return static_cast<std::size_t>(std::find(axes->begin(), axes->end(), factor.physical_axis) -
                                    axes->begin());
  };
  for (std::size_t f = 0; f < overlap.factors.size(); ++f) {
    const AxisFactor& factor = factors[f];
    if (factor.mesh_axis == kNoAxis && factor.physical_axis == kNoAxis) {
      std::int64_t elements = 0;
      for (const AxisEntry& entry : factor.entries) elements += entry.count;
      product.rest *= elements;
      continue;
    }
    AxisOverlap& along = product.axes[axis_of(factor)];
    if (factor.physical_axis != kNoAxis && along.physical_axis != factor.physical_axis) {
      return std::nullopt;
    }
    if (!convolve(along.held, factor.entries)) return std::nullopt;
  }
  for (std::size_t axis = 0; axis < rank; ++axis) {
    AxisOverlap& along = product.axes[axis];
    along.wants.assign(static_cast<std::size_t>(part.map_b.mesh()[axis]), 0);
    for (const AxisEntry& entry : along.held) {
      along.wants[static_cast<std::size_t>(entry.role)] += entry.count;
    }
    std::vector<AxisEntry> copies = {{0, 0, 1}};
    for (std::size_t f = overlap.factors.size(); f < factors.size(); ++f) {
      if (factors[f].physical_axis != along.physical_axis) continue;
      if (!convolve(copies, factors[f].entries)) return std::nullopt;
      for (AxisEntry& copy : copies) copy.count = 1;  // two copies on one place count once
    }
    if (copies.size() > 1 && !convolve(along.held, copies)) return std::nullopt;
  }
  return product;
}

}  // namespace tessera::reshard
