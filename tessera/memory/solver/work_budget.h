// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include "tessera/memory/solve.h"

namespace tessera::memory {

/// The remaining budget of a solve(), shared by everything that it tries.
class WorkBudget {
 public:
  explicit WorkBudget(const SolveOptions& options)
      : options_(options), started_(std::chrono::steady_clock::now()) {}

  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
  }
  double seconds_left() const { return options_.seconds - seconds(); }
  std::int64_t nodes() const { return nodes_; }
  /// True when no more nodes may be visited, by this search or at all.
  bool is_spent() const { return is_over_ || nodes_ >= search_end_ || nodes_ >= options_.nodes; }

  /// The searches from here on may visit this many nodes together.
  void start_search(std::int64_t nodes) {
    search_end_ = nodes > INT64_MAX - nodes_ ? INT64_MAX : nodes_ + nodes;
  }

  /// The nodes that they may still visit.
  std::int64_t nodes_of_search() const { return search_end_ - nodes_; }

  /// The next run may visit this many nodes.
  void start_run(std::int64_t nodes) { run_ = nodes; }
  /// Counts a node that took about `work` steps; false when the run, or the whole budget, is used
  /// up.
  bool goes_on(std::int64_t work) {
    if (is_spent() || run_ <= 0) return false;
    --run_;
    ++nodes_;
    unseen_work_ += work;
    if (unseen_work_ < kWorkBetweenLooks) return true;
    return look_at_the_clock();
  }
  /// Counts work without a node; false when time is up. The limit on nodes does not apply.
  bool works_on(std::int64_t work) {
    unseen_work_ += work;
    return !is_over_ && (unseen_work_ < kWorkBetweenLooks || look_at_the_clock());
  }
  /// Checks the clock, and reports progress when it is due; false when the solve must stop: time is
  /// up, or the progress callback returned false.
  bool look_at_the_clock();

  // The values of progress reports.
  std::int64_t peak = 0;
  std::int64_t proven_bound = 0;

 private:
  static constexpr std::int64_t kWorkBetweenLooks = 100'000;  // well below a millisecond

  const SolveOptions& options_;
  std::chrono::steady_clock::time_point started_;
  double last_report_ = 0;
  std::int64_t nodes_ = 0;
  std::int64_t run_ = 0;
  std::int64_t search_end_ = INT64_MAX;
  std::int64_t unseen_work_ = 0;
  bool is_over_ = false;
};

}  // namespace tessera::memory
