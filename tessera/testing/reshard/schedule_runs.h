// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tessera/reshard/schedules/schedule.h"

namespace tessera::test {

/// A schedule that was carried out on the simulated fabric, with data.
struct ScheduleRun {
  std::int64_t cycles = 0;
  std::int64_t rounds = 0;
  std::string mistake;  ///< empty if everything arrived
};

/// Runs the rounds one after the other. Every place has only what it received: a place that sends
/// an item that it does not have is a mistake, and so is an item that does not reach a place of its
/// set exactly once, in its original bits, and a root that does not have the sum of all shares
/// exactly once. Messages use no more colours than the mesh has, and no round needs phases.
ScheduleRun run_schedule(const reshard::Reshard& reshard, const reshard::ScheduleCost& schedule);

}  // namespace tessera::test
