// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tessera/ops/divide_like.h"
#include "tessera/ops/loops.h"

namespace tessera::ops {

/// An operand and where it is.
struct PlacedOperand {
  const Access* access = nullptr;
  const Form* form = nullptr;
};

/// Divides the factors that operands read in different ranges, as those of a concat do: each
/// operand knows only where its own part of the iterations belongs. Along a mesh axis where parts
/// lie as blocks of the whole would lie, one after the other or dealt round the axis, the factor is
/// divided into these; where all parts are at one coordinate, the work is there. Call it before
/// operands are followed. Returns whether something was decided. Example: parts of 5 and 3
/// elements, on coordinates 0 and 1, lie as blocks of 5 of 8 do.
bool divide_like_parts(const Loops& loops, const Shape& mesh,
                       const std::vector<PlacedOperand>& operands, Division& division);

}  // namespace tessera::ops
