// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tessera {

/// Where a pool gets memory from. `take` answers null when it refuses; alignments are powers of
/// two. Calls come one at a time. Both functions are set, or neither: then it is HostAllocator.
struct MemorySource {
  void* (*take)(void* context, std::size_t bytes, std::size_t alignment) = nullptr;
  void (*give_back)(void* context, void* memory) = nullptr;
  void* context = nullptr;

  static MemorySource of_host();
};

namespace pool {

/// What is known about a block. It stands apart from the block's memory, so that nothing a user
/// writes to a block, or to one that is no longer theirs, can harm the pool. It has a cache line of
/// its own, because neighbours may be in the hands of different threads.
struct alignas(64) Block {
  std::byte* memory = nullptr;
  Block* next = nullptr;               ///< in the list of free blocks of its shard
  std::atomic<std::uint32_t> home{0};  ///< its shard; changes only while the block is free
  bool out = false;                    ///< handed out; guarded by the lock of its shard
};

/// Blocks side by side in one piece of memory that begins at a multiple of kSlabBytes and, with
/// more than one block, is not longer. So the address of a block names its slab.
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
inline constexpr std::size_t kSlabBytes = std::size_t{1} << 16;  // aligning costs as much again
#endif

/// The slabs of a pool by address, for questions about any address at all: finding one touches
/// nothing but the table. Many threads find at once, also while one adds.
///
/// Law: find(p) is the slab whose memory begins at p rounded down to kSlabBytes, or null.
class SlabTable {
 public:
  Slab* find(const void* address) const;
  /// Makes room for one more; false when memory is refused.
  [[nodiscard]] bool reserve(const MemorySource& source);
  /// After reserve().
  void add(Slab* slab);
  /// Back to nothing. No one else may be looking.
  void clear(const MemorySource& source);

 private:
  /// Open addresses, at most half of them taken. A table that became too small is kept, because
  /// someone may be reading it: all of them together are shorter than the newest.
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

/// A new slab with blocks that are free and at home in shard `home`, the memory of which may be
/// anything; null when memory is refused, and then nothing is left taken.
Slab* make_slab(const MemorySource& source, std::size_t count, std::size_t stride,
                std::size_t alignment, std::uint32_t home);

}  // namespace pool
}  // namespace tessera
