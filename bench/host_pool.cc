// SPDX-License-Identifier: Apache-2.0
#include "bench/host_pool.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "tessera/base/host_memory_pool.h"
#include "tessera/base/text.h"
#include "tessera/base/thread_pool.h"

namespace tessera::bench {
namespace {

constexpr std::int64_t kMostHeld = 4096;

/// The simple solution: one list of free blocks, one lock.
class OneMutex {
 public:
  explicit OneMutex(std::size_t block_bytes) : block_bytes_(block_bytes) {}
  ~OneMutex() {
    for (void* const block : free_) std::free(block);
  }
  OneMutex(const OneMutex&) = delete;
  OneMutex& operator=(const OneMutex&) = delete;

  void* acquire() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::malloc(block_bytes_);
    void* const block = free_.back();
    free_.pop_back();
    return block;
  }
  void release(void* block) {
    const std::lock_guard lock(mutex_);
    free_.push_back(block);
  }

 private:
  std::size_t block_bytes_;
  std::mutex mutex_;
  std::vector<void*> free_;
};

/// Seconds until all threads are done; negative when a block could not be acquired.
template <typename Acquire, typename Release>
double seconds_of(ThreadPool& threads, const PoolLoad& load, const Acquire& acquire,
                  const Release& release) {
  std::atomic<bool> failed{false};
  const auto begin = std::chrono::steady_clock::now();
  const Status ran = threads.run([&](int) {
    std::array<void*, kMostHeld> blocks{};
    for (std::int64_t done = 0; done < load.pairs;) {
      const std::int64_t now = std::min(load.held, load.pairs - done);
      for (std::int64_t i = 0; i < now; ++i) {
        void* const block = acquire();
        if (block == nullptr) {
          failed.store(true);
          continue;
        }
        *static_cast<volatile char*>(block) = 1;
        blocks[static_cast<std::size_t>(i)] = block;
      }
      for (std::int64_t i = 0; i < now; ++i) release(blocks[static_cast<std::size_t>(i)]);
      done += now;
    }
  });
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  return failed.load() || !ran.ok() ? -1 : taken.count();
}

}  // namespace

Result<PoolTimes> time_pool(int threads, const PoolLoad& load) {
  if (threads < 1 || threads > ThreadPool::kMostThreads || load.pairs < 1 || load.held < 1 ||
      load.held > kMostHeld || load.rounds < 1 || load.block_bytes < 1) {
    return Error{ErrorCode::kOutOfRange,
                 cat(threads, " threads with ", load.held, " blocks of ", load.block_bytes,
                     " bytes, ", load.pairs, " pairs and ", load.rounds, " rounds"),
                 std::nullopt,
                 cat("use 1 to ", ThreadPool::kMostThreads, " threads, 1 to ", kMostHeld,
                     " blocks, and at least one of everything else")};
  }
  TESSERA_TRY(HostMemoryPool pool,
              HostMemoryPool::make(load.block_bytes, static_cast<std::size_t>(load.held)));
  OneMutex one_mutex(load.block_bytes);
  ThreadPool workers(threads);
  std::vector<double> times[3];
  for (int round = 0; round < load.rounds; ++round) {
    times[0].push_back(seconds_of(
        workers, load,
        [&]() -> void* {
          const Result<void*> block = pool.acquire();
          return block.ok() ? *block : nullptr;
        },
        [&](void* block) { static_cast<void>(pool.release(block)); }));
    times[1].push_back(seconds_of(
        workers, load, [&] { return one_mutex.acquire(); },
        [&](void* block) { one_mutex.release(block); }));
    times[2].push_back(seconds_of(
        workers, load, [&] { return std::malloc(load.block_bytes); },
        [](void* block) { std::free(block); }));
    for (const std::vector<double>& of_one : times) {
      if (of_one.back() < 0) {
        return Error{ErrorCode::kOutOfMemory, "out of memory", std::nullopt,
                     "hold fewer or smaller blocks"};
      }
    }
  }
  const double pairs = static_cast<double>(load.pairs) * workers.threads();
  const auto ns = [&](const std::vector<double>& seconds) {
    return *std::min_element(seconds.begin(), seconds.end()) * 1e9 / pairs;
  };
  return PoolTimes{workers.threads(), ns(times[0]), ns(times[1]), ns(times[2])};
}

}  // namespace tessera::bench
