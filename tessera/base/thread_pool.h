// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "tessera/base/result.h"

namespace tessera {

/// A pool of threads that divide work in a fixed way, so that the assignment does not depend on
/// timing. The caller is worker 0; a pool of one thread starts no threads.
class ThreadPool {
 public:
  /// `threads` is clamped to 1 .. kMostThreads. If the system refuses to start some threads, the
  /// pool has fewer, and they share the work. Workers block the signals that other processes or
  /// timers send, so that the threads of the program receive them. Signals that an instruction of
  /// the worker itself causes (SIGBUS, SIGSEGV, ..) reach its handler: blocked, they would end the
  /// process.
  static constexpr int kMostThreads = 1024;
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// The number of workers, the caller included.
  int threads() const;

  /// Calls `work(worker)` once for each worker in [0, threads()), concurrently, and returns when
  /// all calls have returned; the caller then sees everything that they wrote. Do not call `run`
  /// from several threads or from inside `work`. kOutOfMemory when a call ended because the system
  /// refused memory (std::bad_alloc); the other calls have returned nevertheless. `work` must not
  /// throw anything else.
  Status run(const std::function<void(int worker)>& work);

  /// The part of [0, count) for `worker` of `workers`: contiguous, in order, with sizes that differ
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
