// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/lock_step/lock_piece.h"

#include "tessera/memory/lock_step/lock_first_fit.h"

namespace tessera::memory {

bool Piece::can_be_searched() const {
  constexpr std::size_t kMost = std::size_t{1} << 12;
  return ids.size() <= kMost;
}

void Piece::search(const Relation& relation, const SolveOptions& options, std::int64_t target,
                   std::int64_t others, WorkBudget& budget, std::vector<std::int64_t>& offsets) {
  if (!searched_) {
    searched_ = std::make_unique<Searched>(relation, ids, options.techniques, budget);
  }
  const LockBlocks& blocks = searched_->blocks;
  LockSearch& search = searched_->search;
  const std::int64_t before = peak;
  if (options.minimize) {
    search.lowest(target, others, peak, proven_bound);
  } else {
    const SearchEnd end = search.within(target);
    if (end == SearchEnd::kNone) proven_bound = blocks.above(target);
    if (end == SearchEnd::kFound) peak = blocks.peak(search.offsets());
  }
  if (peak >= before) return;
  for (const std::uint32_t b : ids) offsets[b] = relation.packing.blocks[b].fixed;
  for (std::size_t b = 0; b < blocks.count(); ++b) {
    offsets[blocks.blocks[b].id] = search.offsets()[b];
  }
  lock_follow_hints(relation, ids, peak, offsets);
}

}  // namespace tessera::memory
