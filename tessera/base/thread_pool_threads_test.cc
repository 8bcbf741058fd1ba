// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <new>
#include <set>
#include <thread>
#include <vector>

#include "tessera/base/thread_pool.h"
#include "tessera/testing/process.h"

namespace tessera {
namespace {

/// Law of run(): every worker is called once, and its writes are visible afterwards.
void expect_each_called_once(ThreadPool& pool, int rounds) {
  // Plain integers: the thread sanitizer reports if run() does not order these accesses.
  std::vector<int> calls(static_cast<std::size_t>(pool.threads()), 0);
  for (int round = 1; round <= rounds; ++round) {
    ASSERT_TRUE(pool.run([&](int worker) { ++calls[static_cast<std::size_t>(worker)]; }));
    for (const int count : calls) ASSERT_EQ(count, round);
  }
}

TEST(ThreadPool, CallsEveryWorkerOnceARound) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    ASSERT_EQ(pool.threads(), threads);
    expect_each_called_once(pool, 300);
  }
}

TEST(ThreadPool, WakesWorkersThatSleep) {
  ThreadPool pool(3);
  for (int round = 0; round < 3; ++round) {
    expect_each_called_once(pool, 2);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

TEST(ThreadPool, WaitsForTheSlowest) {
  ThreadPool pool(2);
  for (int slow = 0; slow < 2; ++slow) {
    int written = 0;
    const Status ran = pool.run([&](int worker) {
      if (worker != slow) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      written = 7;
    });
    EXPECT_TRUE(ran.ok());
    EXPECT_EQ(written, 7);
  }
}

TEST(ThreadPool, WorkersRunAtTheSameTime) {
  ThreadPool pool(3);
  std::atomic<int> here{0};
  const Status ran = pool.run([&](int) {  // returns only when all three are inside
    here.fetch_add(1);
    while (here.load() < 3) std::this_thread::yield();
  });
  EXPECT_TRUE(ran.ok());
  EXPECT_EQ(here.load(), 3);
}

TEST(ThreadPool, TheCallerIsWorkerZeroAndOthersAreThreadsOfTheirOwn) {
  ThreadPool pool(3);
  std::vector<std::thread::id> ids(3);
  const Status ran = pool.run(
      [&](int worker) { ids[static_cast<std::size_t>(worker)] = std::this_thread::get_id(); });
  EXPECT_TRUE(ran.ok());
  EXPECT_EQ(ids[0], std::this_thread::get_id());
  EXPECT_EQ(std::set<std::thread::id>(ids.begin(), ids.end()).size(), 3U);
}

TEST(ThreadPool, SumsInParts) {
  constexpr std::int64_t kCount = 100'003;
  std::vector<int> numbers(kCount);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int>(i % 17);
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    std::vector<std::int64_t> sums(static_cast<std::size_t>(threads), 0);
    const Status ran = pool.run([&](int worker) {
      const ThreadPool::Range part = ThreadPool::share(kCount, worker, pool.threads());
      for (std::int64_t i = part.from; i < part.to; ++i) {
        sums[static_cast<std::size_t>(worker)] += numbers[static_cast<std::size_t>(i)];
      }
    });
    EXPECT_TRUE(ran.ok());
    std::int64_t sum = 0;
    for (const std::int64_t s : sums) sum += s;
    // 100003 = 5882·17 + 9: whole rounds of 0..16 (136 each), then 0..8 (36).
    EXPECT_EQ(sum, 5882 * 136 + 36);
  }
}

TEST(ThreadPool, CountsBelowOneAreOne) {
  for (const int threads : {0, -1, INT32_MIN}) EXPECT_EQ(ThreadPool(threads).threads(), 1);
}

TEST(ThreadPool, ManyComeAndGo) {
  for (int i = 0; i < 100; ++i) {
    ThreadPool pool(1 + i % 4);
    if (i % 3 == 0) expect_each_called_once(pool, 1);
  }
}

TEST(ThreadPool, SharesAreContiguousAndEven) {
  EXPECT_EQ(ThreadPool::share(10, 0, 4), (ThreadPool::Range{0, 3}));
  EXPECT_EQ(ThreadPool::share(10, 1, 4), (ThreadPool::Range{3, 6}));
  EXPECT_EQ(ThreadPool::share(10, 2, 4), (ThreadPool::Range{6, 8}));
  EXPECT_EQ(ThreadPool::share(10, 3, 4), (ThreadPool::Range{8, 10}));
  for (const std::int64_t count : {INT64_C(0), INT64_C(1), INT64_C(2), INT64_C(97), INT64_MAX}) {
    for (const int workers : {1, 2, 3, 64, 1024}) {
      std::int64_t reached = 0;
      for (int worker = 0; worker < workers; ++worker) {
        const ThreadPool::Range part = ThreadPool::share(count, worker, workers);
        ASSERT_EQ(part.from, reached);
        const std::int64_t beyond = part.to - part.from - count / workers;
        ASSERT_TRUE(beyond == 0 || beyond == 1) << count << " among " << workers;
        reached = part.to;
      }
      ASSERT_EQ(reached, count);
    }
  }
}

TEST(ThreadPool, WorkersTakeNoSignalsButThoseOfTheirOwnInstructions) {
  sigset_t caller_before;
  pthread_sigmask(SIG_SETMASK, nullptr, &caller_before);
  ThreadPool pool(2);
  sigset_t masks[2];
  const Status ran =
      pool.run([&](int worker) { pthread_sigmask(SIG_SETMASK, nullptr, &masks[worker]); });
  EXPECT_TRUE(ran.ok());
  for (const int sent : {SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGCHLD, SIGUSR1}) {
    EXPECT_EQ(sigismember(&masks[0], sent), sigismember(&caller_before, sent)) << sent;
    EXPECT_EQ(sigismember(&masks[1], sent), 1) << sent;
  }
  for (const int own : {SIGBUS, SIGSEGV, SIGFPE, SIGILL}) {
    EXPECT_EQ(sigismember(&masks[1], own), 0) << own;
  }
}

TEST(ThreadPool, RefusedMemoryIsAnErrorOfTheRun) {
  for (const int threads : {1, 2, 4}) {
    ThreadPool pool(threads);
    for (int refused = 0; refused < threads; ++refused) {
      std::atomic<int> calls{0};
      const Status ran = pool.run([&](int worker) {
        calls.fetch_add(1);
        if (worker == refused) throw std::bad_alloc();
      });
      ASSERT_FALSE(ran.ok()) << refused << " of " << threads;
      EXPECT_EQ(ran.error().code, ErrorCode::kOutOfMemory);
      EXPECT_EQ(calls.load(), threads) << "the others worked";
    }
    expect_each_called_once(pool, 3);
  }
}

/// In a separate process: limits memory to the stacks of fewer than 200 threads, asks for 200, and
/// exits with 0 if the pool works with fewer.
[[noreturn]] void make_do_with_little_memory() {
  std::int64_t pages = 0;
  std::FILE* statm = std::fopen("/proc/self/statm", "r");
  if (statm == nullptr || std::fscanf(statm, "%ld", &pages) != 1) std::_Exit(3);
  std::fclose(statm);
  const auto now = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE));
  const rlimit limit{now + (rlim_t{100} << 20), RLIM_INFINITY};
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(4);
  ThreadPool pool(200);
  if (pool.threads() >= 200) std::_Exit(5);
  std::atomic<int> calls{0};
  const Status ran = pool.run([&](int) { calls.fetch_add(1); });
  std::_Exit(ran.ok() && calls.load() == pool.threads() ? 0 : 6);
}

TEST(ThreadPool, MakesDoWithFewerThreadsWhenTheSystemRefuses) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "the thread sanitizer itself does not survive a refused thread";
#endif
#endif
  if (test::kSanitized) GTEST_SKIP() << "the address sanitizer needs more address space";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(make_do_with_little_memory(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tessera
