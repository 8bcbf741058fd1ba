// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tessera/ops/shares.h"

namespace tessera::test {

/// The law of shares, by listing every iteration on every place: places are in one share each,
/// counts of iterations are right, all places of a share have boxes of the extents that it states,
/// and the boxes of the example hold what it reads and makes: exactly, where each dim follows one
/// factor, and otherwise at least that and at most the interval around it. Returns what is wrong,
/// or "".
std::string shares_law(const graph::Call& call, const graph::Types& outputs,
                       const ops::Loops& loops, const ops::WorkMap& work,
                       const std::vector<ops::Share>& shares);

}  // namespace tessera::test
