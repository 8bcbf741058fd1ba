// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "tessera/base/thread_pool.h"

namespace tessera::python {

/// A pool of threads for one call. Pools are kept for the next call; calls at the same time have
/// different ones. After a fork the child starts its own, since the threads stay with the parent.
class PoolLease {
 public:
  /// Without a number: one thread for small moves, otherwise as many as the machine runs at once.
  PoolLease(std::optional<std::int64_t> threads, std::int64_t bytes);
  ~PoolLease();
  PoolLease(const PoolLease&) = delete;
  PoolLease& operator=(const PoolLease&) = delete;

  ThreadPool& pool() { return *pool_; }

 private:
  std::unique_ptr<ThreadPool> pool_;
};

}  // namespace tessera::python
