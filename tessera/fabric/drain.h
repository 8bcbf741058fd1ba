// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "tessera/base/result.h"
#include "tessera/base/text.h"
#include "tessera/fabric/processors.h"
#include "tessera/fabric/queue_network.h"

namespace tessera::fabric {

/// The most bytes for the wavelets of all queues.
inline constexpr std::int64_t kMaxQueueBytes = std::int64_t{1} << 31;

/// Runs until no wavelet is in flight and no source can send. `cycle` is the first cycle of the
/// routers; destination(from, message) is the destination that a queue to a ramp leads to.
/// kTooLarge if queues take too much memory; kNotSupported if wavelets stop in the network, which
/// only a bug in the steering can cause (simulate.h explains why).
template <typename Steering, typename Destination>
Status drain(Processors& processors, QueueNetwork& network, Steering& steering,
             const Destination& destination, std::int64_t cycle) {
  const auto deliver = [&](QueueAt from, Wavelet wavelet) {
    processors.deliver(wavelet.message, destination(from, wavelet.message), wavelet.word, cycle);
  };
  for (;;) {
    processors.release(cycle);
    const bool departed = processors.depart(network, steering, cycle);
    const bool moved = network.step(steering, deliver);
    if (network.queue_bytes() > kMaxQueueBytes) {
      return Error{ErrorCode::kTooLarge,
                   cat("the queues take more than ", kMaxQueueBytes, " bytes"), std::nullopt,
                   "lower queue_depth, or simulate fewer messages at a time"};
    }
    if (departed || moved) {
      ++cycle;
      continue;
    }
    // Wavelets that wait for a turn may stand still until a source's wait ends.
    if (const std::optional<std::int64_t> release = processors.next_release()) {
      cycle = std::max(cycle + 1, *release);
      continue;
    }
    if (!network.is_idle()) {
      return Error{ErrorCode::kNotSupported,
                   cat("the simulated fabric stopped in cycle ", cycle, " with ",
                       processors.undelivered(), " words not delivered"),
                   std::nullopt, "this is a bug in the simulator: please report it"};
    }
    return ok_status();
  }
}

}  // namespace tessera::fabric
