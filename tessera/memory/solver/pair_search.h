// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/base/array.h"
#include "tessera/memory/solve.h"
#include "tessera/memory/solver/block_pairs.h"
#include "tessera/memory/solver/packing.h"
#include "tessera/memory/solver/search.h"
#include "tessera/memory/solver/work_budget.h"

namespace tessera::memory {

/// The exact search for blocks with gaps. Such blocks do not fill corners: one may hang over
/// another, or reach through its gap. So this search does not place blocks. It decides, pair by
/// pair, on which side of each other two blocks lie (block_pairs.h).
///
/// A node has an earliest and a latest offset for every block, and for every pair a range of sides
/// that are still possible. The earliest and latest offsets of two blocks exclude sides, and the
/// lowest and highest remaining side of a pair move the offsets of both. These deductions are
/// repeated until nothing changes. If then every block can be at its earliest offset, that is a
/// plan. Otherwise two blocks are in each other's way there: their difference lies between two of
/// their sides. Either it is on the lower one or below it, or on the upper one or above; the search
/// tries both.
///
/// Why it is complete: a plan within the capacity satisfies all deductions, and one of the two
/// branches; each branch leaves fewer sides, so the search ends. Why earliest offsets are enough:
/// all deductions are of the form "b is at least so much above a", which the earliest offsets
/// satisfy together if any offsets do.
///
/// What else ends a branch: blocks that raise each other in a circle without end, and, with
/// section_inference, a section whose highest strips do not fit between the earliest start and the
/// latest end of any of them. Of two blocks that are alike, the first is the lower one (symmetry).
/// Pairs at which branches ended are decided first (after the dom/wdeg rule).
class PairSearch {
 public:
  /// All arguments must outlive this object.
  PairSearch(const Packing& packing, const Techniques& techniques, WorkBudget& budget)
      : packing_(packing), techniques_(techniques), budget_(budget) {}

  /// True when the packing is small enough for a table of pairs.
  static bool can_search(const Packing& packing);

  /// To be called once; false when memory is refused.
  [[nodiscard]] bool build();

  /// Searches for a plan within `capacity`, a number below 2^62, until the run of the budget ends.
  /// kFound writes it to `offsets`; kNone is a proof that there is none. `turn` varies the order of
  /// decisions, and never changes the result of a search that ends.
  SearchEnd run(std::int64_t capacity, std::uint64_t turn, Array<std::int64_t>& offsets);

 private:
  enum class Step : std::uint8_t { kOpen, kDead, kStopped, kNoMemory };
  enum class What : std::uint8_t { kEarliest, kLatest, kFirst, kLast };
  /// A value before it was changed.
  struct Change {
    What what = What::kEarliest;
    std::int32_t of = 0;  ///< a block or a pair
    std::int64_t before = 0;
  };
  /// A decision with another branch.
  struct Frame {
    std::size_t mark = 0;  ///< of the trail
    std::int32_t pair = 0;
    std::int32_t side = 0;  ///< the lower of the two
    bool was_up = false;    ///< the branch that was tried first
    bool is_last = false;   ///< both were tried
  };
  /// A block was raised to this offset.
  struct Raise {
    std::int32_t block = 0;
    std::int32_t cause = -1;  ///< the raise of the other block that led to it; -1 for none
    std::int64_t offset = 0;
  };
  /// A strip in a section.
  struct Held {
    std::int32_t block = 0;
    std::int64_t low = 0;
    std::int64_t high = 0;
  };
  struct Stacked {
    std::int64_t start = 0;
    std::int64_t end = 0;
    std::int64_t bytes = 0;
  };

  [[nodiscard]] bool list_sections();
  bool reset(std::int64_t capacity);
  Step enter();
  Step tighten();
  bool tighten_pair(std::size_t p);
  bool raise(std::int32_t block, std::int64_t offset, std::int32_t from);
  bool lower(std::int32_t block, std::int64_t offset);
  bool climbs_forever();
  bool sections_fit();
  Step choose(bool& is_plan);
  [[nodiscard]] bool take(const Frame& frame, bool up);
  Step backtrack();
  [[nodiscard]] bool note(What what, std::int32_t of, std::int64_t before);
  void undo(std::size_t mark);
  double urgency(std::size_t p) const;

  const Packing& packing_;
  const Techniques& techniques_;
  WorkBudget& budget_;
  BlockPairs table_;
  std::int64_t period_ = 1;  // all alignments divide it
  std::uint64_t turn_ = 0;

  Array<std::int64_t> earliest_, latest_;  // of each block
  Array<std::int32_t> first_, last_;       // side of each pair that is still possible
  Array<std::int64_t> dead_ends_;          // at each pair, in all runs
  Array<Raise> raises_;                    // in the node that is being entered
  Array<std::int32_t> last_raise_;         // of each block, there; -1 for none
  Array<Change> trail_;
  Array<Frame> frames_;
  Array<Held> held_;  // section after section
  Array<std::int32_t> first_held_;
  Array<Stacked> stacked_;
  bool has_changed_ = false;
  bool has_memory_ = true;
};

}  // namespace tessera::memory
