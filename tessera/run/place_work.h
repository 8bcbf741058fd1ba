// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/thread_pool.h"
#include "tessera/device/device.h"
#include "tessera/run/execution.h"

namespace tessera::run {

/// The buffers of an execution that are on a device now.
using LiveBuffers = std::vector<std::optional<device::BufferId>>;

/// Who computed a step.
struct Computed {
  std::int64_t places = 0;
  std::vector<std::string_view> kernels = {};  ///< the names of those that ran, each once, sorted
};

/// Adds the names of kernels to sorted ones, each once.
void add_kernels(const std::vector<std::string_view>& names, std::vector<std::string_view>& all);

/// Runs the kernel of a step on every place that holds a part of its results. Of a step in panels,
/// one panel: its sum is added to what the results have, but for the first. Places are divided over
/// threads; what each computes does not depend on how. Errors: those of kernels, of the place with
/// the smallest number, and those of the device.
Result<Computed> compute_step(const Execution& execution, const Step& step, std::size_t panel,
                              device::Device& device, const LiveBuffers& live, ThreadPool& pool);

}  // namespace tessera::run
