// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__unix__)
#include <sched.h>
#endif

#include <atomic>

namespace tessera {

/// A lock for critical sections of a few instructions: one exchange to lock, one store to unlock. A
/// waiting thread spins for a while and then yields, so that more threads than processors do no
/// harm. It needs no operating system support, so it also works on platforms without threads.
class SpinLock {
 public:
  void lock() {
    for (int looks = 0; taken_.exchange(true, std::memory_order_acquire);) {
      while (taken_.load(std::memory_order_relaxed)) {
        if (++looks < kLooks) {
          pause();
        } else {
          yield();
        }
      }
    }
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

  /// Holds a lock for its lifetime.
  class Guard {
   public:
    explicit Guard(SpinLock& lock) : lock_(lock) { lock_.lock(); }
    ~Guard() { lock_.unlock(); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    SpinLock& lock_;
  };

 private:
  /// Some microseconds: a thread that holds the lock for longer is not running.
  static constexpr int kLooks = 100;

  static void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
  static void yield() {
#if defined(__unix__)
    sched_yield();
#endif
  }

  std::atomic<bool> taken_{false};
};

}  // namespace tessera
