// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tessera {

/// Where a pool gets memory from. `take` returns null on failure; alignments are powers of two.
/// Calls are never concurrent. Set both functions or neither; with neither, the source is
/// HostAllocator.
struct MemorySource {
  void* (*take)(void* context, std::size_t bytes, std::size_t alignment) = nullptr;
  void (*give_back)(void* context, void* memory) = nullptr;
  void* context = nullptr;

  static MemorySource of_host();
};

namespace pool {

/// The bookkeeping of a block. It is separate from the block's memory, so that no write of a user
/// to a block, even after its release, can corrupt the pool. It has its own cache line, because
/// different threads may use neighbouring blocks.
struct alignas(64) Block {
  std::byte* memory = nullptr;
  Block* next = nullptr;               ///< in the list of free blocks of its shard
  std::atomic<std::uint32_t> home{0};  ///< its shard; changes only while the block is free
  bool out = false;                    ///< in use; guarded by the lock of its shard
};

/// Consecutive blocks in one piece of memory that begins at a multiple of kSlabBytes and, if it has
/// more than one block, is at most kSlabBytes long. So the address of a block determines its slab.
struct alignas(64) Slab {
  std::byte* memory = nullptr;
  std::size_t count = 0;
  std::size_t stride = 0;
  Slab* next = nullptr;  ///< of all slabs of the pool

  Block* blocks() { return reinterpret_cast<Block*>(this + 1); }
};
static_assert(sizeof(Slab) % alignof(Block) == 0);

#if defined(__linux__)
inline constexpr std::size_t kSlabBytes = std::size_t{2} << 20;  // a huge page
#else
inline constexpr std::size_t kSlabBytes = std::size_t{1} << 16;  // alignment can double the cost
#endif

/// The slabs of a pool by address. Any address may be looked up: `find` reads only the table. Many
/// threads may call `find` concurrently, also while one thread adds.
///
/// Law: find(p) is the slab whose memory begins at p rounded down to kSlabBytes, or null.
class SlabTable {
 public:
  Slab* find(const void* address) const;
  /// Makes room for one more slab; false if the allocation fails.
  [[nodiscard]] bool reserve(const MemorySource& source);
  /// Requires a prior reserve().
  void add(Slab* slab);
  /// Empties the table. No other thread may use it.
  void clear(const MemorySource& source);

 private:
  /// Open addressing, at most half full. A table that became too small is kept, because another
  /// thread may be reading it; all old tables together are smaller than the newest.
  struct Table {
    Table* older = nullptr;
    unsigned bits = 0;
    std::size_t size() const { return std::size_t{1} << bits; }
    std::size_t first(std::uintptr_t key) const;
    std::atomic<Slab*>* entries() { return reinterpret_cast<std::atomic<Slab*>*>(this + 1); }
  };
  static void put(Table& table, Slab* slab);

  std::atomic<Table*> table_{nullptr};
  std::size_t count_ = 0;
};

/// A new slab with free blocks of home shard `home` and uninitialized memory. Null if an allocation
/// fails; then nothing stays allocated.
Slab* make_slab(const MemorySource& source, std::size_t count, std::size_t stride,
                std::size_t alignment, std::uint32_t home);

}  // namespace pool
}  // namespace tessera
