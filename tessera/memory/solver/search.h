// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "tessera/base/array.h"
#include "tessera/memory/solve.h"
#include "tessera/memory/solver/corners.h"
#include "tessera/memory/solver/failures.h"
#include "tessera/memory/solver/search_state.h"
#include "tessera/memory/solver/work_budget.h"

namespace tessera::memory {

/// The corner that a search decides first.
enum class CornerChoice : std::uint8_t {
  kFewest,        ///< the one with the fewest options
  kFewestLowest,  ///< the same; on a tie, the lowest
  kLowest,        ///< the lowest; on a tie, the one with the fewest options
  kWorst,         ///< the fewest options per dead end found in its section so far
};

/// What a search tries first; this never changes its final result.
struct Tactics {
  CornerChoice choice = CornerChoice::kWorst;
  /// Of the candidates, first those that are level with a neighbour or fill the niche.
  bool seeks_flush = false;
};

enum class SearchEnd : std::uint8_t {
  kFound,    ///< every block is placed, within the capacity
  kNone,     ///< there is no plan within the capacity
  kStopped,  ///< the budget ended
  kNoMemory,
};

/// Depth-first search over corners.
///
/// At a node, corners with one option are decided until none is left. Then one corner is chosen,
/// each of its candidates is placed in turn, and finally its floor is raised. Time ranges that no
/// waiting block connects are solved one after the other: a part that has no plan ends the node,
/// and one that has a plan is never solved again.
///
/// Why it is complete: take a plan within the capacity whose offsets have the smallest sum. Each of
/// its blocks rests on something, so at every corner it uses one of the options, and none of its
/// blocks could move into a hole. Candidates are tried before floors are raised. Therefore a node
/// that some plan could continue never fails before a plan has been found. So a state that failed
/// once (the same floors, the same blocks waiting) need not be visited again, whatever lies under
/// its floors.
class Search {
 public:
  /// `ranks` orders the candidates of a corner, lowest first. States that fail are added to
  /// `failures`, which may hold those of earlier searches with this capacity or a larger one;
  /// `dead_ends` counts, by section, the corners that had no option.
  Search(SearchState& state, const Techniques& techniques, std::int64_t capacity,
         std::span<const std::int64_t> ranks, const Tactics& tactics, Failures& failures,
         std::span<std::int64_t> dead_ends, WorkBudget& budget)
      : state_(state),
        techniques_(techniques),
        view_(state, techniques, capacity),
        ranks_(ranks),
        tactics_(tactics),
        failures_(failures),
        dead_ends_(dead_ends),
        budget_(budget) {}

  /// Starts from a state in which every block waits. On kFound the state holds the plan; otherwise
  /// all blocks wait again.
  SearchEnd run();

 private:
  /// A node whose options are being tried, or a set of parts that are being solved.
  struct Frame {
    std::size_t mark = 0;    // of the state, before the node
    std::size_t pool = 0;    // of the pool, before the node
    std::int32_t next = 0;   // option or part
    std::int32_t parts = 0;  // number of parts in a set
    std::int32_t low = 0;
    std::int32_t high = 0;
    bool is_split = false;
    bool is_known = false;    // whether `key` is to be remembered
    std::size_t decided = 0;  // mark of the state after the forced moves
    Corner corner;
    StateKey key;
  };
  enum class Step : std::uint8_t { kOpen, kDone, kDead, kNoMemory, kStopped };

  Step enter(std::int32_t low, std::int32_t high);
  Step settle(std::int32_t low, std::int32_t high, Corner& best);
  Step settle_niche(const Niche& niche, std::int32_t low, std::int32_t high, Corner& best,
                    bool& has_changed);
  Step split(std::int32_t low, std::int32_t high, std::size_t mark);
  Step try_next(Frame& frame);
  Step next_part(Frame& frame);
  void drop_frame();
  bool prefers(const Corner& corner, const Corner& best) const;
  int flushness(const Corner& corner, std::int32_t b, std::int32_t low, std::int32_t high) const;
  StateKey key_of(std::int32_t low, std::int32_t high) const;

  SearchState& state_;
  const Techniques& techniques_;
  CornerView view_;
  std::span<const std::int64_t> ranks_;
  Tactics tactics_;
  Failures& failures_;
  std::span<std::int64_t> dead_ends_;  // by section
  WorkBudget& budget_;
  Array<Frame> frames_;
  Array<std::int32_t> pool_;  // candidates, or the ends of parts, of all frames
};

}  // namespace tessera::memory
