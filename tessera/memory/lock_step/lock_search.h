// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tessera/memory/lock_step/lock_blocks.h"
#include "tessera/memory/lock_step/lock_cliques.h"
#include "tessera/memory/solver/failures.h"
#include "tessera/memory/solver/search.h"
#include "tessera/memory/solver/work_budget.h"

namespace tessera::memory {

/// The exact search for offsets in lock step, where of two conflicting blocks the upper one clears
/// the size of the lower one on the places that have both (lock_step.h). Unlike rectangles in one
/// memory, such blocks do not tile: one may reach into another's range where a third may not. The
/// search is over the order from the bottom up.
///
/// The search looks for a plan within the capacity whose offsets have the smallest sum. In this
/// plan every block is at the lowest offset that the others leave it; otherwise moving it there
/// would reduce the sum. The search places blocks such that placed blocks lie below waiting blocks
/// wherever two conflict. The *floor* of a waiting block is the lowest offset that clears all
/// placed blocks that conflict with it and hits no fixed block. Its offset is never below its
/// floor.
///   (1) A block whose floor is not above the earliest offset of any waiting block that conflicts
///       with it is either at its floor, or *stuck*: above it. If it is at its floor, all waiting
///       blocks that conflict with it are higher. Of all blocks that are not stuck, the waiting
///       block with the lowest floor is always such a block.
///   (2) A stuck block would sink to the floor at which it was stuck, its *hole*, if nothing took
///       it. So it waits until a block that conflicts with it is placed so low that the hole is
///       taken.
/// A node chooses one block of (1), and tries both options. The order is not restricted further, so
/// a choice can be made where dead ends accumulate.
///
/// What ends a branch. Every waiting block has an earliest and a latest offset: its floor (if
/// stuck: above something that takes its hole), and the capacity minus its size. If a pair can lie
/// in only one order, this tightens them. There is no such plan if a block has no offset, a pair
/// has no order, a clique ends above the capacity (lock_cliques.h), or no waiting block can take a
/// hole. A block of (1) whose floor no waiting block can take is placed there, without a choice.
///
/// What is remembered. All that can follow from a node depends on the waiting blocks, on the floor
/// and hole of each, and on the capacity: a state that failed always fails, also with less
/// capacity.
///
/// Waiting blocks that do not conflict, not even through others, form parts that are searched one
/// after the other. A part without a plan ends the node; a part with a plan is never searched
/// again. Of identical blocks the first is placed first, and while it is stuck the others are stuck
/// too.
///
/// Techniques: preordering, section_inference (cliques), dominance (holes), dynamic_decomposition,
/// symmetry and memory_of_failures can be switched off; a search that completes has the same
/// answer.
class LockSearch {
 public:
  /// All arguments must outlive this object.
  LockSearch(const LockBlocks& blocks, const std::vector<LockClique>& cliques,
             const Techniques& techniques, WorkBudget& budget);

  /// Searches for a plan within `capacity` until the budget ends: kFound, kNone (a proof) or
  /// kStopped.
  SearchEnd within(std::int64_t capacity);

  /// Searches for lower and lower plans, from `peak` down to `target`; `proven_bound` rises to a
  /// bound that no plan is below. kFound when the target or the bound is reached, otherwise
  /// kStopped. `others` is the peak of what is planned elsewhere, for progress reports.
  SearchEnd lowest(std::int64_t target, std::int64_t others, std::int64_t& peak,
                   std::int64_t& proven_bound);

  /// A bound that no plan is below, known without a search.
  std::int64_t bound() const { return bound_; }
  /// The last plan that was found; empty if none.
  const std::vector<std::int64_t>& offsets() const { return offsets_; }

 private:
  enum class Step : std::uint8_t { kOpen, kDone, kDead, kStopped };
  /// A node whose options are being tried, or one whose parts are being searched.
  struct Frame {
    std::size_t begin = 0;  // its blocks in members_, waiting or not
    std::size_t end = 0;
    std::size_t mark = 0;     // of the trail
    std::size_t members = 0;  // of members_ and of ends_, before the node
    std::size_t ends = 0;
    std::uint32_t block = 0;  // to place, or to be stuck
    int options = 0;          // how many of the two
    int next = 0;             // option, or part
    bool is_split = false;
    StateKey key;
  };
  /// The state of a block before it, or another block, was placed.
  struct Change {
    std::uint32_t block = 0;
    bool went_down = false;
    bool was_stuck = false;
    std::int64_t floor = 0;
    std::int64_t hole = 0;
  };

  /// States that failed with some capacity, and so fail with less.
  struct Known {
    Failures failures;
    std::int64_t capacity = -1;
  };

  SearchEnd turn(std::int64_t capacity, std::int64_t nodes, Known& known);
  SearchEnd run();
  Step enter(std::size_t begin, std::size_t end);
  Step go_on(Frame& frame);
  bool split(Frame& frame);
  void choose(Frame& frame);
  void drop_frame();
  void remember(const StateKey& key);
  bool is_known(const StateKey& key) const;

  bool tighten();
  bool settle_stuck(bool& has_changed);
  bool order_pairs(bool& has_changed);
  bool cliques_fit();
  std::int64_t end_of(const LockClique& clique);
  /// Counts a dead end; false.
  bool is_dead_at(std::uint32_t b) {
    ++dead_ends_[b];
    return false;
  }

  void put_down(std::uint32_t b);
  void make_stuck(std::uint32_t b);
  void undo(std::size_t mark);
  StateKey key_of() const;
  double urgency(std::uint32_t b) const;
  bool is_waiting(std::size_t b) const { return at_[b] < 0; }

  const LockBlocks& blocks_;
  const std::vector<LockClique>& cliques_;
  const Techniques& techniques_;
  WorkBudget& budget_;
  Known far_;   // just below the current plan; or the only ones
  Known near_;  // near the bound
  Known* known_ = &far_;
  std::int64_t capacity_ = -1;
  std::uint64_t turns_ = 0;
  int order_ = 0;
  std::int64_t bound_ = 0;
  std::int64_t clique_work_ = 0;  // members of all cliques, which every node checks
  std::vector<std::int64_t> offsets_;

  // For each block: its offset (-1: it waits), its floor, and the offset to which it would sink:
  // its floor or, when it is stuck, its hole.
  std::vector<std::int64_t> at_, floor_, hole_;
  std::vector<bool> is_stuck_;
  std::vector<Change> trail_;
  std::vector<Frame> frames_;
  std::vector<std::uint32_t> members_;
  std::vector<std::size_t> ends_;        // of parts, in members_
  std::vector<std::int64_t> dead_ends_;  // how often a block was found to have no offset

  // For the node that is being entered: its waiting blocks, the earliest and latest offset of each,
  // and the number of the last node in which a block waited.
  std::vector<std::uint32_t> waiting_;
  std::vector<std::int64_t> earliest_, latest_;
  std::vector<std::uint64_t> seen_in_;
  std::uint64_t node_ = 0;
  std::vector<LockClique::Member> stack_;
};

}  // namespace tessera::memory
