// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace tessera {

/// A few threads that wait for work and share it in a fixed way, so that what runs where does not
/// depend on timing. The caller is worker 0; a pool of one thread starts none.
class ThreadPool {
 public:
  /// `threads` below 1 counts as 1, and above kMostThreads as that. Should the system refuse some
  /// of them, the pool has fewer: the work is shared among those that are there. Workers take no
  /// signals, which stay with the threads of the program.
  static constexpr int kMostThreads = 1024;
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// The number of workers, the caller included.
  int threads() const;

  /// Calls `work(worker)` once for each worker in [0, threads()), all at the same time, and returns
  /// when every call has; what the calls wrote is then there for the caller to read. Calls from
  /// several threads, or from inside `work`, are not allowed, and `work` throws nothing.
  void run(const std::function<void(int worker)>& work);

  /// The part of [0, count) that `worker` of `workers` has: contiguous, in order, sizes differing
  /// by at most one. Example: share(10, 1, 4) = [3, 6).
  struct Range {
    std::int64_t from = 0;
    std::int64_t to = 0;
    friend bool operator==(const Range&, const Range&) = default;
  };
  static Range share(std::int64_t count, int worker, int workers);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera
