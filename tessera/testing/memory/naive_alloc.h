// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/memory/problem.h"
#include "tessera/testing/generate.h"

/// testing/memory/: what the tests of memory/ share. Problems and plans come in; lowest plans,
/// bounds and test failures go out. The searches here share no code with the solver.
namespace tessera::test {

/// A plan of the lowest peak, found by trying every order in which buffers can be placed. Time
/// grows with the factorial of the number of ranges that are not fixed: up to 8 ranges of memory
/// are fine. If any buffer has gaps, every offset is tried (families.h): up to 5 buffers of a few
/// bytes are fine.
struct LowestPlan {
  std::int64_t peak = 0;
  std::vector<std::int64_t> offsets;
};
/// Nothing when there is no plan with any amount of memory: fixed buffers that overlap, aliases
/// whose alignments contradict each other, fixed offsets that are not multiples.
std::optional<LowestPlan> lowest_plan(const memory::Problem& problem);

/// The most bytes of ranges that are alive at one moment, found moment by moment, and the first
/// such moment. In a gap, the bytes that are kept count. Alignment is ignored.
struct NaiveLive {
  std::int64_t bytes = 0;
  std::int64_t moment = 0;
};
NaiveLive naive_max_live(const memory::Problem& problem);

/// The parameters of random problems; chances in percent, per buffer.
struct ProblemLimits {
  std::int64_t max_buffers = 7;
  std::int64_t max_moment = 9;
  std::int64_t max_size = 12;
  std::int64_t max_alignment = 16;  ///< powers of two and others
  int aligned = 25;
  int empty = 6;  ///< without bytes
  int twin = 15;  ///< equal to an earlier one
  int alias = 12;
  int fixed = 12;     ///< at its offset in some plan, so that a plan with all of them exists
  int misplaced = 0;  ///< fixed anywhere, possibly overlapping others or misaligned
  int hint = 10;
  int gaps = 0;      ///< in the lifetime; not of those that share memory
  int slivers = 25;  ///< of those with gaps: a byte or two at a time, so that others interlock
};

/// A problem of 0 to max_buffers buffers, in no particular order: lifetimes that are equal, touch,
/// overlap or are far apart; sizes of 0 and equal ones; views, parts of parts and in-place outputs.
/// Without `misplaced` ones a plan always exists.
memory::Problem random_problem(Dice& dice, const ProblemLimits& limits);

/// The problem as C++ source, to be pasted into a test.
std::string text_of(const memory::Problem& problem);

}  // namespace tessera::test
