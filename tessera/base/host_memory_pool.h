// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "tessera/base/host_slabs.h"
#include "tessera/base/result.h"

namespace tessera {

struct PoolOptions {
  std::size_t alignment = 64;  ///< of every block; a power of two up to 2^30
  /// Free lists, up to kMostShards; threads that do not share one do not wait for each other. 0 is
  /// one for each processor, and at least 8.
  std::size_t shards = 0;
  static constexpr std::size_t kMostShards = 64;
  /// Called by the destructor when blocks are still out, with the error that close() would answer.
  void (*left_behind)(void* context, const Error& error) = nullptr;
  void* left_behind_context = nullptr;
  MemorySource source = {};
};

/// Blocks of one size, to be taken and given back often and by any thread. The pool grows when all
/// blocks are out, and keeps what it has until it is closed.
///
/// Laws: two blocks that are out share no byte; total = available + in use; a block may come back
/// from any thread; what comes back and is not out is told by name, without touching its memory,
/// and changes nothing.
/// Example:
///     TESSERA_TRY(HostMemoryPool pool, HostMemoryPool::make(16 << 10));
///     TESSERA_TRY(void* const tile, pool.acquire());
///     ..
///     TESSERA_CHECK_OK(pool.release(tile));
///     TESSERA_CHECK_OK(pool.close());
///
/// Each thread has a shard, a list of free blocks with a short lock. A block goes back to the shard
/// that it is at home in; a shard that runs dry takes half of what another one has, or else the
/// pool grows, to about twice its size but by no more than a slab (2 MiB, or one block).
class HostMemoryPool {
 public:
  /// A pool with at least `initial_blocks` blocks. Blocks of 0 bytes have addresses of their own.
  /// Errors: kBadAlignment; kOverflow when the blocks have too many bytes; kOutOfRange for more
  /// shards than kMostShards, or half a source; kOutOfMemory.
  static Result<HostMemoryPool> make(std::size_t block_size, std::size_t initial_blocks = 16,
                                     const PoolOptions& options = {});
  /// A pool that was moved away can only be given another one, or end.
  HostMemoryPool(HostMemoryPool&&) noexcept = default;
  HostMemoryPool& operator=(HostMemoryPool&&) noexcept = default;
  /// Blocks that are still out stay what they are, memory that their owners may use: the slabs they
  /// are in are left behind, to no one, and `left_behind` is told. Everything else is given back.
  ~HostMemoryPool() = default;

  /// A block, uninitialised. kOutOfMemory when all are out and the pool cannot grow; it can be
  /// asked again.
  Result<void*> acquire();
  /// Gives a block back; a null is no block and no mistake. kBadBlock for an address of no block of
  /// this pool, one inside a block, and a block that is back already, unless it has been handed out
  /// again since.
  Status release(void* block);

  /// A block that gives itself back. The pool may move in the meantime, but not end.
  struct Release;
  using UniqueBlock = std::unique_ptr<std::byte[], Release>;
  Result<UniqueBlock> acquire_unique();

  /// Gives all memory back: the pool has no blocks then, and grows anew when asked for one. When
  /// blocks are still out, kBadBlock says how many and nothing changes. Not while other threads use
  /// the pool.
  Status close();

  std::size_t block_size() const;
  std::size_t alignment() const;
  std::size_t total_blocks() const { return statistics().total; }
  std::size_t available_blocks() const { return statistics().available; }

  /// All numbers of one moment.
  struct Statistics {
    std::size_t total = 0;
    std::size_t available = 0;
    std::size_t in_use = 0;
    /// The most that were out at one moment. Exact for one thread; with several it adds the most
    /// of each shard, which may be more than were ever out together, never less.
    std::size_t peak = 0;
    std::size_t grown = 0;  ///< how often acquire() made the pool larger
  };
  Statistics statistics() const;

 private:
  struct State;
  struct End {
    void operator()(State* state) const;
  };
  explicit HostMemoryPool(State* state) : state_(state) {}
  static Status release_to(State& state, void* address);
  std::unique_ptr<State, End> state_;

 public:
  struct Release {
    State* state = nullptr;
    void operator()(std::byte* block) const { static_cast<void>(release_to(*state, block)); }
  };
};

}  // namespace tessera
