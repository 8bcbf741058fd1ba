// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/reshard/reshard.h"
#include "tessera/reshard/schedules/program.h"
#include "tessera/reshard/schedules/reductions.h"

/// schedules/: what a reshard takes on a machine whose routes are static. In: a Reshard on a fabric
/// with a few colours. Out: the schedules that a program could follow, each with its cycles, and
/// each as rounds of messages for the simulated fabric. Costs come from the product form (flows/),
/// or from a list of messages where there is none.
namespace tessera::reshard {

// =================================================================================================
// Schedules
//
// The routers of a wafer do not read destinations: a wavelet has one of about twenty colours, and
// each router was told in advance where each colour goes. Messages that share a colour at a router
// must take turns, and a route that no colour is left for must wait for another round. So a reshard
// is carried out by a schedule that arranges for few colours to suffice:
//
//   multicast_trees           every multicast has a colour of its own      multicast_trees.h
//   row_then_column_streams   the places of a line take turns              streams.h
//   direct                    every place has a route of its own per line  direct.h
//   shifts                    data move from neighbour to neighbour        shifts.h
//   chain, star, tree,        partial sums are added up along lines; then  reductions.h
//   two_phase                 one of the schedules above: "chain+direct"
//
// A schedule has phases, and a phase has rounds; a round starts when the previous one has ended
// everywhere. Within a phase no router changes where a colour goes, except that `direct` changes
// them between rounds. What the changes cost is not counted. Each header states the messages, the
// colours and the formula of its cycles; schedules_test.cc compares the formulas with the simulated
// fabric, and docs/reshard.md shows how good they are.
// =================================================================================================

/// A part of a schedule.
struct SchedulePhase {
  std::string name;  ///< "along rows", "along columns", "chain along rows", ..
  std::int64_t cycles = 0;
  std::int64_t rounds = 0;
  std::int64_t colours = 0;  ///< that one phase uses
  friend bool operator==(const SchedulePhase&, const SchedulePhase&) = default;
};

/// What one schedule takes.
struct ScheduleCost {
  std::optional<ReductionKind> reduction;
  std::string move;  ///< the schedule that moves data; empty if a reduction leaves nothing to move
  std::int64_t cycles = 0;
  std::vector<SchedulePhase> phases;  ///< those that take cycles

  /// "row_then_column_streams", "chain", "chain+direct".
  std::string name() const;
  std::int64_t rounds() const;
  std::int64_t colours() const;  ///< the most that one phase uses
  friend bool operator==(const ScheduleCost&, const ScheduleCost&) = default;
};

/// A schedule that does not apply, and why.
struct LeftOut {
  std::string name;
  std::string why;  ///< half a sentence
};

struct Schedules {
  std::vector<ScheduleCost> costs;  ///< cheapest first; empty if nothing crosses places
  std::vector<LeftOut> left_out;
};

/// All schedules of a reshard with their costs.
/// Law: cycles are those of a walk through all messages (testing/reshard/naive_schedules.h).
/// Example: 64x64 f32 from one place to Grid(4, 4): the cheapest is row_then_column_streams.
/// Errors: kNotSupported where the routes are not known; kTooLarge where there is no product form
/// and more than 2^22 messages.
Result<Schedules> schedules_of(const Reshard& reshard);

/// A schedule as rounds for the simulated fabric.
struct ScheduleProgram {
  std::vector<ReductionRound> reduction;  ///< first
  std::optional<Reshard> moved;  ///< what the rest moves: the reshard, or that of the sums to B
  Dispatches items;              ///< of `moved`
  Program moves;
};

/// The program of a schedule that schedules_of has for this reshard. Errors: kTooLarge beyond
/// `most` messages or destinations of messages.
Result<ScheduleProgram> program_of(const Reshard& reshard, const ScheduleCost& schedule,
                                   std::int64_t most);

/// The messages of each round. Their words are zero.
std::vector<fabric::Traffic> rounds_of(const ScheduleProgram& program);

}  // namespace tessera::reshard
