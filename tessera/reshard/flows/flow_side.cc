// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/flows/flow_side.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/reshard/flows/nearest.h"

namespace tessera::reshard {
namespace {

using Values = std::vector<std::int64_t>;

void sort_unique(Values& values) {
  if (!std::is_sorted(values.begin(), values.end())) std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

/// True when no two choices of one value per set have the same sum, where all sums lie within
/// `extent` numbers: then there are at most that many choices.
bool sums_are_distinct(const std::vector<Values>& sets, std::int64_t extent) {
  if (sets.size() <= 1) return true;
  Values sums = {0};
  for (const Values& set : sets) {
    const Checked count =
        Checked(static_cast<std::int64_t>(sums.size())) * static_cast<std::int64_t>(set.size());
    if (count.saturated() > extent) return false;
    Values more;
    more.reserve(static_cast<std::size_t>(count.raw()));
    for (const std::int64_t sum : sums) {
      for (const std::int64_t value : set) more.push_back(sum + value);
    }
    sums = std::move(more);
  }
  const std::size_t count = sums.size();
  sort_unique(sums);
  return sums.size() == count;
}

/// The constant amount that a step along an axis of the mesh adds; empty when steps differ.
std::optional<std::int64_t> even_step(const Values& along) {
  if (along.size() < 2) return 0;
  for (std::size_t i = 2; i < along.size(); ++i) {
    if (along[i] - along[i - 1] != along[1] - along[0]) return std::nullopt;
  }
  return along[1] - along[0];
}

}  // namespace

bool one_to_one(const PlaceMap& map, std::int64_t physical_places) {
  // Lists that nest are distinct: each step of one goes further than all smaller ones together. All
  // other lists are counted.
  const std::int64_t places = map.mesh().elements();
  if (places > physical_places) return false;
  std::vector<std::pair<std::int64_t, std::int64_t>> gap_and_range;
  for (std::size_t axis = 0; map.separable() && axis < map.mesh().rank(); ++axis) {
    const Values& along = map.along(axis);
    if (along.size() <= 1) continue;
    Values sorted = along;
    std::sort(sorted.begin(), sorted.end());
    std::int64_t gap = INT64_MAX;
    for (std::size_t i = 1; i < sorted.size(); ++i) gap = std::min(gap, sorted[i] - sorted[i - 1]);
    gap_and_range.emplace_back(gap, sorted.back() - sorted.front());
  }
  std::sort(gap_and_range.begin(), gap_and_range.end());
  bool nested = map.separable();
  std::int64_t range = 0;
  for (const auto& [gap, own] : gap_and_range) {
    nested = nested && gap > range;
    range += own;
  }
  if (nested) return true;
  std::vector<bool> seen(static_cast<std::size_t>(physical_places), false);
  for (std::int64_t v = 0; v < places; ++v) {
    const auto physical = static_cast<std::size_t>(map.physical(v));
    if (seen[physical]) return false;
    seen[physical] = true;
  }
  return true;
}

FlowSide::FlowSide(const PlaceMap& map, PlacePart SegmentGroup::* part, std::int64_t base,
                   const std::vector<FlowFactor>& factors)
    : map_(map),
      part_(part),
      base_(base),
      strides_(map.mesh().row_major_strides()),
      moved_by_(map.mesh().rank()) {
  const Shape& mesh = map.mesh();
  Values first;
  for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
    first.push_back(coordinate(mesh, strides_, base, axis));
  }
  Values low = first;
  Values high = first;
  for (const FlowFactor& factor : factors) {
    Values parts;
    for (const SegmentGroup& group : factor.groups) {
      const std::int64_t moved = (group.*part).place;
      if (parts.empty() || parts.back() != moved) parts.push_back(moved);
    }
    sort_unique(parts);
    for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
      if (mesh[axis] <= 1) continue;
      Values moves;
      for (const std::int64_t moved : parts) {
        const std::int64_t at = coordinate(mesh, strides_, base + moved, axis) - first[axis];
        if (moves.empty() || moves.back() != at) moves.push_back(at);
      }
      sort_unique(moves);
      low[axis] += moves.front();
      high[axis] += moves.back();
      if (moves.size() > 1) moved_by_[axis].push_back(std::move(moves));
    }
    if (parts.size() > 1) numbers_.push_back(std::move(parts));
  }
  for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
    carries_ = carries_ || low[axis] < 0 || high[axis] >= mesh[axis];
  }
}

void FlowSide::add_copies(std::size_t axis, const OffsetSet& copies) {
  Values offsets, moved;
  for (std::int64_t i = 0; i < copies.size(); ++i) {
    offsets.push_back(copies.at(i));
    moved.push_back(copies.at(i) * strides_[axis]);
  }
  moved_by_[axis].push_back(std::move(offsets));
  numbers_.push_back(std::move(moved));
}

/// If coordinates add, physical numbers add if every axis runs evenly over the physical mesh, or
/// only one factor moves along it. If coordinates carry, physical numbers must run evenly over the
/// mesh.
bool FlowSide::parts_add() const {
  if (!map_.separable()) return false;
  std::optional<std::int64_t> scale;
  for (std::size_t axis = 0; axis < moved_by_.size(); ++axis) {
    if (map_.mesh()[axis] <= 1) continue;
    if (!carries_ && moved_by_[axis].size() <= 1) continue;
    const std::optional<std::int64_t> step = even_step(map_.along(axis));
    if (!step) return false;
    if (!carries_) continue;
    if (*step % strides_[axis] != 0) return false;
    if (scale && *scale != *step / strides_[axis]) return false;
    scale = *step / strides_[axis];
  }
  return true;
}

bool FlowSide::place(std::vector<FlowFactor>& factors) const {
  if (!parts_add()) return false;
  const std::int64_t origin = map_.physical(base_);
  for (FlowFactor& factor : factors) {
    for (SegmentGroup& group : factor.groups) {
      PlacePart& moved = group.*part_;
      if (moved.place != 0) moved.physical = map_.physical(base_ + moved.place) - origin;
    }
  }
  return true;
}

bool FlowSide::distinct(std::int64_t physical_places) const {
  if (carries_) {
    if (!sums_are_distinct(numbers_, map_.mesh().elements())) return false;
  } else {
    for (std::size_t axis = 0; axis < moved_by_.size(); ++axis) {
      if (!sums_are_distinct(moved_by_[axis], map_.mesh()[axis])) return false;
    }
  }
  return one_to_one(map_, physical_places);
}

}  // namespace tessera::reshard
