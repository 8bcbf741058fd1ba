// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/host_memory_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tessera/base/host_allocator.h"
#include "tessera/testing/figures.h"

namespace tessera {
namespace {

std::uintptr_t address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

/// Any number as an address, also of unmapped memory.
void* pointer(std::uintptr_t at) {
  return reinterpret_cast<void*>(at);  // NOLINT(performance-no-int-to-ptr)
}

/// A memory source that counts allocated blocks and fails on request.
struct Source {
  std::int64_t refuse_from = INT64_MAX;  ///< requests from this number on fail
  std::int64_t refuse_to = INT64_MAX;
  std::int64_t requests = 0;
  std::map<void*, std::size_t> out;

  MemorySource as_source() {
    MemorySource source;
    source.context = this;
    source.take = [](void* self, std::size_t bytes, std::size_t alignment) {
      return static_cast<Source*>(self)->take(bytes, alignment);
    };
    source.give_back = [](void* self, void* memory) {
      EXPECT_EQ(static_cast<Source*>(self)->out.erase(memory), 1u);
      std::free(memory);
    };
    return source;
  }
  void* take(std::size_t bytes, std::size_t alignment) {
    const std::int64_t number = requests++;
    if (number >= refuse_from && number < refuse_to) return nullptr;
    void* const memory =
        std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (memory != nullptr) out[memory] = bytes;
    return memory;
  }
  ~Source() { EXPECT_TRUE(out.empty()) << out.size() << " pieces of memory were not given back"; }
};

/// A simple model of a pool: the blocks in use, and what was written to them.
class Model {
 public:
  explicit Model(HostMemoryPool& pool) : pool_(pool) {}

  void acquire(std::mt19937& random) {
    const Result<void*> block = pool_.acquire();
    ASSERT_TRUE(block.ok());
    const std::size_t size = pool_.block_size();
    const std::uintptr_t at = address(*block);
    ASSERT_EQ(at % pool_.alignment(), 0u);
    const auto after = out_.lower_bound(at);
    ASSERT_TRUE(after == out_.end() || at + std::max<std::size_t>(size, 1) <= after->first);
    ASSERT_TRUE(after == out_.begin() ||
                std::prev(after)->first + std::max<std::size_t>(size, 1) <= at);
    const auto value = static_cast<unsigned char>(random());
    std::memset(*block, value, size);
    out_[at] = value;
    back_.erase(at);
    peak_ = std::max(peak_, out_.size());
  }
  void release(std::mt19937& random) {
    if (out_.empty()) return;
    const auto it = std::next(out_.begin(), static_cast<long>(random() % out_.size()));
    const auto* const bytes = static_cast<const unsigned char*>(pointer(it->first));
    ASSERT_TRUE(std::all_of(bytes, bytes + pool_.block_size(),
                            [&](unsigned char byte) { return byte == it->second; }));
    ASSERT_TRUE(pool_.release(pointer(it->first)).ok());
    back_.insert(it->first);
    out_.erase(it);
  }
  void release_wrongly(std::mt19937& random) {
    if (!back_.empty()) {
      const auto it = std::next(back_.begin(), static_cast<long>(random() % back_.size()));
      const Status twice = pool_.release(pointer(*it));
      ASSERT_FALSE(twice.ok());
      ASSERT_EQ(twice.error().code, ErrorCode::kBadBlock);
    }
    if (!out_.empty() && pool_.block_size() > 1) {
      const std::uintptr_t inside = out_.begin()->first + 1 + random() % (pool_.block_size() - 1);
      ASSERT_EQ(pool_.release(pointer(inside)).error().code, ErrorCode::kBadBlock);
    }
    int local = 0;
    ASSERT_EQ(pool_.release(&local).error().code, ErrorCode::kBadBlock);
  }
  void expect_statistics() const {
    const HostMemoryPool::Statistics now = pool_.statistics();
    ASSERT_EQ(now.in_use, out_.size());
    ASSERT_EQ(now.available, now.total - out_.size());
    ASSERT_EQ(now.peak, peak_);
    ASSERT_EQ(pool_.total_blocks(), now.total);
    ASSERT_EQ(pool_.available_blocks(), now.available);
  }
  bool empty() const { return out_.empty(); }

 private:
  HostMemoryPool& pool_;
  std::map<std::uintptr_t, unsigned char> out_;
  std::set<std::uintptr_t> back_;
  std::size_t peak_ = 0;
};

TEST(HostMemoryPool, DoesWhatItsModelDoes) {
  std::mt19937 random(5);
  for (const std::size_t block_size : {0ul, 1ul, 24ul, 64ul, 1000ul, 4096ul, 300000ul, 3000000ul}) {
    for (const std::size_t alignment : {1ul, 64ul, 8192ul}) {
      PoolOptions options;
      options.alignment = alignment;
      Result<HostMemoryPool> pool = HostMemoryPool::make(block_size, random() % 20, options);
      ASSERT_TRUE(pool.ok());
      Model model(*pool);
      const int operations = block_size > 100000 ? 60 : 600;
      for (int i = 0; i < operations; ++i) {
        const bool grows = i / 100 % 2 == 0;  // periods of more acquires, then of more releases
        if (random() % 10 < (grows ? 7 : 3)) {
          ASSERT_NO_FATAL_FAILURE(model.acquire(random));
        } else {
          ASSERT_NO_FATAL_FAILURE(model.release(random));
        }
        if (i % 7 == 0) {
          ASSERT_NO_FATAL_FAILURE(model.release_wrongly(random));
        }
        if (i % 5 == 0) {
          ASSERT_NO_FATAL_FAILURE(model.expect_statistics());
        }
      }
      while (!model.empty()) ASSERT_NO_FATAL_FAILURE(model.release(random));
      ASSERT_TRUE(pool->close().ok());
    }
  }
}

TEST(HostMemoryPool, BeginsWithTheBlocksAskedForAndGrowsWhenAllAreOut) {
  HostMemoryPool pool = std::move(*HostMemoryPool::make(1024));
  EXPECT_EQ(pool.total_blocks(), 16u);
  EXPECT_EQ(pool.block_size(), 1024u);
  std::vector<void*> blocks;
  for (int i = 0; i < 16; ++i) blocks.push_back(*pool.acquire());
  EXPECT_EQ(pool.statistics().grown, 0u);
  EXPECT_EQ(pool.available_blocks(), 0u);
  blocks.push_back(*pool.acquire());
  EXPECT_EQ(pool.statistics().grown, 1u);
  EXPECT_EQ(pool.total_blocks(), 32u);
  for (int i = 17; i < 10000; ++i) blocks.push_back(*pool.acquire());
  // By doubling, until the growth is a slab: on Linux 16, 32 .. 2048, 4096, 6144, 8192, 10240
  // blocks.
  std::size_t total = 16;
  while (total < 10000) total += std::min(total, tessera::pool::kSlabBytes / 1024);
  EXPECT_EQ(pool.statistics().total, total);
  EXPECT_EQ(pool.statistics().peak, 10000u);
  for (void* const block : blocks) ASSERT_TRUE(pool.release(block).ok());
  EXPECT_EQ(pool.available_blocks(), total);
}

TEST(HostMemoryPool, MayBeginEmptyOrLarge) {
  HostMemoryPool empty = std::move(*HostMemoryPool::make(64, 0));
  EXPECT_EQ(empty.total_blocks(), 0u);
  EXPECT_TRUE(empty.release(*empty.acquire()).ok());
  HostMemoryPool large = std::move(*HostMemoryPool::make(64, 100000));
  EXPECT_EQ(large.total_blocks(), 100000u);
  EXPECT_EQ(large.statistics().grown, 0u);
}

TEST(HostMemoryPool, SaysWhatIsWrongWithABlock) {
  HostMemoryPool pool = std::move(*HostMemoryPool::make(256));
  HostMemoryPool other = std::move(*HostMemoryPool::make(256));
  std::byte* const block = static_cast<std::byte*>(*pool.acquire());
  const auto says = [&](HostMemoryPool& asked, void* at) {
    const Status status = asked.release(at);
    EXPECT_EQ(status.error().code, ErrorCode::kBadBlock);
    const std::string figures = test::figures(status.error().message);
    return figures.substr(std::min(figures.find(' '), figures.size()));  // without its address
  };
  EXPECT_EQ(says(other, block), "");
  EXPECT_TRUE(says(pool, block + 16).starts_with(" 16 0x"));
  EXPECT_EQ(says(pool, pointer(std::uintptr_t{1})), "");
  EXPECT_EQ(says(pool, pointer(UINTPTR_MAX)), "");
  // In the region of the slab, after its last block: memory that may not be mapped.
  EXPECT_EQ(says(pool, block + (std::size_t{1} << 20)), "");
  EXPECT_TRUE(pool.release(nullptr).ok());
  EXPECT_EQ(pool.statistics().in_use, 1u);
  EXPECT_TRUE(pool.release(block).ok());
  EXPECT_EQ(pool.release(block).error().code, ErrorCode::kBadBlock);
  EXPECT_EQ(pool.statistics().available, 16u);
}

TEST(HostMemoryPool, IsNotHarmedByWritesToBlocksThatAreBack) {
  HostMemoryPool pool = std::move(*HostMemoryPool::make(64, 4));
  void* blocks[4];
  for (void*& block : blocks) block = *pool.acquire();
  for (void* const block : blocks) ASSERT_TRUE(pool.release(block).ok());
  for (void* const block : blocks) std::memset(block, 0xff, 64);
  std::set<void*> again;
  for (int i = 0; i < 4; ++i) again.insert(*pool.acquire());
  EXPECT_EQ(again, std::set<void*>(std::begin(blocks), std::end(blocks)));
  for (void* const block : again) ASSERT_TRUE(pool.release(block).ok());
}

TEST(HostMemoryPool, RefusesBadArguments) {
  PoolOptions options;
  options.alignment = 24;
  EXPECT_EQ(HostMemoryPool::make(64, 1, options).error().code, ErrorCode::kBadAlignment);
  EXPECT_EQ(test::figures(HostMemoryPool::make(64, 1, options).error().help), "16 32");
  options.alignment = 64;
  options.shards = 65;
  EXPECT_EQ(test::figures(HostMemoryPool::make(64, 1, options).error().message), "65 64");
  options.shards = 0;
  options.source.take = [](void*, std::size_t, std::size_t) -> void* { return nullptr; };
  EXPECT_EQ(HostMemoryPool::make(64, 1, options).error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(HostMemoryPool::make(SIZE_MAX, 1).error().code, ErrorCode::kOverflow);
  EXPECT_EQ(HostMemoryPool::make(1 << 20, SIZE_MAX >> 20).error().code, ErrorCode::kOverflow);
  EXPECT_EQ(HostMemoryPool::make(std::size_t{1} << 60, 1).error().code, ErrorCode::kOutOfMemory);
}

TEST(HostMemoryPool, CloseSaysWhatIsStillOut) {
  Source source;
  PoolOptions options;
  options.source = source.as_source();
  HostMemoryPool pool = std::move(*HostMemoryPool::make(4096, 2, options));
  const std::size_t bare = 1;  // the state alone
  void* const first = *pool.acquire();
  void* const second = *pool.acquire();
  const Error error = pool.close().error();
  EXPECT_EQ(error.code, ErrorCode::kBadBlock);
  EXPECT_TRUE(test::figures(error.message).starts_with("2 2 4096 0x")) << error.message;
  ASSERT_TRUE(pool.release(first).ok());
  EXPECT_TRUE(test::figures(pool.close().error().message).starts_with("1 2 4096"));
  ASSERT_TRUE(pool.release(second).ok());
  EXPECT_TRUE(pool.close().ok());
  EXPECT_EQ(source.out.size(), bare);
  EXPECT_EQ(pool.total_blocks(), 0u);
  EXPECT_EQ(pool.statistics().peak, 2u);
  EXPECT_FALSE(pool.release(first).ok());
  EXPECT_TRUE(pool.close().ok());
  const Result<void*> again = pool.acquire();
  ASSERT_TRUE(again.ok());
  ASSERT_TRUE(pool.release(*again).ok());
}

TEST(HostMemoryPool, EndsWithoutTakingMemoryFromItsUsers) {
  Source source;
  std::vector<std::string> told;
  PoolOptions options;
  options.source = source.as_source();
  options.left_behind_context = &told;
  options.left_behind = [](void* context, const Error& error) {
    static_cast<std::vector<std::string>*>(context)->push_back(error.message);
  };
  void* kept = nullptr;
  {
    HostMemoryPool pool = std::move(*HostMemoryPool::make(1000, 8, options));
    std::vector<void*> blocks;
    for (int i = 0; i < 100; ++i) blocks.push_back(*pool.acquire());
    kept = blocks[50];
    std::memset(kept, 7, 1000);
    for (void* const block : blocks) {
      ASSERT_TRUE(block == kept || pool.release(block).ok());
    }
  }
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(test::figures(told[0]).starts_with("1 128 1000 0x"));
  EXPECT_EQ(static_cast<char*>(kept)[999], 7);  // still valid memory, also for a sanitizer
  ASSERT_EQ(source.out.size(), 1u);             // its slab, and nothing else
  const auto [slab, bytes] = *source.out.begin();
  EXPECT_TRUE(address(slab) <= address(kept) && address(kept) + 1000 <= address(slab) + bytes);
  source.as_source().give_back(&source, slab);

  {
    HostMemoryPool pool = std::move(*HostMemoryPool::make(1000, 8, options));
  }
  EXPECT_EQ(told.size(), 1u);
}

TEST(HostMemoryPool, BlocksMayGiveThemselvesBack) {
  HostMemoryPool pool = std::move(*HostMemoryPool::make(32, 1));
  {
    Result<HostMemoryPool::UniqueBlock> block = pool.acquire_unique();
    ASSERT_TRUE(block.ok());
    (*block)[31] = std::byte{1};
    HostMemoryPool moved = std::move(pool);
    EXPECT_EQ(moved.statistics().in_use, 1u);
    block = HostMemoryPool::UniqueBlock();
    EXPECT_EQ(moved.statistics().in_use, 0u);
    pool = std::move(moved);
  }
  EXPECT_TRUE(pool.close().ok());
}

/// Uses a pool so that it makes every kind of memory request: the state, tables of slabs, slabs.
/// Returns the number of errors; anything else that goes wrong fails the test.
int live_with(Source& source) {
  PoolOptions options;
  options.source = source.as_source();
  options.shards = 2;
  Result<HostMemoryPool> pool = HostMemoryPool::make(600000, 3, options);  // 3 blocks per slab
  if (!pool.ok()) {
    EXPECT_EQ(pool.error().code, ErrorCode::kOutOfMemory);
    return 1;
  }
  int errors = 0;
  std::vector<void*> blocks;
  for (int i = 0; i < 60; ++i) {
    const HostMemoryPool::Statistics before = pool->statistics();
    const Result<void*> block = pool->acquire();
    if (block.ok()) {
      static_cast<char*>(*block)[0] = static_cast<char*>(*block)[599999] = static_cast<char>(i);
      blocks.push_back(*block);
      continue;
    }
    ++errors;
    EXPECT_EQ(block.error().code, ErrorCode::kOutOfMemory);
    EXPECT_EQ(pool->statistics().total, before.total);
    EXPECT_EQ(pool->statistics().available, 0u);
    if (blocks.empty()) continue;
    // A released block can be acquired again without allocating memory.
    EXPECT_TRUE(pool->release(blocks.back()).ok());
    EXPECT_EQ(*pool->acquire(), blocks.back());
  }
  for (void* const block : blocks) {
    EXPECT_EQ(static_cast<const char*>(block)[0], static_cast<const char*>(block)[599999]);
    EXPECT_TRUE(pool->release(block).ok());
  }
  EXPECT_TRUE(pool->close().ok());
  return errors;
}

TEST(HostMemoryPool, SurvivesEveryRefusedRequest) {
  Source counting;
  ASSERT_EQ(live_with(counting), 0);
  ASSERT_GT(counting.requests, 40);
  for (std::int64_t k = 0; k < counting.requests; ++k) {
    Source once;  // its destructor detects leaks
    once.refuse_from = k;
    once.refuse_to = k + 1;
    ASSERT_EQ(live_with(once), 1) << "request " << k;
    Source forever;
    forever.refuse_from = k;
    ASSERT_GE(live_with(forever), 1) << "from request " << k;
  }
}

}  // namespace
}  // namespace tessera
