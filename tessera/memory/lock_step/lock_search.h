// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tessera/memory/lock_step/lock_blocks.h"
#include "tessera/memory/lock_step/lock_cliques.h"
#include "tessera/memory/solver/failures.h"
#include "tessera/memory/solver/patience.h"
#include "tessera/memory/solver/search.h"

namespace tessera::memory {

/// The exact search for offsets in lock step, where of two blocks that meet the upper one clears
/// what the lower one has on the places of both (lock_step.h). Unlike rectangles in one memory such
/// blocks tile nothing: one may reach into another's range where a third may not. What there is to
/// search over is the order from the bottom up.
///
/// The plan that is looked for is one within the capacity whose offsets have the least sum. In it
/// every block is at the lowest place that the others leave it, or moving it there would make the
/// sum less. The search puts its blocks down such that what is down lies below what waits, wherever
/// two meet. The *floor* of a waiting block is the lowest place that clears all it meets of what is
/// down and hits no fixed block; it is never below that.
///   (1) A block whose floor is not above the earliest place of anything waiting that it meets is
///       either at its floor, or *stuck*: above it. If it is at its floor, all that waits and meets
///       it is higher. The waiting block with the lowest floor of all that are not stuck is always
///       such a block.
///   (2) A stuck block would sink to the floor that it was stuck at, its *hole*, if nothing took
///       it. So it waits until something that it meets goes down too low for it to be there.
/// A node chooses one block of (1), and tries both. Nothing else is said about an order, so a
/// choice can be made where dead ends pile up.
///
/// What ends a branch. Every waiting block has an earliest and a latest place: its floor (stuck:
/// above something that takes its hole), and the capacity less its size. A pair that can lie in one
/// order only moves them. No place, no order of a pair, a clique that ends above the capacity
/// (lock_cliques.h), a hole that nothing waiting can take: no such plan. A block of (1) whose floor
/// nothing waiting can take is there, without a choice.
///
/// What is remembered. All that can follow from a node depends on the waiting blocks, on floor and
/// hole of each, and on the capacity: a state that failed fails always, and with less capacity too.
///
/// Waiting blocks that do not meet, not even through others, are parts that are searched one after
/// the other; a part without a plan ends the node, one with a plan is never searched again. Of
/// blocks that are alike the first goes down first, and while it is stuck the others are.
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
  /// A node whose choices are being tried, or one whose parts are being searched.
  struct Frame {
    std::size_t begin = 0;  // its blocks in members_, waiting or not
    std::size_t end = 0;
    std::size_t mark = 0;     // of the trail
    std::size_t members = 0;  // of members_ and of ends_, before the node
    std::size_t ends = 0;
    std::uint32_t block = 0;  // to put down, or to be stuck
    int options = 0;          // how many of the two
    int next = 0;             // option, or part
    bool is_split = false;
    StateKey key;
  };
  /// What a block was before another one, or it itself, went down.
  struct Change {
    std::uint32_t block = 0;
    bool went_down = false;
    bool was_stuck = false;
    std::int64_t floor = 0;
    std::int64_t hole = 0;
  };

  /// States that failed with some capacity, and so with less.
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
  Patience& patience_;
  Known far_;   // just below the plan that there is; or the only ones
  Known near_;  // near the bound
  Known* known_ = &far_;
  std::int64_t capacity_ = -1;
  std::uint64_t turns_ = 0;
  int order_ = 0;
  std::int64_t bound_ = 0;
  std::int64_t clique_work_ = 0;  // members of all cliques, which every node looks at
  std::vector<std::int64_t> offsets_;

  // Of each block: where it is (-1: it waits), its floor, and the place that it would sink to: the
  // floor, or when it is stuck its hole.
  std::vector<std::int64_t> at_, floor_, hole_;
  std::vector<bool> is_stuck_;
  std::vector<Change> trail_;
  std::vector<Frame> frames_;
  std::vector<std::uint32_t> members_;
  std::vector<std::size_t> ends_;        // of parts, in members_
  std::vector<std::int64_t> dead_ends_;  // that a block was found to have no place at

  // Of the node that is being entered: its waiting blocks, and of each its earliest and latest
  // place; the number of the last node that a block waited in.
  std::vector<std::uint32_t> waiting_;
  std::vector<std::int64_t> earliest_, latest_;
  std::vector<std::uint64_t> seen_in_;
  std::uint64_t node_ = 0;
  std::vector<LockClique::Member> stack_;
};

}  // namespace tessera::memory
