// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/packets/rank_start.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/layout/algebra/replicas.h"
#include "tessera/layout/form.h"
#include "tessera/relayout/jobs/combine.h"
#include "tessera/reshard/part.h"

namespace tessera::exchange {
namespace {

/// More padding work than this costs more than writing the whole memory first.
constexpr std::int64_t kMostVisited = std::int64_t{1} << 22;
constexpr std::size_t kMostFills = 4096;

/// Fills on the places of one rank, derived from fills on all places.
struct OwnFills {
  const RankSide& side;
  std::int64_t visited = 0;
  std::vector<relayout::FillNest> fills = {};

  /// Adds the part of `nest` that is on places of the rank, place by place. Consecutive places in
  /// its memory with the same slots are merged.
  void add(const relayout::FillNest& nest) {
    relayout::FillNest own;
    std::vector<relayout::FillLoop> over_places;
    for (const relayout::FillLoop& loop : nest.loops) {
      (loop.step.place != 0 ? over_places : own.loops).push_back(loop);
    }
    std::vector<Position> found;
    std::vector<std::int64_t> digits(over_places.size(), 0);
    Position at = nest.at;
    for (bool more = true; more;) {
      ++visited;
      const std::int64_t position = side.position(at.place);
      if (position < side.memory.mesh.elements() &&
          side.places[static_cast<std::size_t>(position)] == at.place) {
        found.push_back({position, at.slot});
      }
      more = false;
      for (std::size_t i = digits.size(); i-- > 0 && !more;) {
        at += over_places[i].step;
        more = ++digits[i] < over_places[i].extent;
        if (!more) {
          at = at - over_places[i].step * over_places[i].extent;
          digits[i] = 0;
        }
      }
    }
    std::sort(found.begin(), found.end(), [](const Position& x, const Position& y) {
      return x.slot != y.slot ? x.slot < y.slot : x.place < y.place;
    });
    for (std::size_t i = 0; i < found.size();) {
      std::size_t end = i + 1;
      while (end < found.size() && found[end].slot == found[i].slot &&
             found[end].place == found[end - 1].place + 1) {
        ++end;
      }
      own.at = found[i];
      fills.push_back(own);
      fills.back().loops.insert(fills.back().loops.begin(),
                                {static_cast<std::int64_t>(end - i), {1, 0}});
      i = end;
    }
  }
};

/// A plan that writes the padding of the rank's places; empty where there is none to write.
Result<std::optional<relayout::Plan>> padding_of(const Placement& to, const RankSide& side,
                                                 relayout::PaddingRule rule) {
  relayout::Program program = relayout::padding_program(to, rule);
  if (program.fills.empty() || side.memory.elements() == 0) return std::optional<relayout::Plan>();
  OwnFills own{side};
  for (const relayout::FillNest& nest : program.fills) {
    program.fills_cover_data =
        program.fills_cover_data || own.visited > kMostVisited || own.fills.size() > kMostFills;
    if (program.fills_cover_data) break;
    own.add(nest);
  }
  if (program.fills_cover_data) {
    own.fills = {{{}, {{side.memory.mesh.elements(), {1, 0}}, {side.memory.slots, {0, 1}}}}};
  }
  if (own.fills.empty()) return std::optional<relayout::Plan>();
  program.fills = std::move(own.fills);
  program.to = side.memory;
  TESSERA_TRY(relayout::Plan plan, relayout::Plan::make(std::move(program)));
  return std::optional<relayout::Plan>(std::move(plan));
}

/// The slots of a form's elements on all places that hold them, including copies and shares.
Status add_elements(const Form& form, OwnFills& own) {
  TESSERA_TRY(const Refinement nests, refine(form));
  const std::vector<std::int64_t> strides = form.mesh.row_major_strides();
  std::vector<relayout::FillNest> repeated = {{}};
  for (std::size_t axis = 0; axis < form.mesh.rank(); ++axis) {
    const OffsetSet offsets = all_offsets(form.fills, static_cast<int>(axis));
    if (offsets.size() <= 1) continue;
    std::vector<relayout::FillNest> more;
    for (const relayout::FillNest& nest : repeated) {
      const std::int64_t listed = offsets.offsets.empty() ? 1 : offsets.size();
      for (std::int64_t i = 0; i < listed; ++i) {
        more.push_back(nest);
        if (offsets.offsets.empty()) {
          more.back().loops.push_back({offsets.count, {offsets.stride * strides[axis], 0}});
        } else {
          more.back().at.place += offsets.at(i) * strides[axis];
        }
      }
    }
    repeated = std::move(more);
  }
  for (std::int64_t i = 0; i < nests.nests(); ++i) {
    const Nest nest = nests.nest(i);
    for (relayout::FillNest fill : repeated) {
      fill.at += nest.at.b;
      for (const Loop& loop : nest.loops) fill.loops.push_back({loop.extent, loop.move.b});
      own.add(fill);
    }
  }
  return ok_status();
}

/// The neutral element of a part whose shares are combined or initialised; empty for other parts.
Result<std::optional<std::uint64_t>> neutral_of(const reshard::ReshardPart& part, DType storage) {
  if (part.shares.alike) return std::optional<std::uint64_t>();
  std::optional<std::uint64_t> neutral;
  const auto add = [&](Reduction reduction) -> Status {
    TESSERA_TRY(const relayout::Combiner combiner, relayout::combiner_of(reduction, storage));
    if (neutral && *neutral != combiner.neutral) {
      return Error{ErrorCode::kNotSupported,
                   cat("shares of reduction ", reduction_name(part.shares.reduction),
                       " become shares of reduction ", reduction_name(reduction)),
                   std::nullopt, "reduce them first, and create the new shares in a second step"};
    }
    neutral = combiner.neutral;
    return ok_status();
  };
  if (part.shares.reduces()) TESSERA_CHECK_OK(add(part.shares.reduction));
  for (const Fill& fill : part.b.fills) {
    if (fill.kind == Fill::Kind::kPartial && fill.count > 1) TESSERA_CHECK_OK(add(fill.reduction));
  }
  return neutral;
}

template <typename Bits>
void fill_slots(std::byte* memory, std::int64_t slot, std::span<const relayout::FillLoop> loops,
                std::int64_t slots, Bits bits) {
  if (loops.empty()) {
    std::memcpy(memory + slot * static_cast<std::int64_t>(sizeof(Bits)), &bits, sizeof bits);
    return;
  }
  const std::int64_t step = loops.front().step.place * slots + loops.front().step.slot;
  for (std::int64_t i = 0; i < loops.front().extent; ++i) {
    fill_slots(memory, slot + i * step, loops.subspan(1), slots, bits);
  }
}

}  // namespace

Result<RankStart> RankStart::make(const reshard::Reshard& reshard, const RankSide& side,
                                  relayout::PaddingRule rule) {
  RankStart made;
  TESSERA_TRY(made.padding_, padding_of(reshard.to(), side, rule));
  made.slots_ = side.memory.slots;
  OwnFills own{side};
  std::optional<std::uint64_t> all;
  for (const reshard::ReshardPart& part : reshard.parts()) {
    TESSERA_TRY(const std::optional<std::uint64_t> neutral,
                neutral_of(part, side.memory.storage()));
    if (!neutral) continue;
    if (all && *all != *neutral) {
      return Error{ErrorCode::kNotSupported, "pieces are shared by different reductions",
                   std::nullopt, "reduce them first"};
    }
    all = neutral;
    made.neutral_ = *neutral;
    made.width_ = dtype_bits(side.memory.storage()).value_or(8) / 8;
    TESSERA_CHECK_OK(add_elements(part.b, own));
  }
  made.neutral_at_ = std::move(own.fills);
  return made;
}

Status RankStart::run(std::span<std::byte> to, ThreadPool& pool) const {
  if (padding_) TESSERA_CHECK_OK(padding_->run({}, to, pool));
  for (const relayout::FillNest& nest : neutral_at_) {
    const std::int64_t slot = nest.at.place * slots_ + nest.at.slot;
    const auto fill = [&](auto bits) {
      fill_slots(to.data(), slot, nest.loops, slots_, static_cast<decltype(bits)>(neutral_));
    };
    if (width_ == 1) fill(std::uint8_t{});
    if (width_ == 2) fill(std::uint16_t{});
    if (width_ == 4) fill(std::uint32_t{});
    if (width_ == 8) fill(std::uint64_t{});
  }
  return ok_status();
}

}  // namespace tessera::exchange
