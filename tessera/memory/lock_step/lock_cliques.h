// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/memory/lock_step/lock_blocks.h"
#include "tessera/memory/lock_step/meetings.h"

namespace tessera::memory {

/// Blocks that all meet each other: in every plan they lie one above the other.
///
/// Law: some member is on top; each other one has a member right above it, which clears at least
/// `clears` of it, the least that any member must. So, where `lowest` is where the lowest of them
/// can begin, the memory has at least lowest + sum of clears of the others + size of the top.
/// Example: a, b and c have 3 bytes each; place 0 has a and b, place 1 b and c, place 2 a and c.
/// No place has more than 6 bytes, but one offset for each needs 9.
struct LockClique {
  struct Member {
    std::uint32_t block = 0;
    std::int64_t clears = 0;
    /// Of its size, what is beyond `clears`; negative where that is rounded.
    std::int64_t more = 0;
  };
  std::vector<Member> members;
};

/// Cliques worth looking at: what lives on the fullest class of places in each section, and in the
/// fullest section on each class, with blocks of other classes that meet all of them and add to the
/// sum. Not all that there are; the work is bounded.
std::vector<LockClique> find_cliques(const Relation& relation, const LockBlocks& blocks);

}  // namespace tessera::memory
