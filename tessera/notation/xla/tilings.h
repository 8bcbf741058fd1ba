// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tessera/base/shape.h"
#include "tessera/notation/raising/memory_digits.h"
#include "tessera/notation/xla/xla.h"

namespace tessera::notation {

/// Orders of dims and tiles that put the digits of a layout in their order in memory, plainest
/// first: the fewest tiles, then the fewest numbers, then row-major.
///
/// Tiling a physical dim by t leaves v div t in its place and appends v mod t as the fastest dim.
/// So moves can produce every order of digits: the outer digits stay where they are, and each
/// further digit in memory order is moved to the end,
///   - by a cut, when its line is still wider: t is the width of the digit before it;
///   - by a move of the whole piece, when it leads its piece: t is what it takes in memory, which
///     is how a digit gets more values than the data need; a single 0 stays behind.
/// Moves whose sources are in increasing order form one tile, with 1 for the dims between them.
/// Example: rows cut by (8, 1) and columns by (128, 1), in the order row, column, row, column, are
/// one tile (8,128); with rows cut by (8, 2, 1) and the last digit fastest, (8,128)(2,1).
std::vector<XlaLayout> xla_tilings(const MemoryDigits& memory, const Shape& shape);

}  // namespace tessera::notation
