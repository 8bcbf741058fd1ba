// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tessera/memory/failures.h"
#include "tessera/memory/lock_blocks.h"
#include "tessera/memory/lock_cliques.h"
#include "tessera/memory/patience.h"
#include "tessera/memory/search.h"

namespace tessera::memory {

/// The exact search for offsets in lock step, where of two blocks that meet the upper one clears
/// what the lower one has on the places of both (lock_step.h). Unlike rectangles in one memory such
/// blocks tile nothing: one may reach into another's range where a third may not. What there is to
/// search over is the order from the bottom up.
///
/// The plan that is looked for is one within the capacity whose offsets have the least sum. In it
/// every block is at the lowest place that the others leave it, or moving it there would make the
/// sum less. Put its blocks down by (offset, number):
///   (1) whatever a block meets and is down lies below it. What goes down later only lies higher.
///       So it is at its *floor*: the lowest place that clears all it meets of what is down, and
///       hits no fixed block.
///   (2) A floor that is passed, because something at a higher offset went down first, stays open
///       as a hole until something that the block meets goes down too low for it. Until then the
///       block cannot go down anywhere else.
/// The search branches over which block goes down next, each at its floor, in ascending order of
/// (offset, number), as long as it has no hole.
///
/// What ends a branch. Every waiting block has an earliest and a latest place: its floor (without
/// one, above something that will meet it), and the capacity less its size. A pair that can lie in
/// one order only moves them. No place, no order of a pair, a clique that ends above the capacity
/// (lock_cliques.h): no plan. A hole that nothing waiting can still take: not the plan of the least
/// sum; so what goes down next must also not lie so high that this becomes so.
///
/// What is remembered. All that happens below a node follows from the waiting blocks, the floor or
/// hole of each, and the capacity; so a state that failed fails always, and with less capacity too.
///
/// Waiting blocks that do not meet, not even through others, are parts that are searched one after
/// the other; a part without a plan ends the node, one with a plan is never searched again. Blocks
/// that are alike go down in the order of their numbers.
///
/// Techniques: preordering, section_inference (cliques), dominance (holes), dynamic_decomposition,
/// symmetry and memory_of_failures can be off; a search that ends has the same answer.
class LockSearch {
 public:
  /// All of these must live longer than this.
  LockSearch(const LockBlocks& blocks, const std::vector<LockClique>& cliques,
             const Techniques& techniques, Patience& patience);

  /// Looks for a plan within `capacity` until patience ends: kFound, kNone (a proof) or kStopped.
  SearchEnd within(std::int64_t capacity);

  /// Looks for lower and lower plans, from `peak` down to `target`; `proven_bound` rises to what no
  /// plan can go below. kFound when the target or the bound is reached, else kStopped. `others` is
  /// the peak of what is planned elsewhere, for reports of progress.
  SearchEnd lowest(std::int64_t target, std::int64_t others, std::int64_t& peak,
                   std::int64_t& proven_bound);

  /// What no plan can go below, without a search.
  std::int64_t bound() const { return bound_; }
  /// Of the last plan that was found; empty when none was.
  const std::vector<std::int64_t>& offsets() const { return offsets_; }

 private:
  enum class Step : std::uint8_t { kOpen, kDone, kDead, kStopped };
  /// How far up a node is: where the last block went down, and which.
  struct Level {
    std::int64_t offset = -1;
    std::int64_t block = -1;
  };
  /// A node whose choices are being tried, or one whose parts are being searched.
  struct Frame {
    std::size_t begin = 0;  // its blocks in members_, waiting or not
    std::size_t end = 0;
    Level level;
    std::size_t mark = 0;     // of the trail, before the node
    std::size_t members = 0;  // of members_, before the node
    std::size_t choices = 0;  // of choices_, before the node: blocks, or the ends of parts
    std::size_t next = 0;     // of its choices
    bool is_split = false;
    StateKey key;
  };
  /// What a block was before another one, or it itself, went down.
  struct Change {
    std::uint32_t block = 0;
    bool went_down = false;
    std::int64_t floor = 0;
    std::int64_t hole = 0;
  };

  SearchEnd turn(std::int64_t capacity, std::int64_t nodes);
  SearchEnd run();
  Step enter(std::size_t begin, std::size_t end, Level level);
  Step go_on(std::size_t frame);
  bool split(Frame& frame);
  void choose(const Frame& frame);
  void drop_frame();

  bool tighten(Level level);
  bool order_pairs(bool& has_changed);
  bool raise_stuck(bool& has_changed);
  bool cliques_fit();
  std::int64_t end_of(const LockClique& clique);

  void put_down(std::uint32_t b);
  void undo(std::size_t mark);
  StateKey key_of(Level level) const;
  std::int64_t rank(std::uint32_t b) const;
  bool is_waiting(std::size_t b) const { return at_[b] < 0; }
  bool is_ahead(std::uint32_t b, Level level) const {
    return std::pair(floor_[b], std::int64_t{b}) > std::pair(level.offset, level.block);
  }

  const LockBlocks& blocks_;
  const std::vector<LockClique>& cliques_;
  const Techniques& techniques_;
  Patience& patience_;
  Failures failures_;
  std::int64_t capacity_ = -1;  // for which failures_ are failures
  std::uint64_t turns_ = 0;
  int order_ = 0;
  std::int64_t bound_ = 0;
  std::vector<std::int64_t> offsets_;

  // Of each block: where it is (-1: it waits), its floor, and the lowest place known to be open to
  // it (the floor, unless there is a hole).
  std::vector<std::int64_t> at_, floor_, hole_;
  std::vector<Change> trail_;
  std::vector<Frame> frames_;
  std::vector<std::uint32_t> members_;
  std::vector<std::size_t> choices_;

  // Of the node that is being entered: its waiting blocks; of each its earliest and latest place
  // and whether it can go down now; the number of the node that this was said in.
  std::vector<std::uint32_t> waiting_;
  std::vector<std::int64_t> earliest_, latest_;
  std::vector<bool> is_open_;
  std::vector<std::uint64_t> seen_in_;
  std::uint64_t node_ = 0;
  std::vector<LockClique::Member> stack_;
};

}  // namespace tessera::memory
