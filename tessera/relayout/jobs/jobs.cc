// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "tessera/relayout/jobs/job.h"

namespace tessera::relayout {

void add_byte_jobs(const FlatNest& nest, bool streaming, Jobs& jobs) {
  for (const auto make : {make_permute_job, make_interleave_job, make_narrow_job}) {
    if (std::unique_ptr<const Job> job = make(nest)) {
      jobs.push_back(std::move(job));
      return;
    }
  }
  const auto steps = [&](std::int64_t Axis::* side) {
    return std::any_of(nest.axes.begin(), nest.axes.end(),
                       [&](const Axis& axis) { return axis.*side == nest.width; });
  };
  const bool run =
      nest.axes.empty() || std::any_of(nest.axes.begin(), nest.axes.end(), [&](const Axis& axis) {
        return axis.src == nest.width && axis.dst == nest.width;
      });
  if (run) {
    add_runs_jobs(nest, streaming, jobs);
  } else if (!steps(&Axis::src) || !steps(&Axis::dst)) {
    jobs.push_back(make_strided_job(nest));
  } else if (!add_short_rows_jobs(nest, streaming, jobs)) {
    jobs.push_back(make_transpose_job(nest, streaming));
  }
}

void add_jobs(const FlatNest& nest, std::int64_t bits, bool streaming, Jobs& jobs) {
  if (const std::optional<FlatNest> bytes = in_bytes(nest, bits)) {
    add_byte_jobs(*bytes, streaming, jobs);
  } else {
    jobs.push_back(make_bits_job(nest, bits));
  }
}

namespace {

/// A thread_local object with a destructor would not do: where there is no memory to register the
/// destructor, the system library ends the process.
std::optional<pthread_key_t> make_key() {
  pthread_key_t key{};
  if (pthread_key_create(&key, std::free) != 0) return std::nullopt;
  return key;
}

}  // namespace

std::byte* Scratch::mine() {
  static const std::optional<pthread_key_t> key = make_key();
  if (!key) return nullptr;
  void* memory = pthread_getspecific(*key);
  if (memory == nullptr) {
    constexpr std::size_t kHugePage = std::size_t{1} << 21;
    memory = std::aligned_alloc(kHugePage, Scratch::kBytes);
    if (memory == nullptr) return nullptr;
    // Only a hint: without huge pages everything works, a little slower.
    ::madvise(memory, Scratch::kBytes, MADV_HUGEPAGE);
    if (pthread_setspecific(*key, memory) != 0) {
      std::free(memory);
      return nullptr;
    }
  }
  return static_cast<std::byte*>(memory);
}

}  // namespace tessera::relayout
