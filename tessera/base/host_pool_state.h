// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <utility>

#include "tessera/base/host_memory_pool.h"
#include "tessera/base/host_slabs.h"
#include "tessera/base/host_spin_lock.h"

namespace tessera {
namespace pool {

/// The free blocks of a few threads, with their own lock. Two cache lines, because processors fetch
/// them in pairs.
struct alignas(128) Shard {
  SpinLock lock;
  Block* free = nullptr;
  std::size_t available = 0;
  std::size_t in_use = 0;  ///< blocks of this home shard that are in use
  std::size_t peak = 0;
  std::atomic<bool> any{false};  ///< available > 0, for reads without the lock

  void set_available(std::size_t count) {
    available = count;
    any.store(count > 0, std::memory_order_relaxed);
  }
  void push(Block* block) {
    block->next = std::exchange(free, block);
    set_available(available + 1);
  }
  Block* pop() {
    Block* const block = std::exchange(free, free->next);
    set_available(available - 1);
    return block;
  }
  /// Removes the next free block and marks it as in use; null if there is none.
  std::byte* hand_out() {
    if (free == nullptr) return nullptr;
    Block* const block = pop();
    block->out = true;
    peak = std::max(peak, ++in_use);
    return block->memory;
  }
};

}  // namespace pool

/// The state of a pool: shards, the slabs that contain their blocks, and the table from addresses
/// to slabs.
struct HostMemoryPool::State {
  std::size_t block_size = 0;
  std::size_t stride = 0;
  std::size_t slab_blocks = 0;  ///< the most blocks in one slab
  PoolOptions options;
  pool::Shard shards[PoolOptions::kMostShards];
  pool::SlabTable table;

  // Locks are taken in this order: `growth`, then those of shards by number.
  SpinLock growth;
  pool::Slab* slabs = nullptr;
  std::size_t total = 0;
  std::size_t most = 0;  ///< the largest value of `total` so far
  std::size_t grown = 0;

  /// The shard of the calling thread.
  std::size_t own_shard() const;
  std::byte* steal(std::size_t own);
  std::byte* grow(std::size_t own);
  bool add_slab(std::size_t count, std::size_t own, std::byte** first = nullptr);
  Error bad_release(const void* address, pool::Slab* slab) const;
  /// Locks every shard, so that the counts are consistent.
  void lock_all() {
    for (std::size_t i = 0; i < options.shards; ++i) shards[i].lock.lock();
  }
  void unlock_all() {
    for (std::size_t i = options.shards; i > 0; --i) shards[i - 1].lock.unlock();
  }
  std::size_t in_use() const {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < options.shards; ++i) sum += shards[i].in_use;
    return sum;
  }
  Error still_out();
  void free_slabs();
};

}  // namespace tessera
