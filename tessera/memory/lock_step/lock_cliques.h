// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/memory/lock_step/lock_blocks.h"
#include "tessera/memory/lock_step/meetings.h"

namespace tessera::memory {

/// Blocks that all conflict with each other: in every plan they are stacked one above the other.
///
/// Law: one member is on top. Each other member has a member directly above it, which clears at
/// least `clears` of it: the minimum over all members. So, if the lowest member can begin at
/// `lowest`, the memory has at least lowest + sum of clears of the others + size of the top.
/// Example: a, b and c have 3 bytes each; place 0 has a and b, place 1 b and c, place 2 a and c. No
/// place has more than 6 bytes, but one offset for each needs 9.
struct LockClique {
  struct Member {
    std::uint32_t block = 0;
    std::int64_t clears = 0;
    /// Its size minus `clears`; negative where `clears` was rounded up.
    std::int64_t more = 0;
  };
  std::vector<Member> members;
};

/// Cliques that are worth checking: the blocks that are live on the fullest class of places in each
/// section, and in the fullest section on each class, plus blocks of other classes that conflict
/// with all of them and add to the sum. Not all cliques; the work is bounded.
std::vector<LockClique> find_cliques(const Relation& relation, const LockBlocks& blocks);

}  // namespace tessera::memory
