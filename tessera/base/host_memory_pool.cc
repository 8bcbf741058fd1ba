// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/host_memory_pool.h"

#if defined(__unix__)
#include <unistd.h>
#endif

#include <algorithm>
#include <atomic>
#include <bit>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <limits>
#include <new>
#include <string>
#include <utility>

#include "tessera/base/array.h"
#include "tessera/base/host_allocator.h"
#include "tessera/base/host_spin_lock.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

using pool::Block;
using pool::kSlabBytes;
using pool::Slab;
using pool::SlabTable;

/// Threads in the order in which they first ask a pool for something, from 0.
std::size_t thread_number() {
  static constinit std::atomic<std::size_t> threads{0};
  static constinit thread_local std::size_t mine = 0;  // our number and 1
  if (mine == 0) mine = threads.fetch_add(1, std::memory_order_relaxed) + 1;
  return mine - 1;
}

std::size_t usual_shards() {
  long processors = 0;
#if defined(__unix__)
  processors = sysconf(_SC_NPROCESSORS_ONLN);
#endif
  return std::clamp<std::size_t>(static_cast<std::size_t>(std::max(processors, 0L)), 8,
                                 PoolOptions::kMostShards);
}

/// "0x7f2a10c0".
std::string address_text(const void* address) {
  char digits[2 * sizeof(void*)];
  const auto end = std::to_chars(std::begin(digits), std::end(digits),
                                 reinterpret_cast<std::uintptr_t>(address), 16);
  return cat("0x", std::string_view(digits, static_cast<std::size_t>(end.ptr - digits)));
}

/// Two cache lines, because processors fetch them in pairs.
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

/// As many blocks as one shard takes from another while both are locked.
constexpr std::size_t kMostMoved = 64;

}  // namespace

struct HostMemoryPool::State {
  std::size_t block_size = 0;
  std::size_t stride = 0;
  std::size_t slab_blocks = 0;  ///< the most in one slab
  PoolOptions options;
  Shard shards[PoolOptions::kMostShards];
  SlabTable table;

  // Locks are taken in this order: `growth`, then those of shards by number.
  SpinLock growth;
  Slab* slabs = nullptr;
  std::size_t total = 0;
  std::size_t most = 0;  ///< the largest that `total` has been
  std::size_t grown = 0;

  std::size_t own_shard() const { return thread_number() % options.shards; }
  std::byte* steal(std::size_t own);
  std::byte* grow(std::size_t own);
  bool add_slab(std::size_t count, std::size_t own, std::byte** first = nullptr);
  Error bad_release(const void* address, Slab* slab) const;
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

/// A block that another shard has free, with half of its neighbours brought home to `own`.
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

/// More blocks, at home in `own`; false when memory is refused. The first is handed out if the
/// caller wants it, before anyone else can have it.
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

/// A block after everything else failed; null when memory is refused and, at one moment, not a
/// single block was free.
std::byte* HostMemoryPool::State::grow(std::size_t own) {
  const SpinLock::Guard lock(growth);
  // Someone may have grown, or given back, while we waited.
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

Result<HostMemoryPool> HostMemoryPool::make(std::size_t block_size, std::size_t initial_blocks,
                                            const PoolOptions& options) {
  constexpr std::size_t kMost = std::numeric_limits<std::ptrdiff_t>::max();
  if (options.shards > PoolOptions::kMostShards) {
    return Error{
        ErrorCode::kOutOfRange,
        cat("a pool of ", options.shards, " shards; the most are ", PoolOptions::kMostShards),
        std::nullopt, "leave `shards` at 0 for one a processor"};
  }
  if ((options.source.take == nullptr) != (options.source.give_back == nullptr)) {
    return Error{ErrorCode::kOutOfRange, "a source of memory with one function of two",
                 std::nullopt, "set both `take` and `give_back`, or neither"};
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
    // A free block may have moved before we had the lock; one that is out cannot.
    if (block.home.load(std::memory_order_relaxed) != home) continue;
    if (!block.out) break;
    block.out = false;
    --shard.in_use;
    shard.push(&block);
    return ok_status();
  }
  return state.bad_release(address, slab);
}

Error HostMemoryPool::State::bad_release(const void* address, Slab* slab) const {
  const std::string name = address_text(address);
  const auto* const at = static_cast<const std::byte*>(address);
  const std::size_t offset = slab == nullptr ? 0 : static_cast<std::size_t>(at - slab->memory);
  if (slab == nullptr || offset >= slab->count * stride) {
    return Error{ErrorCode::kBadBlock, cat(name, " is not a block of this pool"), std::nullopt,
                 "give a block back to the pool that it came from"};
  }
  const std::size_t inside = offset % stride;
  if (inside != 0) {
    return Error{ErrorCode::kBadBlock,
                 cat(name, " is not a block but ", inside, " bytes into the one at ",
                     address_text(at - inside)),
                 std::nullopt, "give back the address that acquire() answered"};
  }
  return Error{ErrorCode::kBadBlock, cat("the block at ", name, " is back already"), std::nullopt,
               "release a block once, and do not use it afterwards"};
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
          " still out, ", count == 1 ? "at " : "the first at ", address_text(first)),
      std::nullopt, "release every block before the pool ends"};
}

/// Gives back all slabs but those with a block that is out; of these only what we know about them.
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
