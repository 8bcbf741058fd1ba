// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
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

struct Free {
  void operator()(std::byte* memory) const { std::free(memory); }
};

}  // namespace

std::byte* Scratch::mine() {
  thread_local std::unique_ptr<std::byte, Free> memory;
  if (memory == nullptr) {
    constexpr std::size_t kHugePage = std::size_t{1} << 21;
    memory.reset(static_cast<std::byte*>(std::aligned_alloc(kHugePage, Scratch::kBytes)));
    // Only a hint: without huge pages everything works, a little slower.
    if (memory != nullptr) ::madvise(memory.get(), Scratch::kBytes, MADV_HUGEPAGE);
  }
  return memory.get();
}

}  // namespace tessera::relayout
