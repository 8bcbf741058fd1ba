// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tessera/memory/liveness.h"

namespace tessera::memory {

/// Removes the in-place hints that `lives` accepted for outputs that are smaller than their inputs
/// on some place, unless they are required, and returns which and why.
///
/// An output in place of an input of the same size never costs anything. In place of a larger input
/// it saves its own bytes while its op runs, but then keeps all of the input's bytes for its own
/// lifetime. Only plans can show which of the two is lower.
/// Example: x of 400 bytes, s = sum(x) of 4 bytes in place of x, y = fill(s) of 400 bytes: 800
/// bytes while y is computed, 404 without the hint.
std::vector<Declined> take_back_smaller(Program& program, const Lifetimes& lives,
                                        const FitsInside& inside);

}  // namespace tessera::memory
