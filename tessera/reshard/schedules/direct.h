// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/reshard/schedules/carries.h"
#include "tessera/reshard/schedules/line_load.h"
#include "tessera/reshard/schedules/program.h"

namespace tessera::reshard {

// =================================================================================================
// direct
//
// Each place sends everything that leaves it in one direction over a route of its own: from the
// place to the farthest place that needs some of it. All places on the way receive the words and
// keep what they need. First along rows, then along columns.
//
// Routes of one line are intervals, and two routes that share a router need different colours.
// Taken by their lower ends, each gets the first colour that is free; this needs no more colours
// than the most routes that meet at a router. If the mesh has C colours, the routes with colours
// 0 to C - 1 make the first round, those with C to 2C - 1 the second, and so on. A round takes, on
// the slowest line, 2·T_R plus the largest of
//
//     each link    words over it + (the nearest end beyond it) - (the nearest start before it)
//     each place   if it receives from both sides: all these words + 1;
//                  if it sends to both sides: all these words + steps of the longer stream
//
// This is best where tiles move a few places each, so that few routes meet.
// =================================================================================================

/// A route of one line.
struct DirectRoute {
  std::int32_t low = 0;
  std::int32_t high = 0;
  bool up = true;  ///< it starts at its lower end
  std::int32_t colour = 0;
  std::int64_t words = 0;

  std::int32_t start() const { return up ? low : high; }
  std::int32_t end() const { return up ? high : low; }
};

/// The routes of a line, by lower end, then upper end, upward ones first.
std::vector<DirectRoute> direct_routes(const LineLoad& load, const Reshard::Rate& rate);

struct DirectCost {
  std::int64_t cycles = 0;
  std::int64_t rounds = 0;
  std::int64_t colours = 0;
  bool is_known = true;  ///< false beyond kMaxDirectRoutes
};
/// The most routes of all lines that differ.
inline constexpr std::int64_t kMaxDirectRoutes = std::int64_t{1} << 15;

DirectCost direct_cost(const LineLoads& loads, const Reshard::Rate& rate,
                       const fabric::FabricMesh& mesh);

void add_direct_rounds(const Carries& carries, const Dispatches& dispatches,
                       const Reshard::Rate& rate, const fabric::FabricMesh& mesh, Program& program);

}  // namespace tessera::reshard
