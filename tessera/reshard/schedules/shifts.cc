// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/schedules/shifts.h"

#include <span>
#include <utility>
#include <vector>

namespace tessera::reshard {

ShiftCost shift_cost(const LineLoads& loads, const Reshard::Rate& rate, std::int64_t ramp_cycles) {
  ShiftCost cost;
  const StepLoads steps = loads.steps();
  for (const auto* direction : {&steps.up, &steps.down}) {
    for (std::size_t d = 1; d < direction->size(); ++d) {
      cost.cycles += rate.of((*direction)[d]) + 2 * ramp_cycles + 1;
      ++cost.rounds;
    }
  }
  return cost;
}

void add_shift_rounds(const Carries& carries, const Dispatches& dispatches,
                      const Reshard::Rate& rate, std::int32_t first_colour, Program& program) {
  for (const bool up : {true, false}) {
    const std::size_t first_round = program.rounds.size();
    const auto reach = [&](const Carry& carry) {
      const auto ends = carries.ends_of(carry);
      return up ? ends.back() - carry.start : carry.start - ends.front();
    };
    const auto add_step = [&](std::span<const Carry> start, std::int32_t step) {
      const std::int32_t from = start.front().start + (up ? step - 1 : 1 - step);
      const std::int32_t line = start.front().line;
      const std::int32_t to = carries.lines.node(line, up ? from + 1 : from - 1);
      Send send;
      send.source = carries.lines.node(line, from);
      send.colour = first_colour + (up ? 0 : 2) + from % 2;
      LegMaker legs(rate);
      for (const Carry& carry : start) {
        if (reach(carry) < step) continue;
        send.items.push_back(carry.item);
        legs.add(dispatches.list[carry.item].elements, std::span(&to, 1));
      }
      if (send.items.empty()) return false;
      send.legs = legs.take();
      const std::size_t round = first_round + static_cast<std::size_t>(step) - 1;
      if (program.rounds.size() <= round) program.rounds.resize(round + 1);
      program.rounds[round].sends.push_back(std::move(send));
      return true;
    };
    carries.for_each_line([&](std::span<const Carry> line) {
      Carries::for_each_start(line, [&](std::span<const Carry> start) {
        for (std::int32_t step = 1; add_step(start, step); ++step) {
        }
      });
    });
  }
}

}  // namespace tessera::reshard
