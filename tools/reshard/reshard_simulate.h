// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tessera/base/result.h"
#include "tessera/fabric/simulate.h"
#include "tessera/reshard/reshard.h"
#include "tools/reshard/reshard_trace.h"

namespace tessera::tools {

/// A reshard simulated wavelet by wavelet, and when its messages were in flight.
struct SimulatedReshard {
  fabric::Simulation simulation;
  std::vector<TraceMessage> messages;  ///< only when requested
};

/// Sends at most `most` messages (reshard/simulation/traffic.h splits the data into several).
/// Errors: those of traffic_of and simulate; those of check_trace_size when messages are traced.
Result<SimulatedReshard> simulate_messages(const reshard::Reshard& reshard, fabric::FabricMode mode,
                                           std::int64_t most, bool traced);

}  // namespace tessera::tools
