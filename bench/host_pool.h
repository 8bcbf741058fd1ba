// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/base/result.h"

namespace tessera::bench {

/// The work of every thread: it acquires `held` blocks and releases them, repeatedly, `pairs` times
/// in total. The first byte of each block is written.
struct PoolLoad {
  std::size_t block_bytes = 4096;
  std::int64_t pairs = 1000000;  ///< of acquire and release, per thread
  std::int64_t held = 16;        ///< blocks that a thread holds at a time; at most 4096
  int rounds = 5;                ///< the contenders take turns; the best round of each counts
};

/// Elapsed nanoseconds divided by all pairs of all threads: twice as many processors halve it,
/// unless threads wait for each other.
struct PoolTimes {
  int threads = 1;
  double pool_ns = 0;       ///< HostMemoryPool
  double one_mutex_ns = 0;  ///< a vector of free blocks behind one std::mutex
  double malloc_ns = 0;     ///< malloc and free
};

/// Compares the three allocators. kOutOfRange for fewer than one thread, pair, block
/// or round, and for more than 1024 threads or 4096 blocks held.
Result<PoolTimes> time_pool(int threads, const PoolLoad& load = {});

}  // namespace tessera::bench
