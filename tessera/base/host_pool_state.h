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

/// The free blocks of a few threads, under a lock of their own. Two cache lines, because processors
/// fetch them in pairs.
struct alignas(128) Shard {
  SpinLock lock;
  Block* free = nullptr;
  std::size_t available = 0;
  std::size_t in_use = 0;  ///< blocks at home here that are out
  std::size_t peak = 0;
  std::atomic<bool> any{false};  ///< available > 0, for looks without the lock

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
  /// The next free block, now out; null when there is none.
  std::byte* hand_out() {
    if (free == nullptr) return nullptr;
    Block* const block = pop();
    block->out = true;
    peak = std::max(peak, ++in_use);
    return block->memory;
  }
};

}  // namespace pool

/// What a pool is made of: shards, the slabs that their blocks lie in, and the way from an address
/// to its slab.
struct HostMemoryPool::State {
  std::size_t block_size = 0;
  std::size_t stride = 0;
  std::size_t slab_blocks = 0;  ///< the most in one slab
  PoolOptions options;
  pool::Shard shards[PoolOptions::kMostShards];
  pool::SlabTable table;

  // Locks are taken in this order: `growth`, then those of shards by number.
  SpinLock growth;
  pool::Slab* slabs = nullptr;
  std::size_t total = 0;
  std::size_t most = 0;  ///< the largest that `total` has been
  std::size_t grown = 0;

  /// That of the thread that asks.
  std::size_t own_shard() const;
  std::byte* steal(std::size_t own);
  std::byte* grow(std::size_t own);
  bool add_slab(std::size_t count, std::size_t own, std::byte** first = nullptr);
  Error bad_release(const void* address, pool::Slab* slab) const;
  /// Every shard locked: what is free and what is out are of one moment.
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
