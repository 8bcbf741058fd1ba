// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <vector>

namespace tessera::test {

/// A simulated clock for ranks that are threads, independent of the load of the machine: it
/// advances by kStep when every present rank has called step(). A rank that waits for a processor
/// stops the time for all of them, so that no timeout expires because of it.
/// Law: between now() = t and now() = t + n * kStep every present rank stepped n - 1 times.
/// Example: of ranks 0 and 1 only 0 steps: the time stands still until 1 steps, or leaves.
class Pace {
 public:
  using Moment = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds kStep{5};

  explicit Pace(int ranks);
  Moment now() const;
  void step(int rank);
  /// Steps until `time` has passed: simulates that `rank` is busy with something else.
  void pass(int rank, std::chrono::milliseconds time);
  /// The rank hangs, or is done: the clock advances without it.
  void leave(int rank);
  void come_back(int rank);

 private:
  void move_on();

  mutable std::mutex mutex_;
  std::int64_t time_ = 0;            ///< in steps
  std::vector<std::int64_t> steps_;  ///< the time of each rank; kAway for one that is away
};

}  // namespace tessera::test
