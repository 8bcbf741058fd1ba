// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tessera/relayout/jobs/job.h"
#include "tessera/relayout/jobs/permute_job.h"

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

}  // namespace tessera::relayout
