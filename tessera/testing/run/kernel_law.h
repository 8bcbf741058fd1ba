// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tessera/ops/loops.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/ops/random_calls.h"

/// testing/run/: laws of kernels and of whole runs, judged by the naive evaluator of
/// testing/graph/.
namespace tessera::test {

/// The law of run/kernels: divides the iterations of a case at random into blocks and gives each
/// worker some of them, with tiles that are no larger than what it reads and poisoned where it does
/// not read. What the workers make, reduced, is what the naive evaluator gives, and nothing else is
/// written. Returns what is wrong, or "".
std::string kernel_law(Dice& dice, const OpCase& made, const ops::Loops& loops);

}  // namespace tessera::test
