// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/box_move.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include "tessera/base/sort_stably.h"
#include "tessera/base/text.h"
#include "tessera/relayout/kernels/kernels.h"

namespace tessera::device {
namespace {

/// Runs of so many bytes are copied one by one; shorter ones by a plan, if the box is large enough
/// to be worth the microsecond that it takes to begin.
constexpr std::int64_t kLongRun = 32;
constexpr std::int64_t kPlanElements = 2048;

/// The elements of a nest of loops, between memories that begin at the lowest slots.
relayout::Program program_of(std::span<const reshard::BoxLoop> loops, const Atom& atom,
                             const SlotBox& source, const SlotBox& destination) {
  relayout::Program program;
  const auto memory = [&](const SlotBox& box, std::int64_t& low) {
    std::int64_t high = 0;
    reach_of(box, low, high);
    relayout::Memory made;
    made.atom = Atom::scalar(atom.storage);
    made.slots = high + 1 - low;
    made.bytes = made.atom.bytes(made.slots).value_or(0);
    return made;
  };
  PositionPair base;
  program.from = memory(source, base.a.slot);
  program.to = memory(destination, base.b.slot);
  base = {{0, -base.a.slot}, {0, -base.b.slot}};
  Factor factor;
  Piece piece;
  for (const reshard::BoxLoop& loop : loops) {
    piece.loops.push_back(
        {-1, loop.extent, 1, {{0, loop.source_stride}, {0, loop.destination_stride}}});
  }
  factor.pieces.push_back(std::move(piece));
  program.copies.emplace_back(Shape(), Shape(), Shape(), base, std::vector<Factor>{factor});
  return program;
}

template <typename Word>
void fill_words(std::byte* to, std::int64_t count, std::uint64_t bits) {
  const auto word = static_cast<Word>(bits);
  for (std::int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * std::int64_t{sizeof word}, &word, sizeof word);
}

}  // namespace

std::vector<reshard::BoxLoop> BoxMove::sorted(std::span<const reshard::BoxLoop> loops) {
  std::vector<reshard::BoxLoop> order;
  for (const reshard::BoxLoop& loop : loops) {
    if (loop.extent != 1) order.push_back(loop);
  }
  const auto before = [](const reshard::BoxLoop& x, const reshard::BoxLoop& y) {
    const std::int64_t to_x = std::abs(x.destination_stride);
    const std::int64_t to_y = std::abs(y.destination_stride);
    return to_x != to_y ? to_x > to_y : std::abs(x.source_stride) > std::abs(y.source_stride);
  };
  sort_stably(order, before);
  std::vector<reshard::BoxLoop> joined;
  for (const reshard::BoxLoop& loop : order) {
    if (!joined.empty() && joined.back().source_stride == loop.extent * loop.source_stride &&
        joined.back().destination_stride == loop.extent * loop.destination_stride) {
      joined.back() = {joined.back().extent * loop.extent, loop.source_stride,
                       loop.destination_stride};
    } else {
      joined.push_back(loop);
    }
  }
  return joined;
}

Result<BoxMove> BoxMove::make(std::span<const reshard::BoxLoop> loops, const Atom& atom) {
  BoxMove made;
  made.cells_ = Cells::of(atom);
  made.loops_ = sorted(loops);
  for (const reshard::BoxLoop& loop : made.loops_) {
    made.source_.push_back({loop.extent, loop.source_stride});
    made.destination_.push_back({loop.extent, loop.destination_stride});
  }
  made.outer_ = made.loops_.size();
  if (made.outer_ > 0 && made.loops_.back().source_stride == 1 &&
      made.loops_.back().destination_stride == 1) {
    made.run_ = made.loops_[--made.outer_].extent;
  }
  const std::int64_t cell = made.cells_.slots;
  if (cell > 1) {
    bool whole = made.run_ % cell == 0;
    for (std::size_t i = 0; i < made.outer_; ++i) {
      whole = whole && made.loops_[i].source_stride % cell == 0 &&
              made.loops_[i].destination_stride % cell == 0;
    }
    if (whole) return made;
    return Error{ErrorCode::kNotSupported,
                 cat("tiles of ", cell, " block floats do not move as a whole"), std::nullopt,
                 "shard whole tiles, or move elements that have an address of their own"};
  }
  const bool is_short = made.cells_.are_bytes() && made.run_ * made.cells_.bits / 8 < kLongRun;
  if (!is_short || made.outer_ == 0 || made.elements() < kPlanElements) return made;
  const relayout::Program program =
      program_of(made.loops_, atom, made.source(0), made.destination(0));
  std::int64_t high = 0;
  reach_of(made.source(0), made.from_low_, high);
  reach_of(made.destination(0), made.to_low_, high);
  TESSERA_TRY(relayout::Plan plan,
              relayout::Plan::make(program, {.stores = relayout::Stores::kPlain}));
  made.plan_ = std::move(plan);
  return made;
}

/// Calls visit(slot in the source, slot in the destination) for every step of the first loops: all
/// `outer_` of them for every run.
template <typename Visit>
void BoxMove::walk(std::size_t loops, std::int64_t from, std::int64_t to,
                   const Visit& visit) const {
  if (loops == 0) {
    visit(from, to);
    return;
  }
  const auto nest = [&](const auto& self, std::size_t at, std::int64_t a, std::int64_t b) -> void {
    const reshard::BoxLoop& loop = loops_[at];
    for (std::int64_t i = 0; i < loop.extent; ++i) {
      if (at + 1 == loops) {
        visit(a, b);
      } else {
        self(self, at + 1, a, b);
      }
      a += loop.source_stride;
      b += loop.destination_stride;
    }
  };
  nest(nest, 0, from, to);
}

/// The innermost loop of runs is one call.
void BoxMove::stream(At<const std::byte> from, At<std::byte> to) const {
  const std::int64_t bytes = cells_.bit(run_) / 8;
  const reshard::BoxLoop last = outer_ > 0 ? loops_[outer_ - 1] : reshard::BoxLoop{};
  walk(outer_ > 0 ? outer_ - 1 : 0, from.slot, to.slot, [&](std::int64_t a, std::int64_t b) {
    relayout::copy_runs(to.memory + cells_.bit(b) / 8, cells_.bit(last.destination_stride) / 8,
                        from.memory + cells_.bit(a) / 8, cells_.bit(last.source_stride) / 8,
                        last.extent, bytes, true);
  });
}

Status BoxMove::copy(At<const std::byte> from, At<std::byte> to, ThreadPool& pool,
                     bool is_streaming) const {
  if (plan_) {
    const relayout::Program& program = plan_->program();
    const std::int64_t width = cells_.bits / 8;
    return plan_->run(
        {from.memory + (from.slot + from_low_) * width,
         static_cast<std::size_t>(program.from.bytes)},
        {to.memory + (to.slot + to_low_) * width, static_cast<std::size_t>(program.to.bytes)},
        pool);
  }
  const std::int64_t bits = cells_.bit(run_);
  if (is_streaming && cells_.are_bytes() && bits / 8 >= relayout::kLine) {
    stream(from, to);
    return ok_status();
  }
  if (cells_.are_bytes()) {
    const auto copy_runs = [&](auto bytes) {
      walk(outer_, from.slot, to.slot, [&](std::int64_t a, std::int64_t b) {
        std::memcpy(to.memory + cells_.bit(b) / 8, from.memory + cells_.bit(a) / 8, bytes);
      });
    };
    // Short runs are copied by a few instructions each.
    switch (bits) {
      case 8:
        copy_runs(std::integral_constant<std::size_t, 1>());
        break;
      case 16:
        copy_runs(std::integral_constant<std::size_t, 2>());
        break;
      case 32:
        copy_runs(std::integral_constant<std::size_t, 4>());
        break;
      case 64:
        copy_runs(std::integral_constant<std::size_t, 8>());
        break;
      case 128:
        copy_runs(std::integral_constant<std::size_t, 16>());
        break;
      default:
        copy_runs(static_cast<std::size_t>(bits / 8));
        break;
    }
  } else {
    walk(outer_, from.slot, to.slot, [&](std::int64_t a, std::int64_t b) {
      copy_bits(to.memory, cells_.bit(b), from.memory, cells_.bit(a), bits);
    });
  }
  return ok_status();
}

void BoxMove::combine(At<const std::byte> from, At<std::byte> to,
                      const relayout::Combiner& combiner) const {
  const std::int64_t width = cells_.bits / 8;
  walk(outer_, from.slot, to.slot, [&](std::int64_t a, std::int64_t b) {
    combiner.combine_all(to.memory + b * width, from.memory + a * width, run_);
  });
}

void BoxMove::fill(At<std::byte> to, std::uint64_t bits) const {
  walk(outer_, 0, to.slot, [&](std::int64_t, std::int64_t b) {
    std::byte* const at = to.memory + cells_.bit(b) / 8;
    if (cells_.bits == 8) fill_words<std::uint8_t>(at, run_, bits);
    if (cells_.bits == 16) fill_words<std::uint16_t>(at, run_, bits);
    if (cells_.bits == 32) fill_words<std::uint32_t>(at, run_, bits);
    if (cells_.bits == 64) fill_words<std::uint64_t>(at, run_, bits);
    for (std::int64_t i = 0; cells_.bits < 8 && i < run_; ++i) {
      std::byte element{static_cast<unsigned char>(bits)};
      copy_bits(to.memory, cells_.bit(b + i), &element, 0, cells_.bits);
    }
  });
}

}  // namespace tessera::device
