// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/slab.h"

#include <algorithm>
#include <utility>

#include "tessera/base/text.h"

namespace tessera {
namespace {

std::int64_t steps_of(const std::vector<BoxLoop>& loops, std::size_t from = 0) {
  std::int64_t steps = 1;
  for (std::size_t i = from; i < loops.size(); ++i) steps *= loops[i].extent;
  return steps;
}

std::span<const BoxLoop> loops_of(const FlowFactor& factor, const Segment& segment) {
  return std::span(factor.loops).subspan(segment.first_loop, segment.loop_count);
}

/// How many of the last loops all segments of a group share.
std::size_t common_loops(const FlowFactor& factor, std::span<const Segment> segments) {
  const std::span<const BoxLoop> first = loops_of(factor, segments.front());
  std::size_t common = first.size();
  for (const Segment& segment : segments.subspan(1)) {
    const std::span<const BoxLoop> loops = loops_of(factor, segment);
    std::size_t same = 0;
    while (same < std::min(common, loops.size()) &&
           loops[loops.size() - 1 - same] == first[first.size() - 1 - same]) {
      ++same;
    }
    common = same;
  }
  return common;
}

/// How far from its first step an axis leads on one side.
struct Reach {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

template <typename Offset, typename Stride>
Reach reach_of(const ParcelAxis& axis, const Offset& offset, const Stride& stride) {
  Reach reach{INT64_MAX, INT64_MIN};
  for (const AxisPiece& piece : axis.pieces) {
    std::int64_t low = offset(piece);
    std::int64_t high = low;
    for (const BoxLoop& loop : piece.loops) {
      const std::int64_t far = (loop.extent - 1) * stride(loop);
      (far < 0 ? low : high) += far;
    }
    reach.low = std::min(reach.low, low);
    reach.high = std::max(reach.high, high);
  }
  return reach;
}

Reach source_reach(const ParcelAxis& axis) {
  return reach_of(
      axis, [](const AxisPiece& p) { return p.source; },
      [](const BoxLoop& l) { return l.source_stride; });
}
Reach destination_reach(const ParcelAxis& axis) {
  return reach_of(
      axis, [](const AxisPiece& p) { return p.destination; },
      [](const BoxLoop& l) { return l.destination_stride; });
}

/// Adds the boxes that are steps [from, to) of loops `at` and later of a piece.
void add_range(const AxisPiece& piece, std::size_t at, AxisPiece fixed, std::int64_t from,
               std::int64_t to, std::vector<AxisPiece>& out) {
  if (from == to) return;
  if (at == piece.loops.size()) {
    out.push_back(std::move(fixed));
    return;
  }
  const std::int64_t inner = steps_of(piece.loops, at + 1);
  const BoxLoop& loop = piece.loops[at];
  const auto moved = [&](std::int64_t digit) {
    AxisPiece piece_at = fixed;
    piece_at.source += digit * loop.source_stride;
    piece_at.destination += digit * loop.destination_stride;
    return piece_at;
  };
  const std::int64_t first = from / inner;
  const std::int64_t last = (to - 1) / inner;
  if (first == last) {
    add_range(piece, at + 1, moved(first), from - first * inner, to - first * inner, out);
    return;
  }
  std::int64_t whole_from = first;
  std::int64_t whole_to = last + 1;
  if (from % inner != 0) {
    add_range(piece, at + 1, moved(first), from % inner, inner, out);
    ++whole_from;
  }
  if (to % inner != 0) --whole_to;
  if (whole_from < whole_to) {
    AxisPiece whole = moved(whole_from);
    whole.loops.push_back({whole_to - whole_from, loop.source_stride, loop.destination_stride});
    whole.loops.insert(whole.loops.end(), piece.loops.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                       piece.loops.end());
    whole.steps = (whole_to - whole_from) * inner;
    out.push_back(std::move(whole));
  }
  if (to % inner != 0) add_range(piece, at + 1, moved(last), 0, to % inner, out);
}

/// Steps [from, to) of an axis.
ParcelAxis range_of(const ParcelAxis& axis, std::int64_t from, std::int64_t to) {
  ParcelAxis range;
  range.steps = to - from;
  std::int64_t before = 0;
  for (const AxisPiece& piece : axis.pieces) {
    const std::int64_t low = std::max(from - before, std::int64_t{0});
    const std::int64_t high = std::min(to - before, piece.steps);
    before += piece.steps;
    if (low >= high) continue;
    const std::size_t known = range.pieces.size();
    add_range(piece, 0, {piece.source, piece.destination, {}, 1}, low, high, range.pieces);
    for (std::size_t i = known; i < range.pieces.size(); ++i) {
      range.pieces[i].steps = steps_of(range.pieces[i].loops);
    }
  }
  return range;
}

/// Adds an axis to a slab, or, where it has one step, only where that leads.
void add_axis(ParcelAxis axis, Slab& slab) {
  if (axis.steps == 1) {
    slab.source += axis.pieces.front().source;
    slab.destination += axis.pieces.front().destination;
    return;
  }
  slab.elements *= axis.steps;
  slab.axes.push_back(std::move(axis));
}

std::int64_t floor_to(std::int64_t value, std::int64_t grain) {
  const std::int64_t rest = value % grain;
  return value - (rest < 0 ? rest + grain : rest);
}

Memory memory_of(std::int64_t slots, const Atom& atom) {
  Memory memory;
  const std::int64_t grain = is_block_float(atom.storage) ? slot_grain(atom) : 1;
  memory.slots = (slots + grain - 1) / grain * grain;
  memory.atom = is_block_float(atom.storage) ? atom : Atom::scalar(atom.storage);
  memory.bytes = memory.atom.bytes(memory.slots).value_or(0);
  return memory;
}

}  // namespace

ParcelShape ParcelShape::of(const Flows& flows, std::span<const SegmentGroup* const> groups) {
  struct Ordered {
    ParcelAxis axis;
    std::int64_t span = 0;
  };
  std::vector<Ordered> ordered;
  ParcelShape shape;
  shape.source = flows.source_slot;
  shape.destination = flows.destination_slot;
  const auto add = [&](ParcelAxis axis) {
    const Reach reach = destination_reach(axis);
    ordered.push_back({std::move(axis), reach.high - reach.low});
  };
  for (std::size_t f = 0; f < groups.size(); ++f) {
    const FlowFactor& factor = flows.factors[f];
    const std::span<const Segment> segments =
        std::span(factor.segments).subspan(groups[f]->first, groups[f]->count);
    const std::size_t common = common_loops(factor, segments);
    ParcelAxis list;
    for (const Segment& segment : segments) {
      const std::span<const BoxLoop> loops = loops_of(factor, segment);
      AxisPiece piece{segment.source_slot,
                      segment.destination_slot,
                      {loops.begin(), loops.end() - static_cast<std::ptrdiff_t>(common)},
                      1};
      piece.steps = steps_of(piece.loops);
      list.steps += piece.steps;
      list.pieces.push_back(std::move(piece));
    }
    const std::span<const BoxLoop> last = loops_of(factor, segments.front()).last(common);
    if (list.steps == 1) {
      shape.source += list.pieces.front().source;
      shape.destination += list.pieces.front().destination;
    } else {
      add(std::move(list));
    }
    for (const BoxLoop& loop : last) {
      if (loop.extent > 1) add({{{0, 0, {loop}, loop.extent}}, loop.extent});
    }
  }
  for (std::size_t i = 1; i < ordered.size(); ++i) {
    for (std::size_t j = i; j > 0 && ordered[j - 1].span < ordered[j].span; --j) {
      std::swap(ordered[j - 1], ordered[j]);
    }
  }
  for (Ordered& entry : ordered) {
    shape.elements *= entry.axis.steps;
    shape.axes.push_back(std::move(entry.axis));
  }
  return shape;
}

Status for_each_slab(const ParcelShape& parcel, std::int64_t most, std::int64_t grain,
                     const std::function<Status(const Slab&)>& visit) {
  const std::vector<ParcelAxis>& axes = parcel.axes;
  Slab base;
  base.source = parcel.source;
  base.destination = parcel.destination;
  const auto taken_apart = [grain](std::int64_t elements) {
    return Error{
        ErrorCode::kNotSupported,
        cat("elements that share tiles of ", grain, " move apart, ", elements, " at a time"),
        std::nullopt, "shard whole tiles, or give packets more bytes"};
  };
  if (parcel.elements % grain != 0) return taken_apart(parcel.elements);
  if (parcel.elements <= most) {
    for (const ParcelAxis& axis : axes) add_axis(axis, base);
    return visit(base);
  }
  // The slowest axis of which at least one step fits.
  std::size_t cut = 0;
  std::int64_t inner = parcel.elements / axes[0].steps;
  while (inner > most) inner /= axes[++cut].steps;
  if (inner % grain != 0) return taken_apart(inner);
  const std::int64_t chunks = (axes[cut].steps + most / inner - 1) / (most / inner);
  std::int64_t slow = 1;
  for (std::size_t a = 0; a < cut; ++a) slow *= axes[a].steps;
  for (std::int64_t i = 0; i < slow; ++i) {
    Slab at = base;
    std::int64_t left = i;
    std::int64_t below = slow;
    for (std::size_t a = 0; a < cut; ++a) {
      below /= axes[a].steps;
      add_axis(range_of(axes[a], left / below, left / below + 1), at);
      left %= below;
    }
    for (std::int64_t c = 0; c < chunks; ++c) {
      // Even shares; the longer ones first.
      const std::int64_t share = axes[cut].steps / chunks;
      const std::int64_t longer = axes[cut].steps % chunks;
      const std::int64_t first = c * share + std::min(c, longer);
      Slab slab = at;
      add_axis(range_of(axes[cut], first, first + share + (c < longer ? 1 : 0)), slab);
      for (std::size_t a = cut + 1; a < axes.size(); ++a) add_axis(axes[a], slab);
      TESSERA_CHECK_OK(visit(slab));
    }
  }
  return ok_status();
}

std::int64_t slot_grain(const Atom& atom) {
  if (is_block_float(atom.storage)) return atom.elements();
  const std::int64_t bits = dtype_bits(atom.storage).value_or(8);
  return bits < 8 ? 8 / bits : 1;
}

SlabProgram slab_program(const Slab& slab, SlabMove move, const Atom& atom, std::int64_t source,
                         std::int64_t destination) {
  // Each axis counts from the lowest slot that it reaches, so that no offset is below zero.
  Reach from{source + slab.source, source + slab.source};
  Reach to{destination + slab.destination, destination + slab.destination};
  std::vector<Spots> lowest;
  for (const ParcelAxis& axis : slab.axes) {
    const Reach in_a = source_reach(axis);
    const Reach in_b = destination_reach(axis);
    from.low += in_a.low;
    from.high += in_a.high;
    to.low += in_b.low;
    to.high += in_b.high;
    lowest.push_back({{0, in_a.low}, {0, in_b.low}});
  }
  const std::int64_t grain = slot_grain(atom);
  const std::int64_t from_first = floor_to(from.low, grain);
  const std::int64_t to_first = floor_to(to.low, grain);
  Spots base{{0, from.low - from_first}, {0, to.low - to_first}};

  SlabProgram made;
  const Memory packed = memory_of(slab.elements, atom);
  if (move == SlabMove::kUnpack) {
    made.program.from = packed;
    base.a.slot = 0;
  } else {
    made.program.from = memory_of(from.high + 1 - from_first, atom);
    made.from_slot = from_first;
  }
  if (move == SlabMove::kPack) {
    made.program.to = packed;
    base.b.slot = 0;
  } else {
    made.program.to = memory_of(to.high + 1 - to_first, atom);
    made.to_slot = to_first;
  }

  made.key = {static_cast<std::int64_t>(move), made.program.from.slots, made.program.to.slots,
              base.a.slot, base.b.slot};
  std::vector<Factor> factors;
  std::int64_t later = slab.elements;
  for (std::size_t a = 0; a < slab.axes.size(); ++a) {
    const ParcelAxis& axis = slab.axes[a];
    later /= axis.steps;
    made.key.push_back(static_cast<std::int64_t>(axis.pieces.size()));
    Factor factor;
    std::int64_t before = 0;
    for (const AxisPiece& piece : axis.pieces) {
      const auto side = [&](std::int64_t in_a, std::int64_t in_b, std::int64_t in_packed) {
        return Spots{{0, move == SlabMove::kUnpack ? in_packed : in_a},
                     {0, move == SlabMove::kPack ? in_packed : in_b}};
      };
      Piece box;
      box.at = side(piece.source - lowest[a].a.slot, piece.destination - lowest[a].b.slot,
                    before * later);
      made.key.insert(made.key.end(), {box.at.a.slot, box.at.b.slot,
                                       static_cast<std::int64_t>(piece.loops.size())});
      std::int64_t inner = piece.steps;
      for (const BoxLoop& loop : piece.loops) {
        inner /= loop.extent;
        const Spots step = side(loop.source_stride, loop.destination_stride, inner * later);
        box.loops.push_back({-1, loop.extent, 1, step});
        made.key.insert(made.key.end(), {loop.extent, step.a.slot, step.b.slot});
      }
      before += piece.steps;
      factor.pieces.push_back(std::move(box));
    }
    factors.push_back(std::move(factor));
  }
  made.program.copies.emplace_back(Shape(), Shape(), Shape(), base, std::move(factors));
  return made;
}

}  // namespace tessera
