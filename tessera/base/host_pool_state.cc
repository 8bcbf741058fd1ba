// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/host_pool_state.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include "tessera/base/text.h"

namespace tessera {
namespace {

using pool::Block;
using pool::Shard;
using pool::Slab;

/// The number of the calling thread: threads are numbered from 0 in the order of their first use of
/// a pool.
std::size_t thread_number() {
  static constinit std::atomic<std::size_t> threads{0};
  static constinit thread_local std::size_t mine = 0;  // our number plus 1; 0 means none yet
  if (mine == 0) mine = threads.fetch_add(1, std::memory_order_relaxed) + 1;
  return mine - 1;
}

/// "0x7f2a10c0".
std::string address_text(const void* address) {
  char digits[2 * sizeof(void*)];
  const auto end = std::to_chars(std::begin(digits), std::end(digits),
                                 reinterpret_cast<std::uintptr_t>(address), 16);
  return cat("0x", std::string_view(digits, static_cast<std::size_t>(end.ptr - digits)));
}

/// The most blocks that one shard takes from another while both are locked.
constexpr std::size_t kMostMoved = 64;

}  // namespace

std::size_t HostMemoryPool::State::own_shard() const { return thread_number() % options.shards; }

/// Takes a free block from another shard, and moves half of that shard's free blocks to `own`.
std::byte* HostMemoryPool::State::steal(std::size_t own) {
  for (std::size_t step = 1; step < options.shards; ++step) {
    const std::size_t other = (own + step) % options.shards;
    if (!shards[other].any.load(std::memory_order_relaxed)) continue;
    const SpinLock::Guard lower(shards[std::min(own, other)].lock);
    const SpinLock::Guard upper(shards[std::max(own, other)].lock);
    Shard& from = shards[other];
    Shard& to = shards[own];
    const std::size_t moved = std::min(kMostMoved, (from.available + 1) / 2);
    for (std::size_t i = 0; i < moved; ++i) {
      Block* const block = from.pop();
      block->home.store(static_cast<std::uint32_t>(own), std::memory_order_relaxed);
      to.push(block);
    }
    if (std::byte* const block = to.hand_out()) return block;
  }
  return nullptr;
}

/// Adds blocks with home shard `own`; false if the allocation fails. If `first` is given, it gets
/// the first block before another thread can take it.
bool HostMemoryPool::State::add_slab(std::size_t count, std::size_t own, std::byte** first) {
  if (!table.reserve(options.source)) return false;
  Slab* const slab = pool::make_slab(options.source, count, stride, options.alignment,
                                     static_cast<std::uint32_t>(own));
  if (slab == nullptr) return false;
  table.add(slab);
  slab->next = std::exchange(slabs, slab);
  total += count;
  most = std::max(most, total);
  Shard& shard = shards[own];
  const SpinLock::Guard lock(shard.lock);
  (slab->blocks() + (count - 1))->next = shard.free;
  shard.free = slab->blocks();
  shard.set_available(shard.available + count);
  if (first != nullptr) *first = shard.hand_out();
  return true;
}

/// Returns a block after everything else failed. Null if the allocation fails and no block was free
/// at one point in time.
std::byte* HostMemoryPool::State::grow(std::size_t own) {
  const SpinLock::Guard lock(growth);
  // Another thread may have grown the pool or released a block while we waited.
  {
    const SpinLock::Guard look(shards[own].lock);
    if (std::byte* const block = shards[own].hand_out()) return block;
  }
  if (std::byte* const block = steal(own)) return block;
  std::byte* block = nullptr;
  if (add_slab(std::clamp<std::size_t>(total, 1, slab_blocks), own, &block)) {
    ++grown;
    return block;
  }
  lock_all();
  for (std::size_t step = 0; step < options.shards && block == nullptr; ++step) {
    block = shards[(own + step) % options.shards].hand_out();
  }
  unlock_all();
  return block;
}

Error HostMemoryPool::State::bad_release(const void* address, Slab* slab) const {
  const std::string name = address_text(address);
  const auto* const at = static_cast<const std::byte*>(address);
  const std::size_t offset = slab == nullptr ? 0 : static_cast<std::size_t>(at - slab->memory);
  if (slab == nullptr || offset >= slab->count * stride) {
    return Error{ErrorCode::kBadBlock, cat(name, " is not a block of this pool"), std::nullopt,
                 "release a block to the pool that it came from"};
  }
  const std::size_t inside = offset % stride;
  if (inside != 0) {
    return Error{ErrorCode::kBadBlock,
                 cat(name, " is not a block but ", inside, " bytes into the one at ",
                     address_text(at - inside)),
                 std::nullopt, "release the address that acquire() returned"};
  }
  return Error{ErrorCode::kBadBlock, cat("the block at ", name, " is already released"),
               std::nullopt, "release a block once, and do not use it afterwards"};
}

Error HostMemoryPool::State::still_out() {
  const void* first = nullptr;
  for (Slab* slab = slabs; slab != nullptr; slab = slab->next) {
    for (std::size_t i = 0; i < slab->count; ++i) {
      const Block& block = slab->blocks()[i];
      if (block.out && (first == nullptr || block.memory < first)) first = block.memory;
    }
  }
  const std::size_t count = in_use();
  return Error{
      ErrorCode::kBadBlock,
      cat(count, " of ", total, " blocks of ", block_size, " bytes ", count == 1 ? "is" : "are",
          " still in use, ", count == 1 ? "at " : "the first at ", address_text(first)),
      std::nullopt, "release every block before the pool is destroyed"};
}

/// Frees all slabs except those with a block in use; of these it frees only the bookkeeping.
void HostMemoryPool::State::free_slabs() {
  const MemorySource& source = options.source;
  while (slabs != nullptr) {
    Slab* const slab = std::exchange(slabs, slabs->next);
    const bool used = std::any_of(slab->blocks(), slab->blocks() + slab->count,
                                  [](const Block& block) { return block.out; });
    if (!used) source.give_back(source.context, slab->memory);
    source.give_back(source.context, slab);
  }
  table.clear(source);
}

}  // namespace tessera
