// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"
#include "tessera/ops/loops.h"

namespace tessera::ops {

// Where the work leaves an output says nothing about the order inside a place. A kernel that writes
// element by element keeps the order that it reads: tiles stay tiles and sticks stay sticks.

/// The layout `made`, which is row-major in a place, with the order of memory of an operand: its
/// tiles, sticks, padding and memory space. Dims move as the op moves them; a dim that is reduced
/// goes, and what remains moves together, but the digits inside `unit` slots that belong together
/// (a stick of sparse elements) stay. Empty where the output has dims that the operand lacks,
/// where the operand's cuts over places are others, and where dims move in a row-major operand, of
/// which the output is row-major again.
/// Law: the result has every element on the places of `made`.
/// Example: the transpose of [512, 256] in sticks along dim 1 is [256, 512] in sticks along dim 0.
std::optional<Layout> in_order_of(const Layout& operand, const Access& reads, const Access& makes,
                                  const Layout& made, std::int64_t unit = 1);

/// The layout `made` with the last two dims in tiles: each dim is cut over places as before, and
/// what a place has of it is rounded up to whole tiles. Empty for dims that are cut otherwise than
/// into blocks, and for fewer than two dims.
/// Law: as above; slots are whole tiles, and inside a tile elements are row-major.
std::optional<Layout> in_tiles(const Layout& made, const Atom& tile);

}  // namespace tessera::ops
