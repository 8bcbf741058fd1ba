// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <random>
#include <vector>

#include "tessera/base/host_memory_pool.h"
#include "tessera/base/thread_pool.h"

namespace tessera {
namespace {

constexpr int kThreads = 8;

/// The content of a block: plain words, so that the thread sanitizer reports two threads with the
/// same block, and so that a block with two users is also detected without it.
struct Note {
  std::uint64_t owner;
  std::uint64_t check;
  void write(std::uint64_t who) {
    owner = who;
    check = ~who;
  }
  bool is(std::uint64_t who) const { return owner == who && check == ~who; }
};

/// Threads acquire and release blocks at random, and leave some in a shared place from which any
/// thread may release them.
void stress(std::size_t initial_blocks, std::size_t shards, int rounds) {
  PoolOptions options;
  options.shards = shards;
  Result<HostMemoryPool> made = HostMemoryPool::make(sizeof(Note), initial_blocks, options);
  ASSERT_TRUE(made.ok());
  HostMemoryPool& pool = *made;
  std::vector<std::atomic<Note*>> shelf(16);
  std::atomic<int> wrong{0};
  ThreadPool threads(kThreads);
  ASSERT_EQ(threads.threads(), kThreads);
  const Status ran = threads.run([&](int worker) {
    std::mt19937 random(static_cast<unsigned>(worker));
    const auto me = static_cast<std::uint64_t>(worker + 1) << 32;
    std::vector<Note*> mine;
    for (int i = 0; i < rounds; ++i) {
      const unsigned choice = random() % 16;
      if (choice < 7 && mine.size() < 100) {
        const Result<void*> block = pool.acquire();
        if (!block.ok()) {
          wrong.fetch_add(1);
          continue;
        }
        mine.push_back(static_cast<Note*>(*block));
        mine.back()->write(me + mine.size());
      } else if (choice < 12 && !mine.empty()) {
        Note* const note = mine.back();
        if (!note->is(me + mine.size())) wrong.fetch_add(1);
        mine.pop_back();
        if (!pool.release(note).ok()) wrong.fetch_add(1);
      } else if (choice < 14 && !mine.empty()) {
        Note* const note = mine.back();
        mine.pop_back();
        note->write(99);
        Note* const other = shelf[random() % shelf.size()].exchange(note);
        if (other == nullptr) continue;
        if (!other->is(99)) wrong.fetch_add(1);
        if (!pool.release(other).ok()) wrong.fetch_add(1);
      } else if (choice == 14) {
        if (pool.release(&random).ok()) wrong.fetch_add(1);  // foreign
      } else {
        const HostMemoryPool::Statistics now = pool.statistics();
        if (now.total != now.available + now.in_use) wrong.fetch_add(1);
        if (now.peak < now.in_use) wrong.fetch_add(1);
      }
    }
    for (Note* const note : mine) {
      if (!pool.release(note).ok()) wrong.fetch_add(1);
    }
  });
  EXPECT_TRUE(ran.ok());
  EXPECT_EQ(wrong.load(), 0);
  std::size_t left = 0;
  for (std::atomic<Note*>& place : shelf) left += place.load() != nullptr ? 1 : 0;
  EXPECT_EQ(pool.statistics().in_use, left);
  EXPECT_EQ(pool.close().ok(), left == 0);
  for (std::atomic<Note*>& place : shelf) EXPECT_TRUE(pool.release(place.load()).ok());
  EXPECT_TRUE(pool.close().ok());
}

TEST(HostMemoryPoolThreads, NoBlockHasTwoUsers) {
  stress(16, 0, 60000);
  stress(0, 0, 60000);
  stress(1000, 3, 20000);  // threads that share shards
  stress(16, 1, 20000);
  stress(16, 64, 5000);
}

/// Of many concurrent releases of one block, exactly one succeeds, even if blocks move between
/// shards.
TEST(HostMemoryPoolThreads, OfManyReleasesOneSucceeds) {
  PoolOptions options;
  options.shards = 4;
  HostMemoryPool pool = std::move(*HostMemoryPool::make(64, 8, options));
  ThreadPool threads(kThreads);
  for (int round = 0; round < 300; ++round) {
    std::vector<void*> blocks;
    for (int i = 0; i < 8; ++i) blocks.push_back(*pool.acquire());
    std::atomic<int> accepted{0};
    std::atomic<int> told{0};
    const Status ran = threads.run([&](int) {
      for (void* const block : blocks) {
        const Status status = pool.release(block);
        (status.ok() ? accepted : told).fetch_add(1);
      }
    });
    EXPECT_TRUE(ran.ok());
    ASSERT_EQ(accepted.load(), 8);
    ASSERT_EQ(told.load(), 8 * (kThreads - 1));
    // Threads of other shards move blocks to their own shards, where the next round finds them.
    const Status again = threads.run([&](int) { EXPECT_TRUE(pool.release(*pool.acquire()).ok()); });
    EXPECT_TRUE(again.ok());
  }
  EXPECT_TRUE(pool.close().ok());
}

/// One thread acquires, another releases: blocks return to their home shard and the pool stays
/// small.
TEST(HostMemoryPoolThreads, BlocksComeHomeFromOtherThreads) {
  HostMemoryPool pool = std::move(*HostMemoryPool::make(64, 16));
  ThreadPool threads(2);
  constexpr int kBlocks = 50000;
  std::vector<std::atomic<void*>> ring(8);
  const Status ran = threads.run([&](int worker) {
    for (int i = 0; i < kBlocks; ++i) {
      std::atomic<void*>& place = ring[static_cast<std::size_t>(i) % ring.size()];
      if (worker == 0) {
        void* const block = *pool.acquire();
        for (void* none = nullptr; !place.compare_exchange_weak(none, block); none = nullptr) {
          sched_yield();
        }
      } else {
        void* block = nullptr;
        while ((block = place.exchange(nullptr)) == nullptr) sched_yield();
        EXPECT_TRUE(pool.release(block).ok());
      }
    }
  });
  EXPECT_TRUE(ran.ok());
  EXPECT_EQ(pool.statistics().total, 16u);
  EXPECT_LE(pool.statistics().peak, 10u);
  EXPECT_TRUE(pool.close().ok());
}

/// If allocation fails, threads share the existing blocks, and an acquire fails only if every block
/// is in use.
TEST(HostMemoryPoolThreads, FailsOnlyWhenAllBlocksAreOut) {
  struct Limited {
    int left;
  } limited{4};  // the state, a table, a slab and its memory
  PoolOptions options;
  options.source = MemorySource::of_host();
  options.source.context = &limited;
  options.source.take = [](void* context, std::size_t bytes, std::size_t alignment) -> void* {
    if (static_cast<Limited*>(context)->left-- <= 0) return nullptr;
    const MemorySource host = MemorySource::of_host();
    return host.take(host.context, bytes, alignment);
  };
  // Every thread holds at most one block at a time, and there is one for each, so no acquire fails.
  HostMemoryPool pool = std::move(*HostMemoryPool::make(64, kThreads, options));
  ThreadPool threads(kThreads);
  std::atomic<int> refused{0};
  const Status ran = threads.run([&](int) {
    for (int i = 0; i < 20000; ++i) {
      const Result<void*> block = pool.acquire();
      if (!block.ok() || !pool.release(*block).ok()) refused.fetch_add(1);
    }
  });
  EXPECT_TRUE(ran.ok());
  EXPECT_EQ(refused.load(), 0);
  EXPECT_EQ(pool.statistics().total, static_cast<std::size_t>(kThreads));
  EXPECT_EQ(pool.statistics().grown, 0u);
  std::vector<void*> all;
  for (int i = 0; i < kThreads; ++i) all.push_back(*pool.acquire());
  EXPECT_EQ(pool.acquire().error().code, ErrorCode::kOutOfMemory);
  for (void* const block : all) EXPECT_TRUE(pool.release(block).ok());
  EXPECT_TRUE(pool.close().ok());
}

}  // namespace
}  // namespace tessera
