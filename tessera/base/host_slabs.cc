// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/host_slabs.h"

#include <algorithm>
#include <limits>
#include <new>

#include "tessera/base/host_allocator.h"
#include "tessera/base/mixing.h"

namespace tessera {

MemorySource MemorySource::of_host() {
  MemorySource host;
  host.take = [](void*, std::size_t bytes, std::size_t alignment) -> void* {
    const Result<void*> block = HostAllocator::allocate(bytes, alignment);
    return block.ok() ? *block : nullptr;
  };
  host.give_back = [](void*, void* memory) { HostAllocator::deallocate(memory); };
  return host;
}

namespace pool {
namespace {

std::uintptr_t key_of(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) / kSlabBytes;
}

}  // namespace

std::size_t SlabTable::Table::first(std::uintptr_t key) const {
  // Fibonacci hashing: the high bits of the product depend on all bits of the key.
  return static_cast<std::size_t>((key * kGoldenStep) >> (64 - bits));
}

void SlabTable::put(Table& table, Slab* slab) {
  std::size_t at = table.first(key_of(slab->memory));
  while (table.entries()[at].load(std::memory_order_relaxed) != nullptr) {
    at = (at + 1) & (table.size() - 1);
  }
  table.entries()[at].store(slab, std::memory_order_release);
}

Slab* SlabTable::find(const void* address) const {
  Table* const table = table_.load(std::memory_order_acquire);
  if (table == nullptr) return nullptr;
  const std::uintptr_t key = key_of(address);
  for (std::size_t at = table->first(key);; at = (at + 1) & (table->size() - 1)) {
    Slab* const slab = table->entries()[at].load(std::memory_order_acquire);
    if (slab == nullptr || key_of(slab->memory) == key) return slab;
  }
}

bool SlabTable::reserve(const MemorySource& source) {
  Table* const table = table_.load(std::memory_order_relaxed);
  if (table != nullptr && 2 * (count_ + 1) <= table->size()) return true;
  const unsigned bits = table == nullptr ? 4 : table->bits + 1;
  const std::size_t size = std::size_t{1} << bits;
  void* const memory =
      source.take(source.context, sizeof(Table) + size * sizeof(std::atomic<Slab*>), 64);
  if (memory == nullptr) return false;
  Table* const larger = new (memory) Table{table, bits};
  for (std::size_t i = 0; i < size; ++i) new (larger->entries() + i) std::atomic<Slab*>(nullptr);
  for (std::size_t i = 0; table != nullptr && i < table->size(); ++i) {
    Slab* const slab = table->entries()[i].load(std::memory_order_relaxed);
    if (slab != nullptr) put(*larger, slab);
  }
  table_.store(larger, std::memory_order_release);
  return true;
}

void SlabTable::add(Slab* slab) {
  put(*table_.load(std::memory_order_relaxed), slab);
  ++count_;
}

void SlabTable::clear(const MemorySource& source) {
  Table* table = table_.exchange(nullptr, std::memory_order_relaxed);
  while (table != nullptr) {
    Table* const older = table->older;
    source.give_back(source.context, table);
    table = older;
  }
  count_ = 0;
}

Slab* make_slab(const MemorySource& source, std::size_t count, std::size_t stride,
                std::size_t alignment, std::uint32_t home) {
  constexpr std::size_t kMost = std::numeric_limits<std::ptrdiff_t>::max();
  if (count > kMost / stride || count > (kMost - sizeof(Slab)) / sizeof(Block)) return nullptr;
  void* const about = source.take(source.context, sizeof(Slab) + count * sizeof(Block), 64);
  if (about == nullptr) return nullptr;
  void* const memory = source.take(source.context, count * stride, std::max(alignment, kSlabBytes));
  if (memory == nullptr) {
    source.give_back(source.context, about);
    return nullptr;
  }
  Slab* const slab = new (about) Slab{static_cast<std::byte*>(memory), count, stride, nullptr};
  for (std::size_t i = 0; i < count; ++i) {
    Block* const block = new (slab->blocks() + i) Block;
    block->memory = slab->memory + i * stride;
    block->next = i + 1 < count ? slab->blocks() + (i + 1) : nullptr;
    block->home.store(home, std::memory_order_relaxed);
  }
  return slab;
}

}  // namespace pool
}  // namespace tessera
