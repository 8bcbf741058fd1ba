// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/measure.h"

#include <malloc.h>

#include <atomic>

#include "bench/global_new.h"

// While nothing is measured, counting costs one load.
namespace {

std::atomic<bool> counting{false};
std::atomic<std::int64_t> live_bytes{0};
std::atomic<std::int64_t> peak_bytes{0};

}  // namespace

bool tessera::bench::may_allocate() { return true; }

void tessera::bench::allocated(void* memory) {
  if (!counting.load(std::memory_order_relaxed)) return;
  const auto size = static_cast<std::int64_t>(malloc_usable_size(memory));
  const std::int64_t live = live_bytes.fetch_add(size, std::memory_order_relaxed) + size;
  std::int64_t peak = peak_bytes.load(std::memory_order_relaxed);
  while (live > peak && !peak_bytes.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
  }
}

void tessera::bench::releases(void* memory) {
  if (!counting.load(std::memory_order_relaxed)) return;
  live_bytes.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(memory)),
                       std::memory_order_relaxed);
}

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
