// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/moves/stored.h"
#include "tessera/target/machine.h"

namespace tessera::moves {

/// Cycles that no way to carry out a move is below, from the two layouts alone: the fullest place
/// of B receives what the fullest place of A cannot have held, and the fullest place of A sends
/// what no place of B can keep, over all networks of a place; the same holds for devices and the
/// links to their neighbours; on a mesh, something goes all the way to the outermost place, and
/// what has no room in a box of places crosses the links around it; banks and shared memories give
/// or take each element once. 0 where that says nothing, and where a figure is missing. Much faster
/// than a price.
/// Law: least_cycles(machine, a, b) <= the cycles of MoveModel::price(a, b).
/// Example: 64 KB from one place of wse2 to two rows of places, 1 KB each: 63 KB leave the place at
/// 4 bytes per cycle, so at least 16128 cycles.
double least_cycles(const Machine& machine, const Stored& a, const Stored& b);

}  // namespace tessera::moves
