// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/flows.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/replicas.h"

namespace tessera {
namespace {

constexpr std::size_t kMaxSegments = std::size_t{1} << 22;

/// A segment and its place parts, before segments are grouped.
struct PlacedSegment {
  std::int64_t source = 0;
  std::int64_t destination = 0;
  std::int64_t share = 0;
  Segment segment;
};

/// A factor before its parts are known on the ground.
struct RawFactor {
  std::vector<PlacedSegment> segments;
  std::vector<BoxLoop> loops;
};

bool moves_places(const Loop& loop) { return loop.move.a.place != 0 || loop.move.b.place != 0; }

/// Appends a loop, joined to the one before it where both make one progression.
void add_loop(std::vector<BoxLoop>& loops, std::size_t first, const Loop& loop) {
  const BoxLoop added{loop.extent, loop.move.a.slot, loop.move.b.slot};
  if (loops.size() > first) {
    BoxLoop& last = loops.back();
    const Checked source = Checked(added.source_stride) * added.extent;
    const Checked destination = Checked(added.destination_stride) * added.extent;
    if (!source.overflowed() && source.raw() == last.source_stride && !destination.overflowed() &&
        destination.raw() == last.destination_stride) {
      last = {last.extent * added.extent, added.source_stride, added.destination_stride};
      return;
    }
  }
  loops.push_back(added);
}

Error too_many_segments() {
  return Error{ErrorCode::kTooLarge,
               cat("dims that are tied together move in more than ", kMaxSegments, " segments"),
               std::nullopt, "use fewer places, or widths that share larger factors"};
}

/// Unrolls the loops of one piece that move places.
Status unroll(const Piece& piece, RawFactor& factor) {
  const std::size_t first_loop = factor.loops.size();
  PlacedSegment placed;
  std::vector<const Loop*> unrolled;
  Checked count = static_cast<std::int64_t>(factor.segments.size());
  Checked here = 1;
  for (const Loop& loop : piece.loops) {
    if (loop.extent == 1) continue;
    if (moves_places(loop)) {
      unrolled.push_back(&loop);
      here *= loop.extent;
    } else {
      add_loop(factor.loops, first_loop, loop);
      placed.segment.elements *= loop.extent;
    }
  }
  count += here;
  if (count.saturated() > static_cast<std::int64_t>(kMaxSegments)) return too_many_segments();
  placed.segment.first_loop = static_cast<std::uint32_t>(first_loop);
  placed.segment.loop_count = static_cast<std::uint32_t>(factor.loops.size() - first_loop);
  std::vector<std::int64_t> at(unrolled.size(), 0);
  Spots spots = piece.at;
  for (std::int64_t done = 0; done < here.raw(); ++done) {
    placed.source = spots.a.place;
    placed.destination = spots.b.place;
    placed.segment.source_slot = spots.a.slot;
    placed.segment.destination_slot = spots.b.slot;
    factor.segments.push_back(placed);
    for (std::size_t i = at.size(); i-- > 0;) {
      const Loop& loop = *unrolled[i];
      spots.a += loop.move.a;
      spots.b += loop.move.b;
      if (++at[i] < loop.extent) break;
      spots.a = spots.a - loop.move.a * loop.extent;
      spots.b = spots.b - loop.move.b * loop.extent;
      at[i] = 0;
    }
  }
  return ok_status();
}

/// The virtual numbers that shares are apart from the first: row-major over the partial fills.
std::vector<std::int64_t> share_offsets(const Form& form) {
  const std::vector<std::int64_t> strides = form.mesh.row_major_strides();
  std::vector<std::int64_t> offsets = {0};
  for (const Fill& fill : form.fills) {
    if (fill.kind != Fill::Kind::kPartial || fill.count <= 1) continue;
    std::vector<std::int64_t> more;
    more.reserve(offsets.size() * static_cast<std::size_t>(fill.count));
    for (const std::int64_t offset : offsets) {
      for (std::int64_t i = 0; i < fill.count; ++i) {
        more.push_back(offset + i * fill.stride * strides[static_cast<std::size_t>(fill.axis)]);
      }
    }
    offsets = std::move(more);
  }
  return offsets;
}

Status add_shares(const ReshardPart& part, std::vector<RawFactor>& factors) {
  if (part.shares.from <= 1) return ok_status();
  if (part.shares.from > static_cast<std::int64_t>(kMaxSegments)) return too_many_segments();
  const std::vector<std::int64_t> from = share_offsets(part.a);
  const std::vector<std::int64_t> to =
      part.shares.alike ? share_offsets(part.b) : std::vector<std::int64_t>(from.size(), 0);
  RawFactor factor;
  for (std::size_t i = 0; i < from.size(); ++i) {
    factor.segments.push_back({from[i], to[i], static_cast<std::int64_t>(i), {}});
  }
  factors.push_back(std::move(factor));
  return ok_status();
}

/// The copies that B keeps, one factor a mesh axis.
Status add_copies(const Form& b, std::vector<RawFactor>& factors) {
  const std::vector<std::int64_t> strides = b.mesh.row_major_strides();
  for (std::size_t axis = 0; axis < b.mesh.rank(); ++axis) {
    const OffsetSet offsets =
        replica_offsets(b.fills, static_cast<int>(axis), Fill::Kind::kReplicate);
    if (offsets.size() <= 1) continue;
    if (offsets.size() > static_cast<std::int64_t>(kMaxSegments)) return too_many_segments();
    RawFactor factor;
    for (std::int64_t i = 0; i < offsets.size(); ++i) {
      factor.segments.push_back({0, offsets.at(i) * strides[axis], 0, {}});
    }
    factors.push_back(std::move(factor));
  }
  return ok_status();
}

/// Moves the smallest part of each number into `base`, so that parts are at or above zero and every
/// sum of them stays inside the mesh and the memory.
void normalize(RawFactor& factor, Spots& base) {
  Spots least;
  const PlacedSegment& first = factor.segments.front();
  least.a = {first.source, first.segment.source_slot};
  least.b = {first.destination, first.segment.destination_slot};
  for (const PlacedSegment& s : factor.segments) {
    least.a.place = std::min(least.a.place, s.source);
    least.b.place = std::min(least.b.place, s.destination);
    least.a.slot = std::min(least.a.slot, s.segment.source_slot);
    least.b.slot = std::min(least.b.slot, s.segment.destination_slot);
  }
  base.a += least.a;
  base.b += least.b;
  for (PlacedSegment& s : factor.segments) {
    s.source -= least.a.place;
    s.destination -= least.b.place;
    s.segment.source_slot -= least.a.slot;
    s.segment.destination_slot -= least.b.slot;
  }
}

FlowFactor group(RawFactor raw) {
  struct Key {
    std::int64_t source;
    std::int64_t destination;
    std::uint32_t position;
    auto operator<=>(const Key&) const = default;
  };
  std::vector<Key> order;
  order.reserve(raw.segments.size());
  for (const PlacedSegment& s : raw.segments) {
    order.push_back({s.source, s.destination, static_cast<std::uint32_t>(order.size())});
  }
  if (!std::is_sorted(order.begin(), order.end())) std::sort(order.begin(), order.end());
  FlowFactor factor;
  factor.loops = std::move(raw.loops);
  factor.segments.reserve(raw.segments.size());
  factor.groups.reserve(raw.segments.size());
  for (const Key& key : order) {
    const PlacedSegment& s = raw.segments[key.position];
    const auto position = static_cast<std::uint32_t>(factor.segments.size());
    const bool same = !factor.groups.empty() && factor.groups.back().share == s.share &&
                      factor.groups.back().source.place == s.source &&
                      factor.groups.back().destination.place == s.destination;
    if (same) {
      factor.groups.back().elements += s.segment.elements;
      ++factor.groups.back().count;
    } else {
      factor.groups.push_back(
          {{s.source, 0}, {s.destination, 0}, s.segment.elements, s.share, position, 1});
    }
    factor.segments.push_back(s.segment);
  }
  return factor;
}

using Values = std::vector<std::int64_t>;

void sort_unique(Values& values) {
  if (!std::is_sorted(values.begin(), values.end())) std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

/// Whether no two choices of one value a set have the same sum, when all sums lie within `extent`
/// numbers: then there are no more choices than that.
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

/// One side of the flows, while its parts get their physical numbers.
struct Side {
  const PlaceMap& map;
  PlacePart SegmentGroup::* part;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> first;  // coordinates of the base
  std::vector<std::vector<Values>>
      moved_by;  // for each axis, the moves of each factor that has any
  bool adds = true;

  Side(const PlaceMap& the_map, PlacePart SegmentGroup::* the_part, std::int64_t base)
      : map(the_map), part(the_part), strides(the_map.mesh().row_major_strides()) {
    moved_by.resize(map.mesh().rank());
    for (std::size_t axis = 0; axis < map.mesh().rank(); ++axis) {
      first.push_back(coordinate(map.mesh(), strides, base, axis));
    }
  }

  /// Learns how far each factor moves along each axis.
  void measure(const std::vector<FlowFactor>& factors, std::int64_t base) {
    for (const FlowFactor& factor : factors) {
      for (std::size_t axis = 0; axis < moved_by.size(); ++axis) {
        if (map.mesh()[axis] <= 1) continue;
        Values moves;
        for (const SegmentGroup& group : factor.groups) {
          const std::int64_t at =
              coordinate(map.mesh(), strides, base + (group.*part).place, axis) - first[axis];
          if (moves.empty() || moves.back() != at) moves.push_back(at);
        }
        sort_unique(moves);
        if (moves.size() > 1) moved_by[axis].push_back(std::move(moves));
      }
    }
  }

  /// Gives every part its physical number. They add where an axis runs evenly over the ground, or
  /// one factor alone moves along it.
  void place(std::vector<FlowFactor>& factors, std::int64_t base) {
    adds = map.separable();
    for (std::size_t axis = 0; axis < moved_by.size() && adds; ++axis) {
      if (moved_by[axis].size() <= 1) continue;
      const Values& along = map.along(axis);
      for (std::size_t i = 2; i < along.size(); ++i) {
        adds = adds && along[i] - along[i - 1] == along[1] - along[0];
      }
    }
    if (!adds) return;
    for (FlowFactor& factor : factors) {
      for (SegmentGroup& group : factor.groups) {
        PlacePart& moved = group.*part;
        if (moved.place == 0) continue;
        for (std::size_t axis = 0; axis < moved_by.size(); ++axis) {
          const Values& along = map.along(axis);
          const std::int64_t to = coordinate(map.mesh(), strides, base + moved.place, axis);
          moved.physical +=
              along[static_cast<std::size_t>(to)] - along[static_cast<std::size_t>(first[axis])];
        }
      }
    }
  }

  bool distinct(std::int64_t ground_places) const {
    for (std::size_t axis = 0; axis < moved_by.size(); ++axis) {
      if (!sums_are_distinct(moved_by[axis], map.mesh()[axis])) return false;
    }
    return one_to_one(map, ground_places);
  }
};

}  // namespace

bool one_to_one(const PlaceMap& map, std::int64_t ground_places) {
  // Lists that nest are: each step of one goes further than all of the smaller ones together. Any
  // others are counted.
  const std::int64_t places = map.mesh().elements();
  if (places > ground_places) return false;
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
  std::vector<bool> seen(static_cast<std::size_t>(ground_places), false);
  for (std::int64_t v = 0; v < places; ++v) {
    const auto physical = static_cast<std::size_t>(map.physical(v));
    if (seen[physical]) return false;
    seen[physical] = true;
  }
  return true;
}

std::int64_t Flows::choices() const {
  Checked product = 1;
  for (const FlowFactor& factor : factors) {
    product *= static_cast<std::int64_t>(factor.groups.size());
  }
  return product.saturated();
}

Result<Flows> flows_of(const ReshardPart& part, const Ground& ground, FlowChoice choice) {
  std::vector<RawFactor> raw;
  if (choice.shares) TESSERA_CHECK_OK(add_shares(part, raw));
  if (choice.copies) TESSERA_CHECK_OK(add_copies(part.b, raw));
  for (const Factor& factor : part.refinement.factors()) {
    RawFactor& unrolled = raw.emplace_back();
    for (const Piece& piece : factor.pieces) TESSERA_CHECK_OK(unroll(piece, unrolled));
  }
  Flows flows;
  flows.map_a = &part.map_a;
  flows.map_b = &part.map_b;
  flows.combines = part.shares.reduces();
  Spots base = part.refinement.base();
  for (RawFactor& factor : raw) {
    normalize(factor, base);
    flows.factors.push_back(group(std::move(factor)));
  }
  flows.source = {base.a.place, part.map_a.physical(base.a.place)};
  flows.destination = {base.b.place, part.map_b.physical(base.b.place)};
  flows.source_slot = base.a.slot;
  flows.destination_slot = base.b.slot;

  Side from(part.map_a, &SegmentGroup::source, base.a.place);
  Side to(part.map_b, &SegmentGroup::destination, base.b.place);
  from.measure(flows.factors, base.a.place);
  to.measure(flows.factors, base.b.place);
  from.place(flows.factors, base.a.place);
  to.place(flows.factors, base.b.place);
  flows.source_adds = from.adds;
  flows.destination_adds = to.adds;
  if (choice.copies) {
    TESSERA_TRY(flows.nearest, NearestSource::make(part.a, part.map_a, ground.mesh));
    for (std::size_t axis = 0; axis < part.a.mesh.rank(); ++axis) {
      const OffsetSet copies =
          replica_offsets(part.a.fills, static_cast<int>(axis), Fill::Kind::kReplicate);
      if (copies.size() <= 1) continue;
      Values offsets;
      for (std::int64_t i = 0; i < copies.size(); ++i) offsets.push_back(copies.at(i));
      from.moved_by[axis].push_back(std::move(offsets));
    }
  }
  const std::int64_t places = ground.mesh.elements();
  flows.distinct = from.distinct(places) && to.distinct(places);
  return flows;
}

}  // namespace tessera
