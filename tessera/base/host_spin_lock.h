// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__unix__)
#include <sched.h>
#endif

#include <atomic>

namespace tessera {

/// A lock for a handful of instructions: one exchange to take, one store to leave. Who finds it
/// taken looks for a while and then lets other threads run, so that more threads than processors do
/// no harm. Needs nothing of the system, so that it is also there where threads are not.
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

  /// Holds a lock while it lives.
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
  /// Some microseconds: who holds the lock for longer is not running.
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
