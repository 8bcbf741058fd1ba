// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "tessera/base/result.h"

namespace tessera {

/// Memory of the host that tensors wait in on their way to and from a machine: aligned for transfer
/// engines and vector code, on huge pages where it is large.
///
/// Laws: an answer is a multiple of the alignment, shares no byte with another block, and is given
/// back with nothing but the pointer. A request that cannot be met is an Error, never a null.
/// Example:
///     TESSERA_TRY(void* const tile, HostAllocator::allocate(16 << 10));
///     ..
///     HostAllocator::deallocate(tile);
class HostAllocator {
 public:
  static constexpr std::size_t DEFAULT_ALIGNMENT = 64;  ///< a cache line
  /// Alignments above this are refused; no page of any machine is larger.
  static constexpr std::size_t kMostAlignment = std::size_t{1} << 30;
  /// From this size on a block has pages of its own: it begins on a huge page, asks the system for
  /// huge pages, and goes back to the system when it is deallocated. (Linux; elsewhere large blocks
  /// are like small ones.)
  static constexpr std::size_t kLargeBytes = std::size_t{2} << 20;

  /// Uninitialised memory. 0 bytes are a block too, with an address of its own.
  /// Errors: kBadAlignment unless `alignment` is a power of two up to kMostAlignment; kOverflow for
  /// more bytes than a difference of pointers can say; kOutOfMemory.
  static Result<void*> allocate(std::size_t bytes, std::size_t alignment = DEFAULT_ALIGNMENT);
  /// The same, all bytes 0. Large blocks are fresh pages, which cost nothing until they are
  /// touched.
  static Result<void*> allocate_zeroed(std::size_t bytes,
                                       std::size_t alignment = DEFAULT_ALIGNMENT);
  /// Gives back what allocate or allocate_zeroed answered, once; a null is no block and no mistake.
  static void deallocate(void* pointer);

  /// kBadAlignment, with the nearest that would be right, unless allocate would take `alignment`.
  static Status check_alignment(std::size_t alignment);

  /// Destroys what allocate_unique made, the last first.
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

  /// `count` values of any type, each as T() makes it (numbers are 0), aligned to a cache line or
  /// to what T asks for if that is more. kOverflow when they have too many bytes. Should a
  /// constructor throw, what was made before is destroyed and nothing leaks.
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
    UniquePtr<T> values(static_cast<T*>(block));  // of which none is made yet
    if constexpr (!kZeroIsValue) std::uninitialized_value_construct_n(values.get(), count);
    values.get_deleter().count = count;
    return values;
  }

  /// What is out, over all threads. Blocks count with the bytes that were asked for.
  struct Statistics {
    std::size_t bytes = 0;
    std::size_t blocks = 0;
    std::size_t peak_bytes = 0;  ///< the most bytes that were out at one moment
  };
  static Statistics statistics();

 private:
  static Error too_many(std::size_t count, std::size_t each_bytes);
};

}  // namespace tessera
