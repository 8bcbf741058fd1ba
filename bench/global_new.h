// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

/// All global allocation functions, defined in terms of three functions, for a program that counts
/// or refuses allocations: without a hook in the code under test there is no other way. These are
/// definitions: exactly one source file of a program includes this file, and defines the three.
///
/// Every form is defined here, because a sanitizer provides its own version of any form that is
/// missing, and memory of one kind must not be released by the other.
namespace tessera::bench {

/// Called before an allocation; if it returns false, the allocation is refused.
bool may_allocate();
/// Called with memory (never null) after it was allocated, and before it is released.
void allocated(void* memory);
void releases(void* memory);

inline void* new_memory(std::size_t size) noexcept {
  void* const memory = may_allocate() ? std::malloc(size == 0 ? 1 : size) : nullptr;
  if (memory != nullptr) allocated(memory);
  return memory;
}
inline void* new_memory(std::size_t size, std::align_val_t alignment) noexcept {
  const auto align = static_cast<std::size_t>(alignment);
  void* const memory =
      may_allocate() ? std::aligned_alloc(align, (size + align - 1) / align * align) : nullptr;
  if (memory != nullptr) allocated(memory);
  return memory;
}
inline void* or_throw(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
/// Not inlined: the compiler would take free() for a mismatch where it sees both ends.
[[gnu::noinline]] inline void release(void* memory) noexcept {
  if (memory != nullptr) releases(memory);
  std::free(memory);
}

}  // namespace tessera::bench

// NOLINTBEGIN(misc-definitions-in-headers): see above.
void* operator new(std::size_t size) {
  return tessera::bench::or_throw(tessera::bench::new_memory(size));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return tessera::bench::new_memory(size);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return tessera::bench::or_throw(tessera::bench::new_memory(size, alignment));
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return tessera::bench::new_memory(size, alignment);
}
void* operator new[](std::size_t size) {
  return tessera::bench::or_throw(tessera::bench::new_memory(size));
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return tessera::bench::new_memory(size);
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return tessera::bench::or_throw(tessera::bench::new_memory(size, alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return tessera::bench::new_memory(size, alignment);
}
void operator delete(void* memory) noexcept { tessera::bench::release(memory); }
void operator delete(void* memory, std::size_t) noexcept { tessera::bench::release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { tessera::bench::release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  tessera::bench::release(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  tessera::bench::release(memory);
}
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  tessera::bench::release(memory);
}
void operator delete[](void* memory) noexcept { tessera::bench::release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { tessera::bench::release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { tessera::bench::release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  tessera::bench::release(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  tessera::bench::release(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  tessera::bench::release(memory);
}
// NOLINTEND(misc-definitions-in-headers)
