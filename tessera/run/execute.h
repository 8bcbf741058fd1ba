// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/thread_pool.h"
#include "tessera/device/device.h"
#include "tessera/run/execution.h"
#include "tessera/run/host_tensor.h"

namespace tessera::run {

/// What one step did. Seconds are those of this process, not of the machine.
struct StepReport {
  std::size_t node = 0;
  std::int64_t places = 0;  ///< that computed
  /// The kernels that did, by name, as run::perform says them: "plain", "vectors", "panels".
  std::vector<std::string_view> kernels = {};
  double begin = 0;  ///< since the run began
  double bring_seconds = 0;
  double compute_seconds = 0;
  double settle_seconds = 0;
  std::int64_t messages = 0;
  std::int64_t crossing_bytes = 0;
  std::int64_t local_bytes = 0;
};

struct RunResult {
  std::vector<HostTensor> outputs;  ///< those of the graph, in its order
  std::vector<StepReport> steps;
  device::MemoryUse memory;
  double seconds = 0;  ///< from the first input that is written to the last output that is read
};

/// What is told while an execution runs.
class Observer {
 public:
  virtual ~Observer() = default;
  /// Before the first step, when everything that is given is on the device; `value` reads it.
  virtual Status begins(const std::function<Result<HostTensor>(graph::ValueId)>& /*value*/) {
    return ok_status();
  }
  /// After a step. `value` reads a value that is on the device, such as the results of the node.
  /// An error ends the run.
  virtual Status after(const StepReport& /*report*/,
                       const std::function<Result<HostTensor>(graph::ValueId)>& /*value*/) {
    return ok_status();
  }
  /// Asked before each step: true ends the run with kIo "interrupted".
  virtual bool stops() { return false; }
};

/// A device in this process with room for what an execution needs.
Result<std::unique_ptr<device::Device>> device_for(const Execution& execution, bool checked);

/// Runs an execution on a device that has no buffers. `given` are the elements of inputs by name,
/// and those of parameters and constants whose data the graph does not have; other data may be
/// given too, and are then taken instead.
/// Law: the outputs are those of the graph, for every choice of layouts, up to rounding: sums are
/// taken share by share. They are the same bits for every number of threads.
/// Errors: kBadGraph for elements that are missing, and for names that no value has; those of
/// check_tensor, of kernels and of the device. Buffers that are on the device then are released.
Result<RunResult> execute(const Execution& execution, device::Device& device,
                          const std::map<std::string, HostTensor>& given, ThreadPool& pool,
                          Observer* observer = nullptr);

}  // namespace tessera::run
