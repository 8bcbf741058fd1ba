// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/fabric/simulate.h"
#include "tessera/reshard/reshard.h"
#include "tessera/reshard/schedules/line_load.h"

namespace tessera::reshard {

// =================================================================================================
// chain, star, tree, two_phase
//
// Partial sums that A keeps in P places of a line, g steps apart, are added up in the first or the
// last of them, the root. All lines do so at the same time, first along rows, then, if A has shares
// along both axes, along the column of the roots. What the roots have is then moved to B by one of
// the other schedules. With W words per place (the largest tile) and T = T_R:
//
//   chain       each place adds its words to those of its neighbour and passes the sums on, word by
//               word:                                 W + (2T + 1 + g)(P - 1) - 1
//   star        all places send to the root, over one colour, the nearest first:
//                                                     2T + max(W(P - 1) + g, W + g(P - 1))
//   tree        in round k, every second of the places that are left sends to the one 2^k places
//               before it:                            Σ over k < ceil(log2 P) of W + g·2^k + 2T
//   two_phase   chains in segments of S places, then a chain of their first places; S is the one
//               that takes least:  W + (2T + 1 + g)(S - 1) - 1
//                                + W + (2T + 1 + S·g)(ceil(P/S) - 1) - 1
//
// An add takes one cycle where its result is sent on, and none in the root (fabric/simulate.h), so
// for g = 1 these are the closed forms of Near-Optimal Wafer-Scale Reduce (HPDC 2024) up to one
// cycle per stage: chain_cycles - 1, star_cycles.
// =================================================================================================

enum class ReductionKind : std::uint8_t { kChain, kStar, kTree, kTwoPhase };
inline constexpr std::array kReductions = {ReductionKind::kChain, ReductionKind::kStar,
                                           ReductionKind::kTree, ReductionKind::kTwoPhase};
std::string_view reduction_schedule_name(ReductionKind kind);

/// The shares of one line.
struct ShareLine {
  Axis axis = Axis::kAlongRows;
  std::int64_t shares = 1;   ///< P
  std::int64_t spacing = 1;  ///< g
  bool root_is_last = false;
};

/// What one line takes.
struct LineReduction {
  std::int64_t cycles = 0;
  std::int64_t rounds = 1;
  std::int64_t colours = 1;
};
LineReduction line_reduction(ReductionKind kind, const ShareLine& line, std::int64_t words,
                             std::int64_t ramp_cycles);
/// S of two_phase.
std::int64_t segment_of(const ShareLine& line, std::int64_t ramp_cycles);

/// How the shares of A are added up.
struct ReductionPlan {
  std::vector<ShareLine> lines;  ///< one or two, in order
  std::int64_t words = 0;        ///< of the largest tile
  Placement result;              ///< where the sums are: A without shares
};

/// The plan of a reshard that reduces, or why there is none: half a sentence.
Result<std::variant<ReductionPlan, std::string>> reduction_plan(const Reshard& reshard);

/// A message of a reduction: all words of a tile.
struct ReductionMessage {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int32_t colour = 0;
  std::int64_t words = 0;
  std::int64_t after = -1;  ///< the message of this round whose sums it passes on
};
/// Messages of a round; a message to a place that does not pass it on in the same round is added
/// there.
using ReductionRound = std::vector<ReductionMessage>;

/// The rounds of a plan: one place for each place of the plan's result, with the places of all
/// shares of it. Errors: those of dispatches_of; kTooLarge beyond `most` messages.
Result<std::vector<ReductionRound>> reduction_rounds(const Reshard& reshard,
                                                     const ReductionPlan& plan, ReductionKind kind,
                                                     std::int64_t most);

/// Words are zero; message i begins at word first_words[i].
struct ReductionTraffic {
  fabric::Traffic traffic;
  std::vector<std::int64_t> first_words;
};
ReductionTraffic traffic_of(const ReductionRound& round);

}  // namespace tessera::reshard
