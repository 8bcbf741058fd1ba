// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/thread_pool.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <new>
#include <vector>

#include "tessera/base/array.h"

// This file alone is compiled with exceptions (cmake/library.cmake): it converts them to errors.
namespace tessera {
namespace {

/// How often a thread polls before it sleeps: some 20 microseconds, about the time to wake a
/// thread. A plan that runs again at once finds its workers awake; an idle pool uses no processor.
constexpr int kLooks = 2000;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Polls the condition: true as soon as it holds, false if it does not hold after `looks` polls.
template <typename Condition>
bool look(int looks, const Condition& there) {
  for (int i = 0; i < looks; ++i) {
    if (there()) return true;
    pause();
  }
  return there();
}

/// Signals that an instruction causes in the thread that runs it.
constexpr std::array kOwnSignals = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};

/// Blocks other signals in this thread, and so in threads that it starts, for its lifetime.
class SignalsHeldBack {
 public:
  SignalsHeldBack() {
    sigset_t others;
    sigfillset(&others);
    for (const int own : kOwnSignals) sigdelset(&others, own);
    held_ = pthread_sigmask(SIG_SETMASK, &others, &before_) == 0;
  }
  ~SignalsHeldBack() {
    if (held_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SignalsHeldBack(const SignalsHeldBack&) = delete;
  SignalsHeldBack& operator=(const SignalsHeldBack&) = delete;

 private:
  sigset_t before_{};
  bool held_ = false;
};

}  // namespace

struct ThreadPool::State {
  struct Worker {
    State* state = nullptr;
    int number = 0;
    pthread_t thread{};
  };

  // One round of work: the caller sets `work` and `busy`, then increments `round`; each worker sees
  // the new round, works, and decrements `busy`. The release of one and the acquire of the other
  // order the threads' writes. Both change under the mutex if a thread may sleep on them.
  const std::function<void(int)>* work = nullptr;
  std::atomic<std::uint64_t> round{0};
  std::atomic<int> busy{0};
  std::atomic<bool> ends{false};
  std::atomic<bool> is_refused{false};  ///< some worker of this round got no memory
  std::mutex mutex;
  std::condition_variable begins;
  std::condition_variable ended;
  int looks = 0;
  std::vector<Worker> workers;  // never resized once threads point into it

  /// No exception leaves a worker: that would end the process.
  void work_as(int number) {
    try {
      (*work)(number);
    } catch (const std::bad_alloc&) {
      is_refused.store(true, std::memory_order_relaxed);
    }
  }

  void serve(int number) {
    std::uint64_t seen = 0;
    while (true) {
      const auto new_round = [&] { return round.load(std::memory_order_acquire) != seen; };
      if (!look(looks, new_round)) {
        std::unique_lock lock(mutex);
        begins.wait(lock, new_round);
      }
      ++seen;
      if (ends.load(std::memory_order_relaxed)) return;
      work_as(number);
      if (busy.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        const std::lock_guard lock(mutex);
        ended.notify_one();
      }
    }
  }

  void begin_round() {
    {
      const std::lock_guard lock(mutex);
      round.fetch_add(1, std::memory_order_release);
    }
    begins.notify_all();
  }

  static void* enter(void* worker) {
    const Worker& self = *static_cast<Worker*>(worker);
    self.state->serve(self.number);
    return nullptr;
  }
};

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>()) {
  const int wanted = std::clamp(threads, 1, kMostThreads) - 1;
  if (wanted == 0) return;  // sysconf reads a file, which small moves would wait for
  // With more threads than processors, polling would take the processor from the awaited thread.
  state_->looks = wanted < sysconf(_SC_NPROCESSORS_ONLN) ? kLooks : 0;
  state_->workers.resize(static_cast<std::size_t>(wanted));
  const SignalsHeldBack held;
  int started = 0;
  // pthread_create instead of std::thread, which can report a failure only by throwing.
  while (started < wanted) {
    State::Worker& worker = state_->workers[static_cast<std::size_t>(started)];
    worker.state = state_.get();
    worker.number = started + 1;
    if (pthread_create(&worker.thread, nullptr, &State::enter, &worker) != 0) break;
    ++started;
  }
  state_->workers.resize(static_cast<std::size_t>(started));  // shrinks in place
}

ThreadPool::~ThreadPool() {
  state_->ends.store(true, std::memory_order_relaxed);
  state_->begin_round();
  for (const State::Worker& worker : state_->workers) pthread_join(worker.thread, nullptr);
}

int ThreadPool::threads() const { return static_cast<int>(state_->workers.size()) + 1; }

Status ThreadPool::run(const std::function<void(int worker)>& work) {
  const int others = threads() - 1;
  state_->work = &work;
  state_->is_refused.store(false, std::memory_order_relaxed);
  if (others > 0) {
    state_->busy.store(others, std::memory_order_relaxed);
    state_->begin_round();
  }
  state_->work_as(0);
  const auto all_done = [&] { return state_->busy.load(std::memory_order_acquire) == 0; };
  if (!look(state_->looks, all_done)) {
    std::unique_lock lock(state_->mutex);
    state_->ended.wait(lock, all_done);
  }
  return state_->is_refused.load(std::memory_order_relaxed) ? Status(out_of_memory()) : ok_status();
}

ThreadPool::Range ThreadPool::share(std::int64_t count, int worker, int workers) {
  // The first `longer` parts have one more. No product can overflow: each is at most `count`.
  const std::int64_t each = count / workers;
  const std::int64_t longer = count % workers;
  const auto from = [&](std::int64_t n) { return n * each + std::min(n, longer); };
  return {from(worker), from(worker + 1)};
}

}  // namespace tessera
