// SPDX-License-Identifier: Apache-2.0
#include "tools/peak_bytes.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

// Replacing the global allocation functions is the only way to see what a call allocates without
// a hook in the library. While nothing is measured they cost one load.
namespace {

std::atomic<bool> counting{false};
std::atomic<std::int64_t> live_bytes{0};
std::atomic<std::int64_t> peak_bytes{0};

void* counted(void* memory) {
  if (memory == nullptr || !counting.load(std::memory_order_relaxed)) return memory;
  const auto size = static_cast<std::int64_t>(malloc_usable_size(memory));
  const std::int64_t live = live_bytes.fetch_add(size, std::memory_order_relaxed) + size;
  std::int64_t peak = peak_bytes.load(std::memory_order_relaxed);
  while (live > peak && !peak_bytes.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
  }
  return memory;
}

void release(void* memory) {
  if (memory != nullptr && counting.load(std::memory_order_relaxed)) {
    live_bytes.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(memory)),
                         std::memory_order_relaxed);
  }
  std::free(memory);
}

void* allocate(std::size_t size) noexcept { return counted(std::malloc(size == 0 ? 1 : size)); }

void* allocate(std::size_t size, std::align_val_t alignment) noexcept {
  const auto align = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(align, (size + align - 1) / align * align));
}

void* or_throw(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// Every form must be here: a sanitizer brings its own for those that are left out, and memory of
// one kind must not be released by the other.
using Size = std::size_t;
using Align = std::align_val_t;
using NoThrow = std::nothrow_t;

void* operator new(Size size) { return or_throw(allocate(size)); }
void* operator new[](Size size) { return or_throw(allocate(size)); }
void* operator new(Size size, Align align) { return or_throw(allocate(size, align)); }
void* operator new[](Size size, Align align) { return or_throw(allocate(size, align)); }
void* operator new(Size size, const NoThrow&) noexcept { return allocate(size); }
void* operator new[](Size size, const NoThrow&) noexcept { return allocate(size); }
void* operator new(Size size, Align align, const NoThrow&) noexcept {
  return allocate(size, align);
}
void* operator new[](Size size, Align align, const NoThrow&) noexcept {
  return allocate(size, align);
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, Size) noexcept { release(memory); }
void operator delete[](void* memory, Size) noexcept { release(memory); }
void operator delete(void* memory, Align) noexcept { release(memory); }
void operator delete[](void* memory, Align) noexcept { release(memory); }
void operator delete(void* memory, Size, Align) noexcept { release(memory); }
void operator delete[](void* memory, Size, Align) noexcept { release(memory); }
void operator delete(void* memory, const NoThrow&) noexcept { release(memory); }
void operator delete[](void* memory, const NoThrow&) noexcept { release(memory); }
void operator delete(void* memory, Align, const NoThrow&) noexcept { release(memory); }
void operator delete[](void* memory, Align, const NoThrow&) noexcept { release(memory); }

namespace tessera::tools {

std::int64_t peak_bytes_of(const std::function<void()>& work) {
  live_bytes = 0;
  peak_bytes = 0;
  counting = true;
  work();
  counting = false;
  return peak_bytes;
}

}  // namespace tessera::tools
