// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/flows/flows.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/algebra/replicas.h"
#include "tessera/reshard/flows/flow_side.h"
#include "tessera/reshard/part.h"

namespace tessera::reshard {
namespace {

constexpr std::size_t kMaxSegments = std::size_t{1} << 22;

/// A segment and its place parts, before segments are grouped.
struct PlacedSegment {
  std::int64_t source = 0;
  std::int64_t destination = 0;
  std::int64_t share = 0;
  Segment segment;
};

/// A factor before its parts are known on the physical mesh.
struct RawFactor {
  std::vector<PlacedSegment> segments;
  std::vector<BoxLoop> loops;
};

bool moves_places(const Loop& loop) { return loop.move.a.place != 0 || loop.move.b.place != 0; }

/// Appends a loop, merged with the previous one if both form one progression.
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
               cat("combined dims move in more than ", kMaxSegments, " segments"), std::nullopt,
               "use fewer places, or widths that share larger factors"};
}

/// Unrolls the loops of one piece that change the place.
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
  PositionPair positions = piece.at;
  for (std::int64_t done = 0; done < here.raw(); ++done) {
    placed.source = positions.a.place;
    placed.destination = positions.b.place;
    placed.segment.source_slot = positions.a.slot;
    placed.segment.destination_slot = positions.b.slot;
    factor.segments.push_back(placed);
    for (std::size_t i = at.size(); i-- > 0;) {
      const Loop& loop = *unrolled[i];
      positions.a += loop.move.a;
      positions.b += loop.move.b;
      if (++at[i] < loop.extent) break;
      positions.a = positions.a - loop.move.a * loop.extent;
      positions.b = positions.b - loop.move.b * loop.extent;
      at[i] = 0;
    }
  }
  return ok_status();
}

/// The virtual offsets of the shares from the first: row-major over the partial fills.
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

/// The copies that B keeps, one factor per mesh axis.
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

/// Moves the smallest part of each number into `base`, so that parts are at least zero and every
/// sum of them stays inside the mesh and the memory.
void normalize(RawFactor& factor, PositionPair& base) {
  PositionPair least;
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

}  // namespace

std::int64_t Flows::choices() const {
  Checked product = 1;
  for (const FlowFactor& factor : factors) {
    product *= static_cast<std::int64_t>(factor.groups.size());
  }
  return product.saturated();
}

Result<Flows> flows_of(const ReshardPart& part, const PhysicalMesh& physical, FlowChoice choice) {
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
  PositionPair base = part.refinement.base();
  for (RawFactor& factor : raw) {
    normalize(factor, base);
    flows.factors.push_back(group(std::move(factor)));
  }
  flows.source = {base.a.place, part.map_a.physical(base.a.place)};
  flows.destination = {base.b.place, part.map_b.physical(base.b.place)};
  flows.source_slot = base.a.slot;
  flows.destination_slot = base.b.slot;

  FlowSide from(part.map_a, &SegmentGroup::source, base.a.place, flows.factors);
  const FlowSide to(part.map_b, &SegmentGroup::destination, base.b.place, flows.factors);
  flows.carries = from.carries() || to.carries();
  flows.source_adds = from.place(flows.factors);
  flows.destination_adds = to.place(flows.factors);
  if (choice.copies) {
    TESSERA_TRY(flows.nearest, NearestSource::make(part.a, part.map_a, physical.mesh));
    for (std::size_t axis = 0; axis < part.a.mesh.rank(); ++axis) {
      const OffsetSet copies =
          replica_offsets(part.a.fills, static_cast<int>(axis), Fill::Kind::kReplicate);
      if (copies.size() > 1) from.add_copies(axis, copies);
    }
  }
  const std::int64_t places = physical.mesh.elements();
  flows.distinct = from.distinct(places) && to.distinct(places);
  return flows;
}

}  // namespace tessera::reshard
