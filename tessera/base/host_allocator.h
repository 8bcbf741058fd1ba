// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "tessera/base/result.h"

namespace tessera {

/// Host memory for tensors that are transferred to and from a machine: aligned for transfer engines
/// and vector code, on huge pages if it is large.
///
/// Laws: the address of a block is a multiple of the alignment, no two blocks share a byte, and the
/// pointer alone is enough to free a block. A failed request is an Error, never a null pointer.
/// Example:
///     TESSERA_TRY(void* const tile, HostAllocator::allocate(16 << 10));
///     ..
///     HostAllocator::deallocate(tile);
class HostAllocator {
 public:
  static constexpr std::size_t DEFAULT_ALIGNMENT = 64;  ///< a cache line
  /// The largest alignment; no page of any machine is larger.
  static constexpr std::size_t kMostAlignment = std::size_t{1} << 30;
  /// Blocks of at least this size have their own pages: they begin on a huge page, ask the system
  /// for huge pages, and return to the system when they are deallocated. (Linux; elsewhere large
  /// blocks are handled like small ones.)
  static constexpr std::size_t kLargeBytes = std::size_t{2} << 20;

  /// Allocates uninitialized memory. A block of 0 bytes also has its own address.
  /// Errors: kBadAlignment unless `alignment` is a power of two up to kMostAlignment; kOverflow for
  /// more bytes than a pointer difference can represent; kOutOfMemory.
  static Result<void*> allocate(std::size_t bytes, std::size_t alignment = DEFAULT_ALIGNMENT);
  /// The same with all bytes 0. Large blocks are fresh pages, which cost nothing until first use.
  static Result<void*> allocate_zeroed(std::size_t bytes,
                                       std::size_t alignment = DEFAULT_ALIGNMENT);
  /// Frees a block of allocate or allocate_zeroed. Does nothing for a null pointer. Call it once
  /// per block.
  static void deallocate(void* pointer);

  /// kBadAlignment, with the nearest valid alignment, unless allocate accepts `alignment`.
  static Status check_alignment(std::size_t alignment);

  /// Destroys the values that allocate_unique made, in reverse order.
  template <typename T>
  struct Deleter {
    std::size_t count = 0;
    void operator()(T* first) const {
      if constexpr (!std::is_trivially_destructible_v<T>) {
        for (std::size_t i = count; i > 0; --i) std::destroy_at(first + (i - 1));
      }
      deallocate(static_cast<void*>(first));
    }
  };
  template <typename T>
  using UniquePtr = std::unique_ptr<T[], Deleter<T>>;

  /// Allocates `count` values of any type, each initialized as T() (numbers are 0), aligned to a
  /// cache line or to alignof(T) if that is larger. kOverflow if they have too many bytes. If a
  /// constructor throws, the values made before are destroyed and nothing leaks.
  template <typename T>
  static Result<UniquePtr<T>> allocate_unique(std::size_t count) {
    static_assert(std::is_object_v<T> && !std::is_array_v<T>);
    constexpr std::size_t kAlign = std::max(alignof(T), DEFAULT_ALIGNMENT);
    constexpr bool kZeroIsValue =
        std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_pointer_v<T>;
    if (count > static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(T)) {
      return too_many(count, sizeof(T));
    }
    const std::size_t bytes = count * sizeof(T);
    TESSERA_TRY(void* const block,
                kZeroIsValue ? allocate_zeroed(bytes, kAlign) : allocate(bytes, kAlign));
    UniquePtr<T> values(static_cast<T*>(block));  // no value is constructed yet
    if constexpr (!kZeroIsValue) std::uninitialized_value_construct_n(values.get(), count);
    values.get_deleter().count = count;
    return values;
  }

  /// The allocated blocks of all threads. Bytes are those that were requested.
  struct Statistics {
    std::size_t bytes = 0;
    std::size_t blocks = 0;
    std::size_t peak_bytes = 0;  ///< the most bytes allocated at one time
  };
  static Statistics statistics();

 private:
  static Error too_many(std::size_t count, std::size_t each_bytes);
};

}  // namespace tessera
