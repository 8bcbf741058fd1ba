// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/host_memory_pool.h"

#if defined(__unix__)
#include <unistd.h>
#endif

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <new>
#include <utility>

#include "tessera/base/array.h"
#include "tessera/base/host_allocator.h"
#include "tessera/base/host_pool_state.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

using pool::Block;
using pool::kSlabBytes;
using pool::Shard;
using pool::Slab;

std::size_t usual_shards() {
  long processors = 0;
#if defined(__unix__)
  processors = sysconf(_SC_NPROCESSORS_ONLN);
#endif
  return std::clamp<std::size_t>(static_cast<std::size_t>(std::max(processors, 0L)), 8,
                                 PoolOptions::kMostShards);
}

}  // namespace

Result<HostMemoryPool> HostMemoryPool::make(std::size_t block_size, std::size_t initial_blocks,
                                            const PoolOptions& options) {
  constexpr std::size_t kMost = std::numeric_limits<std::ptrdiff_t>::max();
  if (options.shards > PoolOptions::kMostShards) {
    return Error{
        ErrorCode::kOutOfRange,
        cat("a pool of ", options.shards, " shards; the most are ", PoolOptions::kMostShards),
        std::nullopt, "set `shards` to 0 for one per processor"};
  }
  if ((options.source.take == nullptr) != (options.source.give_back == nullptr)) {
    return Error{ErrorCode::kOutOfRange,
                 "a memory source needs both functions, but only one is set", std::nullopt,
                 "set both `take` and `give_back`, or neither"};
  }
  TESSERA_CHECK_OK(HostAllocator::check_alignment(options.alignment));
  const std::size_t alignment = options.alignment;
  if (block_size > kMost - alignment ||
      initial_blocks > kMost / (std::max<std::size_t>(block_size, 1) + alignment)) {
    return Error{
        ErrorCode::kOverflow,
        cat(initial_blocks, " blocks of ", block_size, " bytes are more than memory can have"),
        std::nullopt, "check the multiplication that made these sizes"};
  }
  const MemorySource source =
      options.source.take != nullptr ? options.source : MemorySource::of_host();
  void* const memory = source.take(source.context, sizeof(State), alignof(State));
  if (memory == nullptr) return out_of_memory();
  HostMemoryPool made(new (memory) State);
  State& state = *made.state_;
  state.block_size = block_size;
  state.stride = (std::max<std::size_t>(block_size, 1) + alignment - 1) / alignment * alignment;
  state.slab_blocks = std::max<std::size_t>(1, kSlabBytes / state.stride);
  state.options = options;
  state.options.source = source;
  if (options.shards == 0) state.options.shards = usual_shards();
  while (state.total < initial_blocks) {
    const std::size_t count = std::min(initial_blocks - state.total, state.slab_blocks);
    if (!state.add_slab(count, state.own_shard())) return out_of_memory();
  }
  return made;
}

Result<void*> HostMemoryPool::acquire() {
  State& state = *state_;
  const std::size_t own = state.own_shard();
  {
    const SpinLock::Guard lock(state.shards[own].lock);
    if (std::byte* const block = state.shards[own].hand_out()) return static_cast<void*>(block);
  }
  std::byte* block = state.steal(own);
  if (block == nullptr) block = state.grow(own);
  if (block == nullptr) return out_of_memory();
  return static_cast<void*>(block);
}

Result<HostMemoryPool::UniqueBlock> HostMemoryPool::acquire_unique() {
  TESSERA_TRY(void* const block, acquire());
  return UniqueBlock(static_cast<std::byte*>(block), Release{state_.get()});
}

Status HostMemoryPool::release(void* block) { return release_to(*state_, block); }

Status HostMemoryPool::release_to(State& state, void* address) {
  if (address == nullptr) return ok_status();
  Slab* const slab = state.table.find(address);
  if (slab == nullptr) return state.bad_release(address, nullptr);
  const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(address) - slab->memory);
  const std::size_t number = offset / slab->stride;
  if (number >= slab->count || number * slab->stride != offset) {
    return state.bad_release(address, slab);
  }
  Block& block = slab->blocks()[number];
  while (true) {
    const std::uint32_t home = block.home.load(std::memory_order_relaxed);
    Shard& shard = state.shards[home];
    const SpinLock::Guard lock(shard.lock);
    // A free block may have changed its shard before we took the lock; a block in use cannot.
    if (block.home.load(std::memory_order_relaxed) != home) continue;
    if (!block.out) break;
    block.out = false;
    --shard.in_use;
    shard.push(&block);
    return ok_status();
  }
  return state.bad_release(address, slab);
}

Status HostMemoryPool::close() {
  State& state = *state_;
  if (state.in_use() > 0) return state.still_out();
  state.free_slabs();
  for (Shard& shard : state.shards) {
    shard.free = nullptr;
    shard.set_available(0);
  }
  state.total = 0;
  return ok_status();
}

void HostMemoryPool::End::operator()(State* state) const {
  if (state->options.left_behind != nullptr && state->in_use() > 0) {
    state->options.left_behind(state->options.left_behind_context, state->still_out());
  }
  state->free_slabs();
  const MemorySource source = state->options.source;
  state->~State();
  source.give_back(source.context, state);
}

std::size_t HostMemoryPool::block_size() const { return state_->block_size; }
std::size_t HostMemoryPool::alignment() const { return state_->options.alignment; }

HostMemoryPool::Statistics HostMemoryPool::statistics() const {
  State& state = *state_;
  const SpinLock::Guard lock(state.growth);
  state.lock_all();
  Statistics now;
  now.total = state.total;
  now.grown = state.grown;
  now.in_use = state.in_use();
  for (std::size_t i = 0; i < state.options.shards; ++i) {
    now.available += state.shards[i].available;
    now.peak += state.shards[i].peak;
  }
  now.peak = std::min(now.peak, state.most);
  state.unlock_all();
  return now;
}

}  // namespace tessera
