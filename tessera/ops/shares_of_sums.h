// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tessera/graph/op.h"
#include "tessera/layout/form.h"

namespace tessera::ops {

/// Whether a call may run on the shares of partial operands, each place on its own, so that the
/// reduction of the results is the result. `partial` marks the inputs that are shares; the others
/// are the same on every place.
/// Law: op(a1 + a2, b) = op(a1, b) + op(a2, b) for a marked first input and a sum; for another
/// reduction the same with it instead of +. Of numbers only: where the result is infinite or none,
/// as of a quotient by 0, the shares need not add up to it.
/// Example: a matmul in one of its inputs; add in both; a transpose for every reduction; not relu,
/// and not add in one of its inputs, because the other would be added once for each share.
bool runs_on_shares(const graph::Call& call, const std::vector<bool>& partial, Reduction reduction);

/// The inputs of which shares would do, if the results were shares; empty if there are none. All of
/// them where the op adds them up, else the first.
/// Law: runs_on_shares(call, shares_that_do(..), reduction) unless it is empty.
std::vector<bool> shares_that_do(const graph::Call& call, Reduction reduction);

}  // namespace tessera::ops
