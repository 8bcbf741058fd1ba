// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <vector>

namespace tessera::test {

/// A clock of ranks that are threads, which no busy machine can hurry: it moves on by kStep when
/// every rank that is there has called step(). A rank that waits for a processor holds the time
/// still for all of them, so that nobody loses timeouts with it.
/// Law: between now() = t and now() = t + n * kStep every rank that is there stepped n - 1 times.
/// Example: of ranks 0 and 1 only 0 steps: the time stands still until 1 steps, or leaves.
class Pace {
 public:
  using Moment = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds kStep{5};

  explicit Pace(int ranks);
  Moment now() const;
  void step(int rank);
  /// Steps until `time` has passed: `rank` is busy with something else.
  void pass(int rank, std::chrono::milliseconds time);
  /// The rank hangs, or is done: time goes on without it.
  void leave(int rank);
  void come_back(int rank);

 private:
  void move_on();

  mutable std::mutex mutex_;
  std::int64_t time_ = 0;            ///< in steps
  std::vector<std::int64_t> steps_;  ///< the time of each rank; of one that is away: kAway
};

}  // namespace tessera::test
