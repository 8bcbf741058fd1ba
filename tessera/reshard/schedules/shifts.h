// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/reshard/schedules/carries.h"
#include "tessera/reshard/schedules/line_load.h"
#include "tessera/reshard/schedules/program.h"

namespace tessera::reshard {

// =================================================================================================
// shifts
//
// Data move from place to neighbouring place, in steps: first everything that goes east, then
// everything that goes west, south and north. In step d of a direction, each place passes on what
// started d - 1 places behind it and goes further, and keeps what ends with it. With N_d the most
// words that one place passes on in step d, a direction takes
//
//     Σ over its steps d of N_d + 2·T_R + 1
//
// Each direction has two colours, used by places in turn, so that a router never sees one colour
// arrive and leave: eight in all. Nothing has to be known about the rest of the line, and no route
// is longer than one link. Where tiles move a few places each, this is close to what the links
// need; over long distances every step costs 2·T_R + 1 cycles, where a stream costs one.
// =================================================================================================

struct ShiftCost {
  std::int64_t cycles = 0;
  std::int64_t rounds = 0;
};
/// The cost of the two directions of a phase.
ShiftCost shift_cost(const LineLoads& loads, const Reshard::Rate& rate, std::int64_t ramp_cycles);

inline constexpr std::int32_t kShiftColours = 4;

/// Appends the steps of a phase as rounds. They use kShiftColours colours from `first_colour` on.
void add_shift_rounds(const Carries& carries, const Dispatches& dispatches,
                      const Reshard::Rate& rate, std::int32_t first_colour, Program& program);

}  // namespace tessera::reshard
