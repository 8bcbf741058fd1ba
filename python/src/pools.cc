// SPDX-License-Identifier: Apache-2.0
#include "pools.h"

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "native.h"
#include "tessera/base/text.h"

namespace tessera::python {
namespace {

constexpr std::int64_t kSmallBytes = std::int64_t{1} << 20;
constexpr std::size_t kMostKept = 4;

/// Pools that nobody uses at the moment. Never destroyed: threads must not be joined while the
/// interpreter ends.
struct Kept {
  std::mutex mutex;
  std::vector<std::unique_ptr<ThreadPool>> pools;
  pid_t process = ::getpid();
};
Kept& kept() {
  static Kept* const one = new Kept;
  return *one;
}

/// The threads of another process cannot be joined, so its pools are forgotten, not destroyed.
void forget_parent(Kept& all) {
  if (all.process == ::getpid()) return;
  for (std::unique_ptr<ThreadPool>& pool : all.pools) {
    [[maybe_unused]] const ThreadPool* const forgotten = pool.release();
  }
  all.pools.clear();
  all.process = ::getpid();
}

int thread_count(std::optional<std::int64_t> threads, std::int64_t bytes) {
  if (!threads) {
    return bytes < kSmallBytes
               ? 1
               : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  }
  if (*threads < 1 || *threads > ThreadPool::kMostThreads) {
    raise(ErrorCode::kOutOfRange, cat("threads is ", *threads),
          cat("use 1 to ", ThreadPool::kMostThreads));
  }
  return static_cast<int>(*threads);
}

}  // namespace

PoolLease::PoolLease(std::optional<std::int64_t> threads, std::int64_t bytes) {
  const int wanted = thread_count(threads, bytes);
  if (wanted > 1) {
    Kept& all = kept();
    const std::scoped_lock lock(all.mutex);
    forget_parent(all);
    const auto found = std::find_if(all.pools.begin(), all.pools.end(),
                                    [&](const auto& pool) { return pool->threads() == wanted; });
    if (found != all.pools.end()) {
      pool_ = std::move(*found);
      all.pools.erase(found);
    }
  }
  if (pool_ == nullptr) pool_ = std::make_unique<ThreadPool>(wanted);
}

PoolLease::~PoolLease() {
  if (pool_->threads() == 1) return;
  Kept& all = kept();
  const std::scoped_lock lock(all.mutex);
  if (all.pools.size() < kMostKept) all.pools.push_back(std::move(pool_));
}

}  // namespace tessera::python
