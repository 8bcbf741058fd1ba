// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tessera/ops/loops.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/ops/random_calls.h"

namespace tessera::test {

/// A set of iterations that one worker performs: some values of each factor.
using Part = std::vector<std::vector<std::int64_t>>;

/// Whether this access reads in this iteration: one that is added once reads where the reduced
/// factors that it lacks are 0.
bool reads_in(const ops::Access& access, const ops::Loops& loops, const Index& iteration);
/// The neutral element of a reduction, and two shares combined.
long double neutral_of(Reduction reduction);
long double combined(Reduction reduction, long double a, long double b);
/// Equal, or apart by rounding only; a NaN equals a NaN.
bool is_close(long double a, long double b);

/// The inputs of a case as a worker sees them that performs `part`: what it reads is there. What
/// its sums would also read, but other shares have, is the neutral element. Everything else is
/// poison.
std::vector<std::optional<NaiveTensor>> seen_by(const OpCase& made, const ops::Loops& loops,
                                                const Part& part, long double poison);

/// The law of loops.h for a random division of the work: every element of the outputs is touched by
/// iterations with the same values of the pass factors; and what workers compute from what their
/// iterations read, reduced over the shares, is the result of the op. Returns what is wrong, or "".
std::string loops_law(Dice& dice, const OpCase& made, const ops::Loops& loops);

}  // namespace tessera::test
