// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tessera/base/result.h"
#include "tessera/reshard/reshard.h"

namespace tessera::reshard {

/// A reshard that combines partial sums, in two steps: A → M → B. In M the places that had a share
/// each have a part of the values: along the axes of A's shares, a dim of the tile of a place is
/// cut. So A → M is a reduce_scatter, in which every place combines a part of what it has, and
/// M → B moves combined values only (an all_gather where B is replicated). M keeps the slots of A.
///
/// Which dim is cut: B's own cut along these axes, if B has one; else one dim of A. Of all choices
/// the one for which the fewest bytes cross in both steps, on a tie the first.
///
/// A single step, the reshard itself, where nothing is combined, where some box of B keeps A's
/// shares, where A → B is a reduce_scatter already, and where no dim can be cut into as many parts
/// as there are shares, or elements of a view share slots.
///
/// Law: the first step starts from A, the last one ends in B, and carrying out one after the other
/// gives what the reshard gives.
/// Errors: those of Reshard::make and cost_of.
/// Example: f32[8, 8], shares on 4 places, to a copy on each: reduce_scatter to 2 rows on each of
/// the 4 places, then all_gather. 1536 bytes cross, instead of 3072.
Result<std::vector<Reshard>> steps_of(const Reshard& reshard);

}  // namespace tessera::reshard
