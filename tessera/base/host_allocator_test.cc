// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/host_allocator.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tessera/testing/figures.h"

namespace tessera {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

std::uintptr_t address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

/// Writes to all bytes of a block, or to a sample with both ends if that would take long.
void stamp(void* block, std::size_t bytes, unsigned char value) {
  auto* const at = static_cast<unsigned char*>(block);
  const std::size_t step = bytes < kMiB / 2 ? 1 : 65521;
  for (std::size_t i = 0; i < bytes; i += step) at[i] = value;
  if (bytes > 0) at[bytes - 1] = value;
}
bool stamped(const void* block, std::size_t bytes, unsigned char value) {
  const auto* const at = static_cast<const unsigned char*>(block);
  const std::size_t step = bytes < kMiB / 2 ? 1 : 65521;
  for (std::size_t i = 0; i < bytes; i += step) {
    if (at[i] != value) return false;
  }
  return bytes == 0 || at[bytes - 1] == value;
}

TEST(HostAllocator, AnswersAlignedBlocksThatShareNoByte) {
  struct Held {
    void* block;
    std::size_t bytes;
    unsigned char value;
  };
  const HostAllocator::Statistics before = HostAllocator::statistics();
  std::vector<Held> held;
  std::size_t bytes_out = 0;
  const std::size_t sizes[] = {
      0,      1,        63,       64,           4095,         4096,
      100000, kMiB * 2, kMiB - 1, kMiB * 2 - 1, kMiB * 5 + 3, kMiB * 2 + 1};
  for (const std::size_t alignment :
       {1ul, 2ul, 16ul, 32ul, 64ul, 4096ul, 65536ul, kMiB, 8 * kMiB}) {
    for (const std::size_t bytes : sizes) {
      for (const bool zeroed : {false, true}) {
        const Result<void*> block = zeroed ? HostAllocator::allocate_zeroed(bytes, alignment)
                                           : HostAllocator::allocate(bytes, alignment);
        ASSERT_TRUE(block.ok()) << bytes << " at " << alignment;
        ASSERT_EQ(address(*block) % alignment, 0u);
        ASSERT_TRUE(!zeroed || stamped(*block, bytes, 0));
        const auto value = static_cast<unsigned char>(held.size() % 251 + 1);
        stamp(*block, bytes, value);
        held.push_back({*block, bytes, value});
        bytes_out += bytes;
      }
    }
  }
  EXPECT_EQ(HostAllocator::statistics().blocks, before.blocks + held.size());
  EXPECT_EQ(HostAllocator::statistics().bytes, before.bytes + bytes_out);
  EXPECT_GE(HostAllocator::statistics().peak_bytes, before.bytes + bytes_out);
  std::vector<std::uintptr_t> starts;
  for (const Held& each : held) starts.push_back(address(each.block));
  std::sort(starts.begin(), starts.end());
  EXPECT_EQ(std::adjacent_find(starts.begin(), starts.end()), starts.end());

  std::shuffle(held.begin(), held.end(), std::mt19937(7));
  for (const Held& each : held) {
    ASSERT_TRUE(stamped(each.block, each.bytes, each.value));
    HostAllocator::deallocate(each.block);
  }
  EXPECT_EQ(HostAllocator::statistics().blocks, before.blocks);
  EXPECT_EQ(HostAllocator::statistics().bytes, before.bytes);
}

TEST(HostAllocator, CountsThePeak) {
  const std::size_t now = HostAllocator::statistics().bytes;
  const std::size_t more = HostAllocator::statistics().peak_bytes - now + 3 * kMiB;
  void* const block = *HostAllocator::allocate(more);
  EXPECT_EQ(HostAllocator::statistics().peak_bytes, now + more);
  HostAllocator::deallocate(block);
  EXPECT_EQ(HostAllocator::statistics().peak_bytes, now + more);
  EXPECT_EQ(HostAllocator::statistics().bytes, now);
}

TEST(HostAllocator, TakesANullBack) { HostAllocator::deallocate(nullptr); }

TEST(HostAllocator, RefusesBadAlignmentsAndSaysTheNearest) {
  const auto refused = [](std::size_t alignment) {
    return HostAllocator::allocate(8, alignment).error();
  };
  EXPECT_EQ(refused(48).code, ErrorCode::kBadAlignment);
  EXPECT_EQ(test::figures(refused(48).message), "48");
  EXPECT_EQ(test::figures(refused(48).help), "32 64");
  EXPECT_EQ(test::figures(refused(3).help), "2 4");
  EXPECT_EQ(refused(0).code, ErrorCode::kBadAlignment);
  EXPECT_EQ(test::figures(refused(0).help), "1");
  const std::size_t above = HostAllocator::kMostAlignment * 2;
  EXPECT_EQ(refused(above).code, ErrorCode::kBadAlignment);
  EXPECT_EQ(test::figures(refused(above).message), "2147483648 1073741824");
  EXPECT_EQ(refused(SIZE_MAX).code, ErrorCode::kBadAlignment);
  EXPECT_FALSE(HostAllocator::allocate_zeroed(8, 48).ok());

  void* const block = *HostAllocator::allocate(100, HostAllocator::kMostAlignment);
  EXPECT_EQ(address(block) % HostAllocator::kMostAlignment, 0u);
  stamp(block, 100, 1);
  HostAllocator::deallocate(block);
}

TEST(HostAllocator, RefusesWhatNoMachineHas) {
  const HostAllocator::Statistics before = HostAllocator::statistics();
  for (const std::size_t bytes : {std::size_t{SIZE_MAX}, SIZE_MAX / 2, SIZE_MAX / 2 - kMiB}) {
    EXPECT_EQ(HostAllocator::allocate(bytes).error().code, ErrorCode::kOverflow) << bytes;
    EXPECT_EQ(HostAllocator::allocate_zeroed(bytes).error().code, ErrorCode::kOverflow);
  }
  EXPECT_EQ(HostAllocator::allocate(std::size_t{1} << 62).error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(HostAllocator::allocate_zeroed(std::size_t{1} << 50).error().code,
            ErrorCode::kOutOfMemory);
  EXPECT_EQ(HostAllocator::statistics().blocks, before.blocks);
}

#if defined(__linux__)

/// What the kernel reports about the mapping that contains `at`: its resident kilobytes and its
/// flags.
struct Mapping {
  long resident_kb = -1;
  std::string flags;
};
Mapping mapping_of(const void* at) {
  std::ifstream smaps("/proc/self/smaps");
  Mapping found;
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    unsigned long from = 0;
    unsigned long to = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &from, &to) == 2) {
      inside = from <= address(at) && address(at) < to;
    } else if (inside && line.starts_with("Rss:")) {
      std::istringstream(line.substr(4)) >> found.resident_kb;
    } else if (inside && line.starts_with("VmFlags:")) {
      found.flags = line.substr(8) + " ";
    }
  }
  return found;
}

TEST(HostAllocator, LargeBlocksBeginOnHugePagesAndAskForThem) {
  for (const std::size_t bytes : {2 * kMiB, 2 * kMiB + 1, 17 * kMiB}) {
    void* const block = *HostAllocator::allocate(bytes, 1);
    EXPECT_EQ(address(block) % (2 * kMiB), 0u);
    const Mapping mapping = mapping_of(block);
    if (access("/sys/kernel/mm/transparent_hugepage", F_OK) == 0 && !mapping.flags.empty()) {
      EXPECT_NE(mapping.flags.find(" hg "), std::string::npos) << mapping.flags;
    }
    HostAllocator::deallocate(block);
  }
}

TEST(HostAllocator, ZeroedLargeBlocksAreNotWrittenTo) {
  const std::size_t bytes = 512 * kMiB;
  const Result<void*> block = HostAllocator::allocate_zeroed(bytes);
  ASSERT_TRUE(block.ok());
  const Mapping mapping = mapping_of(*block);
  EXPECT_LT(mapping.resident_kb, 64 << 10);
  EXPECT_TRUE(stamped(*block, 1, 0));
  EXPECT_EQ(static_cast<const unsigned char*>(*block)[bytes - 1], 0);
  HostAllocator::deallocate(*block);
}

#endif

/// Records the order in which its objects are constructed and destroyed.
struct Witness {
  static inline std::vector<const Witness*> made;
  static inline int wrong = 0;
  int value = 41;
  Witness() {
    ++value;
    made.push_back(this);
  }
  ~Witness() {
    if (made.empty() || made.back() != this) ++wrong;
    if (!made.empty()) made.pop_back();
  }
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;
};

TEST(HostAllocator, UniqueMakesAndDestroysAnyType) {
  {
    const auto witnesses = HostAllocator::allocate_unique<Witness>(37);
    ASSERT_TRUE(witnesses.ok());
    EXPECT_EQ(Witness::made.size(), 37u);
    for (std::size_t i = 0; i < 37; ++i) EXPECT_EQ((*witnesses)[i].value, 42);
  }
  EXPECT_TRUE(Witness::made.empty());
  EXPECT_EQ(Witness::wrong, 0);

  auto words = HostAllocator::allocate_unique<std::string>(100);
  ASSERT_TRUE(words.ok());
  for (std::size_t i = 0; i < 100; ++i) (*words)[i] = std::string(100, 'x');  // leaks are reported
}

TEST(HostAllocator, UniqueMovesAsAnyUniquePointer) {
  auto words = std::move(*HostAllocator::allocate_unique<std::string>(3));
  words[2] = std::string(64, 'y');
  HostAllocator::UniquePtr<std::string> other = std::move(words);
  EXPECT_EQ(words, nullptr);
  EXPECT_EQ(other[2].size(), 64u);
  other = std::move(*HostAllocator::allocate_unique<std::string>(9));
  EXPECT_EQ(other[8], "");
}

TEST(HostAllocator, UniqueValuesAreThoseOfTheirType) {
  struct Counted {
    int Witness::* member;  // its null value does not consist of zero bytes
    double number;
  };
  const auto counted = HostAllocator::allocate_unique<Counted>(3);
  EXPECT_EQ((*counted)[2].member, nullptr);
  EXPECT_EQ((*counted)[2].number, 0);
  const auto numbers = HostAllocator::allocate_unique<float>(1000000);
  ASSERT_TRUE(numbers.ok());
  EXPECT_EQ(address(numbers->get()) % 64, 0u);
  EXPECT_TRUE(
      std::all_of(numbers->get(), numbers->get() + 1000000, [](float x) { return x == 0; }));
  EXPECT_TRUE(HostAllocator::allocate_unique<const char*>(0).ok());
}

TEST(HostAllocator, UniqueKeepsTheAlignmentOfItsType) {
  struct alignas(4096) Page {
    char first = 'p';
  };
  const auto pages = HostAllocator::allocate_unique<Page>(5);
  ASSERT_TRUE(pages.ok());
  EXPECT_EQ(address(pages->get()) % 4096, 0u);
  EXPECT_EQ((*pages)[4].first, 'p');
}

TEST(HostAllocator, UniqueRefusesCountsThatOverflow) {
  const HostAllocator::Statistics before = HostAllocator::statistics();
  const Error error = HostAllocator::allocate_unique<double>(SIZE_MAX / 8 + 2).error();
  EXPECT_EQ(error.code, ErrorCode::kOverflow);  // the product alone would be 8 bytes
  EXPECT_EQ(test::figures(error.message), "2305843009213693953 8");
  EXPECT_EQ(HostAllocator::allocate_unique<std::string>(SIZE_MAX).error().code,
            ErrorCode::kOverflow);
  EXPECT_EQ(HostAllocator::allocate_unique<char>(std::size_t{1} << 62).error().code,
            ErrorCode::kOutOfMemory);
  EXPECT_EQ(HostAllocator::statistics().blocks, before.blocks);
}

/// Throws from the constructor of its 5th object. The library itself is built without exceptions;
/// its users may use them.
struct Fussy {
  static inline int alive = 0;
  Fussy() {
    if (alive == 4) throw 7;
    ++alive;
  }
  ~Fussy() { --alive; }
  Fussy(const Fussy&) = delete;
  Fussy& operator=(const Fussy&) = delete;
};

TEST(HostAllocator, UniqueLeaksNothingWhenAConstructorThrows) {
  const HostAllocator::Statistics before = HostAllocator::statistics();
  EXPECT_THROW(static_cast<void>(HostAllocator::allocate_unique<Fussy>(10)), int);
  EXPECT_EQ(Fussy::alive, 0);
  EXPECT_EQ(HostAllocator::statistics().blocks, before.blocks);
}

}  // namespace
}  // namespace tessera
