// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/host_allocator.h"

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <atomic>
#include <bit>
#include <cassert>
#include <cstdlib>
#include <new>

#include "tessera/base/array.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

/// What deallocate must know about a block. It is stored directly before the block's first byte.
struct Header {
  void* base;          ///< the address from the system
  std::size_t mapped;  ///< bytes of pages from `base` on; 0 for memory of malloc
  std::size_t bytes;   ///< the requested size
  std::size_t mark;  ///< the block's address, inverted; other values mean it is not a block of ours
};
constexpr std::size_t kLeastAlignment = 16;
static_assert(sizeof(Header) <= 2 * kLeastAlignment && alignof(Header) <= kLeastAlignment);
constexpr std::size_t kHeaderBytes = 2 * kLeastAlignment;

std::size_t mark_of(const void* block) { return ~reinterpret_cast<std::uintptr_t>(block); }

Header* header_of(void* block) {
  return reinterpret_cast<Header*>(static_cast<std::byte*>(block) - sizeof(Header));
}

/// The first multiple of `alignment` at or after `at`.
std::byte* align_up(std::byte* at, std::size_t alignment) {
  const std::size_t over = reinterpret_cast<std::uintptr_t>(at) & (alignment - 1);
  return over == 0 ? at : at + (alignment - over);
}

/// Relaxed: the numbers are informative and order nothing. Allocating a block takes far longer than
/// counting it.
struct alignas(64) Ledger {
  std::atomic<std::size_t> bytes{0};
  std::atomic<std::size_t> blocks{0};
  std::atomic<std::size_t> peak{0};

  void add(std::size_t count) {
    blocks.fetch_add(1, std::memory_order_relaxed);
    const std::size_t now = bytes.fetch_add(count, std::memory_order_relaxed) + count;
    std::size_t most = peak.load(std::memory_order_relaxed);
    while (most < now && !peak.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
    }
  }
  void remove(std::size_t count) {
    blocks.fetch_sub(1, std::memory_order_relaxed);
    bytes.fetch_sub(count, std::memory_order_relaxed);
  }
};
constinit Ledger ledger;

void* hand_out(std::byte* block, const Header& header) {
  new (header_of(block)) Header(header);
  ledger.add(header.bytes);
  return block;
}

#if defined(__linux__)

constexpr std::size_t kMostPage = std::size_t{1} << 16;

/// Separate pages: one for the header, then the block. It maps more than needed, and unmaps at once
/// what lies before and after the aligned part.
Result<void*> from_pages(std::size_t bytes, std::size_t room, std::size_t alignment) {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const bool large = room >= HostAllocator::kLargeBytes;
  alignment = std::max({alignment, page, large ? HostAllocator::kLargeBytes : 1});
  const std::size_t length = (room + page - 1) / page * page;
  const std::size_t asked = page + length + alignment;
  void* const mapped =
      ::mmap(nullptr, asked, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return out_of_memory();
  std::byte* from = static_cast<std::byte*>(mapped);
  std::byte* to = from + asked;
  std::byte* const block = align_up(from + page, alignment);
  // A part that the system fails to unmap stays with the block.
  if (block - page > from && ::munmap(from, static_cast<std::size_t>(block - page - from)) == 0) {
    from = block - page;
  }
  if (to > block + length &&
      ::munmap(block + length, static_cast<std::size_t>(to - (block + length))) == 0) {
    to = block + length;
  }
  // Only a hint: without huge pages everything works, a little slower.
  if (large) static_cast<void>(::madvise(block, length, MADV_HUGEPAGE));
  return hand_out(block, {from, static_cast<std::size_t>(to - from), bytes, mark_of(block)});
}

void give_back(const Header& header) {
  if (header.mapped == 0) return std::free(header.base);
  static_cast<void>(::munmap(header.base, header.mapped));
}

#else

constexpr std::size_t kMostPage = 0;

void give_back(const Header& header) { std::free(header.base); }

#endif

Error too_many_bytes(std::size_t bytes) {
  return Error{ErrorCode::kOverflow, cat(bytes, " bytes are more than a block of memory can have"),
               std::nullopt, "check the multiplication that made this size"};
}

Result<void*> take(std::size_t bytes, std::size_t alignment, bool zeroed) {
  TESSERA_CHECK_OK(HostAllocator::check_alignment(alignment));
  alignment = std::max(alignment, kLeastAlignment);
  const std::size_t around =
      std::max(alignment, HostAllocator::kLargeBytes) + 2 * kMostPage + kHeaderBytes;
  if (bytes > static_cast<std::size_t>(PTRDIFF_MAX) - around) return too_many_bytes(bytes);
  const std::size_t room = std::max<std::size_t>(bytes, 1);
#if defined(__linux__)
  if (room + alignment >= HostAllocator::kLargeBytes) return from_pages(bytes, room, alignment);
#endif
  const std::size_t asked = kHeaderBytes + room + alignment - 1;
  void* const base = zeroed ? std::calloc(1, asked) : std::malloc(asked);
  if (base == nullptr) return out_of_memory();
  std::byte* const block = align_up(static_cast<std::byte*>(base) + kHeaderBytes, alignment);
  return hand_out(block, {base, 0, bytes, mark_of(block)});
}

}  // namespace

Result<void*> HostAllocator::allocate(std::size_t bytes, std::size_t alignment) {
  return take(bytes, alignment, false);
}

Result<void*> HostAllocator::allocate_zeroed(std::size_t bytes, std::size_t alignment) {
  return take(bytes, alignment, true);
}

void HostAllocator::deallocate(void* pointer) {
  if (pointer == nullptr) return;
  Header* const at = header_of(pointer);
  const Header header = *at;
  assert(header.mark == mark_of(pointer));
  at->mark = 0;
  ledger.remove(header.bytes);
  give_back(header);
}

Status HostAllocator::check_alignment(std::size_t alignment) {
  if (alignment > kMostAlignment) {
    return Error{ErrorCode::kBadAlignment,
                 cat("alignment ", alignment, " is above the largest, ", kMostAlignment),
                 std::nullopt, cat("use a power of two up to ", kMostAlignment)};
  }
  if (std::has_single_bit(alignment)) return ok_status();
  const std::size_t above = std::bit_ceil(alignment);
  return Error{ErrorCode::kBadAlignment, cat("alignment ", alignment, " is not a power of two"),
               std::nullopt, above == 1 ? "use 1" : cat("use ", above / 2, " or ", above)};
}

HostAllocator::Statistics HostAllocator::statistics() {
  return {ledger.bytes.load(std::memory_order_relaxed),
          ledger.blocks.load(std::memory_order_relaxed),
          ledger.peak.load(std::memory_order_relaxed)};
}

Error HostAllocator::too_many(std::size_t count, std::size_t each_bytes) {
  return Error{ErrorCode::kOverflow,
               cat(count, " values of ", each_bytes, " bytes are more than memory can have"),
               std::nullopt, "check the multiplication that made this count"};
}

}  // namespace tessera
