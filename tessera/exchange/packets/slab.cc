// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/packets/slab.h"

#include <algorithm>
#include <utility>

#include "tessera/base/text.h"

namespace tessera::exchange {
namespace {

/// Adds the boxes for steps [from, to) of loops `at` and later of a piece.
void add_range(const AxisPiece& piece, std::size_t at, AxisPiece fixed, std::int64_t from,
               std::int64_t to, std::vector<AxisPiece>& out) {
  if (from == to) return;
  if (at == piece.loops.size()) {
    out.push_back(std::move(fixed));
    return;
  }
  const std::int64_t inner = steps_of(piece.loops, at + 1);
  const reshard::BoxLoop& loop = piece.loops[at];
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
AxisPtr range_of(const ParcelAxis& axis, std::int64_t from, std::int64_t to) {
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
  return finished(std::move(range));
}

/// Adds an axis to a slab; of an axis with one step, only its offset.
void add_axis(AxisPtr axis, Slab& slab) {
  if (axis->steps == 1) {
    slab.source += axis->pieces.front().source;
    slab.destination += axis->pieces.front().destination;
    return;
  }
  slab.elements *= axis->steps;
  slab.axes.push_back(std::move(axis));
}

std::int64_t floor_to(std::int64_t value, std::int64_t grain) {
  const std::int64_t rest = value % grain;
  return value - (rest < 0 ? rest + grain : rest);
}

relayout::Memory memory_of(std::int64_t slots, const Atom& atom) {
  relayout::Memory memory;
  const std::int64_t grain = is_block_float(atom.storage) ? slot_grain(atom) : 1;
  memory.slots = (slots + grain - 1) / grain * grain;
  memory.atom = is_block_float(atom.storage) ? atom : Atom::scalar(atom.storage);
  memory.bytes = memory.atom.bytes(memory.slots).value_or(0);
  return memory;
}

}  // namespace

Status for_each_slab(const ParcelShape& parcel, std::int64_t most, std::int64_t grain,
                     const std::function<Status(const Slab&)>& visit) {
  const std::vector<AxisPtr>& axes = parcel.axes;
  Slab base;
  base.source = parcel.source;
  base.destination = parcel.destination;
  const auto taken_apart = [grain](std::int64_t elements) {
    return Error{
        ErrorCode::kNotSupported,
        cat("elements that share tiles of ", grain, " are split, ", elements, " at a time"),
        std::nullopt, "shard whole tiles, or use larger packets"};
  };
  if (parcel.elements % grain != 0) return taken_apart(parcel.elements);
  if (parcel.elements <= most) {
    for (const AxisPtr& axis : axes) add_axis(axis, base);
    return visit(base);
  }
  // The slowest axis of which at least one step fits.
  std::size_t cut = 0;
  std::int64_t inner = parcel.elements / axes[0]->steps;
  while (inner > most) inner /= axes[++cut]->steps;
  if (inner % grain != 0) return taken_apart(inner);
  const std::int64_t chunks = (axes[cut]->steps + most / inner - 1) / (most / inner);
  std::int64_t slow = 1;
  for (std::size_t a = 0; a < cut; ++a) slow *= axes[a]->steps;
  for (std::int64_t i = 0; i < slow; ++i) {
    Slab at = base;
    std::int64_t left = i;
    std::int64_t below = slow;
    for (std::size_t a = 0; a < cut; ++a) {
      below /= axes[a]->steps;
      add_axis(range_of(*axes[a], left / below, left / below + 1), at);
      left %= below;
    }
    for (std::int64_t c = 0; c < chunks; ++c) {
      // Even shares; the longer ones first.
      const std::int64_t share = axes[cut]->steps / chunks;
      const std::int64_t longer = axes[cut]->steps % chunks;
      const std::int64_t first = c * share + std::min(c, longer);
      Slab slab = at;
      add_axis(range_of(*axes[cut], first, first + share + (c < longer ? 1 : 0)), slab);
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

SlabAt slab_at(const Slab& slab, SlabMove move, const Atom& atom, std::int64_t source,
               std::int64_t destination) {
  AxisReach from{source + slab.source, source + slab.source};
  AxisReach to{destination + slab.destination, destination + slab.destination};
  for (const AxisPtr& axis : slab.axes) {
    from.low += axis->source.low;
    from.high += axis->source.high;
    to.low += axis->destination.low;
    to.high += axis->destination.high;
  }
  const std::int64_t grain = slot_grain(atom);
  SlabAt at;
  if (move == SlabMove::kUnpack) {
    at.from_slots = slab.elements;
  } else {
    at.from_slot = floor_to(from.low, grain);
    at.from_slots = from.high + 1 - at.from_slot;
    at.base.a.slot = from.low - at.from_slot;
  }
  if (move == SlabMove::kPack) {
    at.to_slots = slab.elements;
  } else {
    at.to_slot = floor_to(to.low, grain);
    at.to_slots = to.high + 1 - at.to_slot;
    at.base.b.slot = to.low - at.to_slot;
  }
  at.key = {static_cast<std::int64_t>(move), at.from_slots, at.to_slots, at.base.a.slot,
            at.base.b.slot};
  for (const AxisPtr& axis : slab.axes) {
    at.key.push_back(static_cast<std::int64_t>(axis->print));
    at.key.push_back(axis->steps);
  }
  return at;
}

relayout::Program slab_program(const Slab& slab, SlabMove move, const Atom& atom,
                               const SlabAt& at) {
  relayout::Program program;
  program.from = memory_of(at.from_slots, atom);
  program.to = memory_of(at.to_slots, atom);
  std::vector<Factor> factors;
  std::int64_t later = slab.elements;
  for (const AxisPtr& axis : slab.axes) {
    later /= axis->steps;
    const auto side = [&](std::int64_t in_a, std::int64_t in_b, std::int64_t in_packed) {
      return PositionPair{{0, move == SlabMove::kUnpack ? in_packed : in_a},
                          {0, move == SlabMove::kPack ? in_packed : in_b}};
    };
    Factor factor;
    factor.pieces.reserve(axis->pieces.size());
    std::int64_t before = 0;
    for (const AxisPiece& piece : axis->pieces) {
      // Each axis counts from the lowest slot that it reaches, so that no offset is negative.
      Piece box;
      box.at = side(piece.source - axis->source.low, piece.destination - axis->destination.low,
                    before * later);
      std::int64_t inner = piece.steps;
      for (const reshard::BoxLoop& loop : piece.loops) {
        inner /= loop.extent;
        box.loops.push_back(
            {-1, loop.extent, 1, side(loop.source_stride, loop.destination_stride, inner * later)});
      }
      before += piece.steps;
      factor.pieces.push_back(std::move(box));
    }
    factors.push_back(std::move(factor));
  }
  program.copies.emplace_back(Shape(), Shape(), Shape(), at.base, std::move(factors));
  return program;
}

}  // namespace tessera::exchange
