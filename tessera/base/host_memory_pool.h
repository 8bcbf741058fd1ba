// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "tessera/base/host_slabs.h"
#include "tessera/base/result.h"

namespace tessera {

struct PoolOptions {
  std::size_t alignment = 64;  ///< of every block; a power of two up to 2^30
  /// The number of free lists, up to kMostShards. Threads that use different lists do not wait for
  /// each other. 0 means one per processor, and at least 8.
  std::size_t shards = 0;
  static constexpr std::size_t kMostShards = 64;
  /// Called by the destructor if blocks are still in use, with the error that close() would return.
  void (*left_behind)(void* context, const Error& error) = nullptr;
  void* left_behind_context = nullptr;
  MemorySource source = {};
};

/// A pool of blocks of one size, for frequent acquire and release from any thread. The pool grows
/// when all blocks are in use, and keeps its memory until it is closed.
///
/// Laws: two blocks in use share no byte; total = available + in use; any thread may release a
/// block; releasing an address that is not a block in use is an error that names the address, does
/// not touch its memory, and changes nothing.
/// Example:
///     TESSERA_TRY(HostMemoryPool pool, HostMemoryPool::make(16 << 10));
///     TESSERA_TRY(void* const tile, pool.acquire());
///     ..
///     TESSERA_CHECK_OK(pool.release(tile));
///     TESSERA_CHECK_OK(pool.close());
///
/// Each thread uses a shard, a list of free blocks with a short lock. A block returns to its home
/// shard. An empty shard takes half of the free blocks of another one; otherwise the pool grows to
/// about twice its size, but by no more than a slab (2 MiB, or one block).
class HostMemoryPool {
 public:
  /// Makes a pool with at least `initial_blocks` blocks. Blocks of 0 bytes have distinct addresses.
  /// Errors: kBadAlignment; kOverflow if the blocks have too many bytes; kOutOfRange for more
  /// shards than kMostShards, or for a source with only one of its two functions; kOutOfMemory.
  static Result<HostMemoryPool> make(std::size_t block_size, std::size_t initial_blocks = 16,
                                     const PoolOptions& options = {});
  /// A moved-from pool can only be assigned to or destroyed.
  HostMemoryPool(HostMemoryPool&&) noexcept = default;
  HostMemoryPool& operator=(HostMemoryPool&&) noexcept = default;
  /// Blocks that are still in use stay valid memory for their owners: their slabs are leaked, and
  /// `left_behind` is called. All other memory is freed.
  ~HostMemoryPool() = default;

  /// Returns an uninitialized block. kOutOfMemory if all blocks are in use and the pool cannot
  /// grow; a later call may succeed.
  Result<void*> acquire();
  /// Releases a block; does nothing for a null pointer. kBadBlock for an address that is not a
  /// block of this pool, an address inside a block, and a block that was released already, unless
  /// it has been acquired again since.
  Status release(void* block);

  /// A block that releases itself. The pool may be moved in the meantime, but not destroyed.
  struct Release;
  using UniqueBlock = std::unique_ptr<std::byte[], Release>;
  Result<UniqueBlock> acquire_unique();

  /// Frees all memory. The pool then has no blocks, and grows again on the next acquire. If blocks
  /// are still in use, returns kBadBlock with their number, and nothing changes. Do not call it
  /// while other threads use the pool.
  Status close();

  std::size_t block_size() const;
  std::size_t alignment() const;
  std::size_t total_blocks() const { return statistics().total; }
  std::size_t available_blocks() const { return statistics().available; }

  /// A consistent snapshot.
  struct Statistics {
    std::size_t total = 0;
    std::size_t available = 0;
    std::size_t in_use = 0;
    /// The most blocks in use at one time. Exact for one thread. With several threads it is the sum
    /// of the peaks of all shards, which is an upper bound.
    std::size_t peak = 0;
    std::size_t grown = 0;  ///< how often acquire() grew the pool
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
