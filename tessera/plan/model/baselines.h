// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/plan/model/decisions.h"

namespace tessera::plan {

/// Choices that do not look at the whole model, among the same candidates and without regard to
/// memory. Their cost is that of the problem; what they compare and has no price yet is priced.

/// Op after op: the work and the layouts of its results that take the least, given where its inputs
/// are; an input that is not computed is stored as its first reader likes it best.
Choice greedy_forward(Decisions& decisions);

/// Each op has the work that takes the least if its operands may be anywhere, and each value is
/// stored as the op that makes it likes it best.
Choice each_op_alone(Decisions& decisions);

/// Cycles of a choice; empty for one with a forbidden pair.
std::optional<double> cycles_of(Decisions& decisions, const Choice& choice);

/// For each node the best other work with everything else as chosen, as its number of strategies,
/// and what it costs more; empty where there is no other.
struct OtherWork {
  std::int64_t strategy = 0;
  double more_cycles = 0;
};
std::vector<std::optional<OtherWork>> runners_up(Decisions& decisions, const Choice& choice);

}  // namespace tessera::plan
