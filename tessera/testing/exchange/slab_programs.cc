// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/exchange/slab_programs.h"

#include <utility>
#include <vector>

#include "tessera/base/text.h"

namespace tessera::test {
namespace {

/// The packed part of one dim: `times` periods of a few segments.
struct Segments {
  struct One {
    std::int64_t at = 0;  ///< in the shard, in the first period
    std::int64_t length = 1;
    std::int64_t before = 0;  ///< elements packed of the segments before it, in one period
  };
  std::vector<One> list;
  std::int64_t times = 1;
  std::int64_t period = 0;  ///< in the shard
  std::int64_t packed = 0;  ///< of one period
  std::int64_t extent() const { return period * times; }
  std::int64_t all() const { return packed * times; }
};

Segments random_segments(Dice& dice, std::int64_t longest) {
  Segments segments;
  segments.times = dice.between(1, 4);
  const std::int64_t count = dice.between(1, 5);
  const std::int64_t alike = dice.chance(50) ? dice.between(1, longest) : 0;
  for (std::int64_t i = 0; i < count; ++i) {
    segments.period += dice.chance(70) ? dice.below(9) : 0;
    const std::int64_t length = alike > 0 ? alike : dice.between(1, longest);
    segments.list.push_back({segments.period, length, segments.packed});
    segments.period += length;
    segments.packed += length;
  }
  segments.period += dice.below(9);
  return segments;
}

/// Strides of dims of these extents in this order, the last fastest.
std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& extents,
                                     const std::vector<std::size_t>& order, std::int64_t& slots) {
  std::vector<std::int64_t> strides(extents.size());
  slots = 1;
  for (std::size_t k = order.size(); k-- > 0;) {
    strides[order[k]] = slots;
    slots *= extents[order[k]];
  }
  return strides;
}

/// Runs a nest's loops from loop `l` on.
void step_through(const relayout::Program& program, const Nest& nest, std::size_t l,
                  PositionPair at, const std::function<void(std::int64_t, std::int64_t)>& visit) {
  if (l == nest.loops.size()) return visit(program.from.flat(at.a), program.to.flat(at.b));
  for (std::int64_t i = 0; i < nest.loops[l].extent; ++i) {
    step_through(program, nest, l + 1, at, visit);
    at.a = at.a + nest.loops[l].move.a;
    at.b = at.b + nest.loops[l].move.b;
  }
}

}  // namespace

relayout::Memory one_place(std::int64_t slots, DType type) {
  return {Shape(), slots, Atom::scalar(type), slots * *dtype_bits(type) / 8};
}

SlabDraw random_slab(Dice& dice, DType type, std::int64_t longest) {
  const bool packing = dice.chance(50);
  const auto rank = static_cast<std::size_t>(dice.between(1, 3));
  std::vector<Segments> dims;
  std::vector<std::int64_t> shard_extents;
  std::vector<std::int64_t> slab_extents;
  for (std::size_t d = 0; d < rank; ++d) {
    dims.push_back(random_segments(dice, d + 1 == rank ? longest : 6));
    shard_extents.push_back(dims.back().extent() + (dice.chance(30) ? dice.below(40) : 0));
    slab_extents.push_back(dims.back().all());
  }
  const std::vector<std::size_t> order = dice.order(rank);
  const bool turns = dice.chance(30);
  std::int64_t shard_slots = 0;
  std::int64_t slab_slots = 0;
  const auto shard = strides_of(shard_extents, order, shard_slots);
  const auto slab = strides_of(slab_extents, turns ? dice.order(rank) : order, slab_slots);
  const auto positions = [&](std::int64_t in_shard, std::int64_t in_slab) {
    return packing ? PositionPair{{0, in_shard}, {0, in_slab}}
                   : PositionPair{{0, in_slab}, {0, in_shard}};
  };
  std::vector<Factor> factors;
  std::int64_t flipped = 0;
  for (std::size_t d = 0; d < rank; ++d) {
    const Segments& dim = dims[d];
    const int number = static_cast<int>(d);
    const bool by_segment = dice.chance(50);  // all periods of a segment are packed together
    const bool flips = dice.chance(15);       // the shard stores the dim reversed
    const std::int64_t step = flips ? -shard[d] : shard[d];
    if (flips) flipped += (shard_extents[d] - 1) * shard[d];
    Factor factor;
    factor.dims = {number};
    for (const Segments::One& one : dim.list) {
      Piece piece;
      piece.origin = {0};
      const std::int64_t first = by_segment ? one.before * dim.times : one.before;
      piece.at = positions(one.at * step, first * slab[d]);
      const std::int64_t next = by_segment ? one.length : dim.packed;
      piece.loops.push_back({number, dim.times, 1, positions(dim.period * step, next * slab[d])});
      piece.loops.push_back({number, one.length, 1, positions(step, slab[d])});
      factor.pieces.push_back(std::move(piece));
    }
    factors.push_back(std::move(factor));
  }
  relayout::Program program;
  program.from = one_place(packing ? shard_slots : slab_slots, type);
  program.to = one_place(packing ? slab_slots : shard_slots, type);
  program.copies.emplace_back(*Shape::make(slab_extents), Shape(), Shape(), positions(flipped, 0),
                              std::move(factors));
  return {std::move(program),
          cat("\n  ", packing ? "packing " : "unpacking ", slab_slots, " of ", shard_slots, " ",
              dtype_name(type), ", rank ", rank, turns ? ", turned" : "")};
}

void for_each_step(const relayout::Program& program,
                   const std::function<void(std::int64_t, std::int64_t)>& visit) {
  for (std::int64_t i = 0; i < program.nests(); ++i) {
    const Nest nest = program.nest(i);
    step_through(program, nest, 0, nest.at, visit);
  }
}

}  // namespace tessera::test
