// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tessera/memory/lock_step/lock_search.h"
#include "tessera/memory/lock_step/meetings.h"
#include "tessera/memory/solve.h"
#include "tessera/memory/solver/work_budget.h"

namespace tessera::memory {

/// Blocks in lock step that can be placed independently of all others, and what is known about
/// their plan.
struct Piece {
  std::vector<std::uint32_t> ids;  ///< in the relation, ascending
  std::int64_t peak = 0;
  std::int64_t proven_bound = 0;  ///< no plan of the piece has a lower peak

  /// True when it has few enough blocks.
  bool can_be_searched() const;
  /// Searches for a plan with a peak of at most `target` or, when minimising, for the lowest peak
  /// down to it, and writes a better plan into `offsets`. What a search has learnt is kept for the
  /// next. `options` and `budget` must outlive this object; `others` is the peak of everything
  /// else.
  void search(const Relation& relation, const SolveOptions& options, std::int64_t target,
              std::int64_t others, WorkBudget& budget, std::vector<std::int64_t>& offsets);

 private:
  struct Searched {
    Searched(const Relation& relation, const std::vector<std::uint32_t>& ids,
             const Techniques& techniques, WorkBudget& budget)
        : blocks(relation, ids),
          cliques(find_cliques(relation, blocks)),
          search(blocks, cliques, techniques, budget) {}

    LockBlocks blocks;
    std::vector<LockClique> cliques;
    LockSearch search;
  };
  std::unique_ptr<Searched> searched_;
};

}  // namespace tessera::memory
