// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/memory/problem.h"
#include "tessera/testing/generate.h"

namespace tessera::test {

/// A plan of the lowest peak, found by trying every order in which buffers can be put down. Time
/// grows with the factorial of what has to move: up to 8 ranges of memory are fine.
struct LowestPlan {
  std::int64_t peak = 0;
  std::vector<std::int64_t> offsets;
};
/// Nothing when there is no plan at all, however much memory there is: fixed buffers that meet,
/// aliases whose alignments contradict each other, fixed offsets that are no multiples.
std::optional<LowestPlan> lowest_plan(const memory::Problem& problem);

/// The most bytes of ranges that live at one moment, moment by moment, and the first such moment.
/// Alignment is not looked at.
struct NaiveLive {
  std::int64_t bytes = 0;
  std::int64_t moment = 0;
};
NaiveLive naive_max_live(const memory::Problem& problem);

/// What random problems are made of; chances in percent, of each buffer.
struct ProblemLimits {
  std::int64_t max_buffers = 7;
  std::int64_t max_moment = 9;
  std::int64_t max_size = 12;
  std::int64_t max_alignment = 16;  ///< powers of two and others
  int aligned = 25;
  int empty = 6;  ///< without bytes
  int twin = 15;  ///< equal to an earlier one
  int alias = 12;
  int fixed = 12;     ///< where a plan has it, so that there is one with all of them
  int misplaced = 0;  ///< fixed anywhere, also where it meets others or is misaligned
  int hint = 10;
};

/// A problem of 0 to max_buffers buffers, in no order: lives that are equal, touch, overlap or are
/// far apart; sizes of 0 and equal ones; views, parts of parts and outputs in place. Without
/// `misplaced` ones there is always a plan.
memory::Problem random_problem(Dice& dice, const ProblemLimits& limits);

/// The problem as C++ text, to be pasted into a test.
std::string text_of(const memory::Problem& problem);

}  // namespace tessera::test
