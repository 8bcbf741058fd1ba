// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tessera/memory/liveness.h"

namespace tessera::memory {

/// Takes back the wishes that `lives` granted to outputs which are smaller than their inputs on
/// some place, unless they are required, and says which and why.
///
/// In place of an input of the same size an output never costs anything. In place of a larger one
/// it saves its own bytes while its op runs, but then keeps all of the input's for as long as it
/// lives itself: which of the two is lower only plans can tell.
/// Example: x of 400 bytes, s = sum(x) of 4 bytes in place of x, y = fill(s) of 400 bytes: 800
/// bytes while y is computed, 404 without the wish.
std::vector<Declined> take_back_smaller(Program& program, const Lifetimes& lives,
                                        const FitsInside& inside);

}  // namespace tessera::memory
