// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "tessera/base/array.h"
#include "tessera/memory/solver/first_fit.h"
#include "tessera/memory/solver/packing.h"
#include "tessera/memory/solver/patience.h"
#include "tessera/memory/solver/skyline.h"

namespace tessera::memory {

/// Runs rules, and keeps the best plan of all.
///
/// A rule is an order for the skyline, and of many blocks a ring is tried too. Long lives come
/// first, for they are the hardest to place later, but time counts for more the closer a section is
/// to the highest: an hour at the peak is worth more than a day in the valley, where room is
/// plenty. Sections are weighed by (height / highest)^(2^sharpness), first with the bytes that live
/// there as the height, then with the height that the plans before needed there, so that what came
/// out too high goes down earlier the next time. All in integers: the same order everywhere.
class Rules {
 public:
  /// No further rule is started after `seconds`, or when `patience`, if any, is at its end; but the
  /// first one always is.
  Rules(const Packing& packing, double seconds, Patience* patience);

  /// Puts down everything that is nowhere in `pinned`. The best plan into `best` when it is below
  /// `peak`, which it lowers; stops at a plan that is at most `good_enough`.
  [[nodiscard]] bool run(const Array<std::int64_t>& pinned, std::int64_t good_enough,
                         Array<std::int64_t>& best, std::int64_t& peak);

 private:
  struct Key {
    double weight = 0;
    std::int64_t size = 0;
    std::int32_t block = 0;
  };
  struct RuleRange {
    std::size_t from = 0;
    std::size_t to = 0;
  };
  struct Lifted {
    std::int64_t offset = 0;
    std::int32_t block = 0;
  };
  static constexpr int kOne = 20;  // bits of a weight of 1
  static constexpr int kBlunt = -1;
  static constexpr std::size_t kSmall = 2048;  // blocks: all pairs are cheap

  bool late() {
    return std::chrono::steady_clock::now() >= deadline_ ||
           (patience_ != nullptr && !patience_->look_at_the_clock());
  }
  [[nodiscard]] bool keep(Array<std::int64_t>& best, std::int64_t& peak);
  [[nodiscard]] bool run_ring(std::int64_t good_enough, Array<std::int64_t>& best,
                              std::int64_t& peak);
  [[nodiscard]] bool sort_members(int sharpness, bool by_area);
  [[nodiscard]] bool learn();
  [[nodiscard]] bool run_on(const Array<std::int64_t>& physical, const Array<std::int64_t>& pinned,
                            RuleRange range, std::int64_t good_enough, Array<std::int64_t>& best,
                            std::int64_t& peak);
  [[nodiscard]] bool go_around(const Array<std::int64_t>& pinned, bool& done);

  const Packing& packing_;
  const std::chrono::steady_clock::time_point deadline_;
  Patience* const patience_;
  Skyline skyline_;
  FirstFit first_fit_;  // built when something is pinned
  Array<std::int32_t> members_;
  Array<std::int32_t> order_;
  Array<Key> keys_;
  Array<Lifted> lifted_;
  Array<std::int64_t> profile_;     // the height of each section that orders go by
  Array<std::int64_t> heights_;     // that the last plan reached
  Array<std::int64_t> weight_sum_;  // of the sections before each
  Array<std::int64_t> plan_;
};

}  // namespace tessera::memory
