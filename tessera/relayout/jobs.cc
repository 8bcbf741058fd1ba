// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tessera/relayout/job.h"
#include "tessera/relayout/permute_job.h"

namespace tessera::relayout {

void add_jobs(const FlatNest& nest, std::int64_t bits, bool streaming, Jobs& jobs) {
  const std::optional<FlatNest> bytes = in_bytes(nest, bits);
  if (!bytes) {
    jobs.push_back(make_bits_job(nest, bits));
    return;
  }
  for (const auto make : {make_permute_job, make_interleave_job, make_narrow_job}) {
    if (std::unique_ptr<const Job> job = make(*bytes)) {
      jobs.push_back(std::move(job));
      return;
    }
  }
  const auto steps = [&](std::int64_t Axis::* side) {
    return std::any_of(bytes->axes.begin(), bytes->axes.end(),
                       [&](const Axis& axis) { return axis.*side == bytes->width; });
  };
  const bool run = bytes->axes.empty() ||
                   std::any_of(bytes->axes.begin(), bytes->axes.end(), [&](const Axis& axis) {
                     return axis.src == bytes->width && axis.dst == bytes->width;
                   });
  if (run) {
    add_runs_jobs(*bytes, streaming, jobs);
  } else if (steps(&Axis::src) && steps(&Axis::dst)) {
    jobs.push_back(make_transpose_job(*bytes, streaming));
  } else {
    jobs.push_back(make_strided_job(*bytes));
  }
}

}  // namespace tessera::relayout
