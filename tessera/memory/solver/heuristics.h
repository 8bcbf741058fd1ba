// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "tessera/base/array.h"
#include "tessera/memory/solver/first_fit.h"
#include "tessera/memory/solver/packing.h"
#include "tessera/memory/solver/skyline.h"
#include "tessera/memory/solver/work_budget.h"

namespace tessera::memory {

/// Runs heuristics, and keeps the best plan of all.
///
/// A heuristic is an order for the skyline; if there are many blocks, a ring is tried too. Long
/// lifetimes come first, because they are the hardest to place later. But time counts more the
/// closer a section is to the highest one: a short time at the peak matters more than a long time
/// where there is plenty of room. Sections are weighted by (height / highest)^(2^sharpness), first
/// with the live bytes as the height, then with the height that the previous plans needed there, so
/// that blocks that ended too high are placed earlier the next time. All in integers: the same
/// order on every machine.
class Heuristics {
 public:
  /// No further heuristic starts after `seconds`, or when `budget`, if given, is used up; but the
  /// first one always runs.
  Heuristics(const Packing& packing, double seconds, WorkBudget* budget);

  /// Places every block that has no offset in `pinned`. If the best plan is below `peak`, writes it
  /// to `best` and lowers `peak`. Stops at a plan that is at most `good_enough`.
  [[nodiscard]] bool run(const Array<std::int64_t>& pinned, std::int64_t good_enough,
                         Array<std::int64_t>& best, std::int64_t& peak);

 private:
  struct Key {
    double weight = 0;
    std::int64_t size = 0;
    std::int32_t block = 0;
  };
  struct Range {
    std::size_t from = 0;
    std::size_t to = 0;
  };
  struct Lifted {
    std::int64_t offset = 0;
    std::int32_t block = 0;
  };
  static constexpr int kOne = 20;  // bits of a weight of 1
  static constexpr int kBlunt = -1;
  static constexpr std::size_t kSmall = 2048;  // number of blocks up to which all pairs are cheap

  bool late() {
    return std::chrono::steady_clock::now() >= deadline_ ||
           (budget_ != nullptr && !budget_->look_at_the_clock());
  }
  [[nodiscard]] bool keep(Array<std::int64_t>& best, std::int64_t& peak);
  [[nodiscard]] bool run_ring(std::int64_t good_enough, Array<std::int64_t>& best,
                              std::int64_t& peak);
  [[nodiscard]] bool sort_members(int sharpness, bool by_area);
  [[nodiscard]] bool learn();
  [[nodiscard]] bool run_on(const Array<std::int64_t>& floor, const Array<std::int64_t>& pinned,
                            Range range, std::int64_t good_enough, Array<std::int64_t>& best,
                            std::int64_t& peak);
  [[nodiscard]] bool go_around(const Array<std::int64_t>& pinned, bool& done);

  const Packing& packing_;
  const std::chrono::steady_clock::time_point deadline_;
  WorkBudget* const budget_;
  Skyline skyline_;
  FirstFit first_fit_;  // built when something is pinned
  Array<std::int32_t> members_;
  Array<std::int32_t> order_;
  Array<Key> keys_;
  Array<Lifted> lifted_;
  Array<std::int64_t> profile_;     // the height of each section that orders use
  Array<std::int64_t> heights_;     // reached by the last plan
  Array<std::int64_t> weight_sum_;  // of the sections before each
  Array<std::int64_t> plan_;
};

}  // namespace tessera::memory
